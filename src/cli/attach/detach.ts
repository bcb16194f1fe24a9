import { projectSchema, stageSchema } from '../../contract/project.ts'
import { conflict, notFound } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { type Forgetting, forgetting } from '../forgetting.ts'
import { encodedPath } from '../http.ts'
import { onServer, type ServerOptions, withProject } from '../server.ts'
import { get, getAll, remove } from '../server-api.ts'
import { assertCanConfirm, type Confirmation } from '../terminal/confirm.ts'
import { printable } from '../terminal/printable.ts'
import { onceConfirmed, type ResultOptions } from '../terminal/result.ts'
import { runDetachAll } from './servers.ts'
import { whatStays } from './what-stays.ts'

interface Forced {
  readonly force?: boolean
}

const forced = ({ force }: Forced): string => (force ? '?force=true' : '')

/** `project:detach` */
export async function runProjectDetach(
  context: CommandContext,
  slug: string,
  options: ServerOptions & Confirmation & Forgetting & { readonly all?: boolean },
): Promise<number> {
  assertCanConfirm(context, options)
  if (options.all) return runDetachAll(context, slug, options)
  return onServer(context, options, async ({ http, location }) => {
    const path = encodedPath`/projects/${slug}`
    const { attached, stages } = await get(http, path, projectSchema)
    if (!attached) throw conflict(`project "${slug}" is not attached; project:delete deletes it with its data`)
    const consequence = `this has project ${printable(slug)}${location} forgotten: its stages, its roles, what tokens may do in it, and what data:undo could bring back; ${whatStays(options)}`
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, `${path}/attachment${forgetting(options)}`)
      return {
        json: { detached: { project: slug, stages: stages.map((stage) => stage.slug) } },
        text: () => `detached project ${printable(slug)}`,
      }
    })
  })
}

/** `stage:detach` */
export async function runStageDetach(
  context: CommandContext,
  slug: string,
  target: string | undefined,
  options: ResultOptions & Confirmation & Forced,
): Promise<number> {
  assertCanConfirm(context, options)
  return withProject(context, target, async ({ http, location }, project) => {
    const stages = await getAll(http, encodedPath`/projects/${project}/stages`, stageSchema)
    const stage = stages.find((each) => each.slug === slug)
    if (!stage) throw notFound('stage', slug, `in project "${project}"`)
    if (stage.schema === null) throw conflict(`stage "${slug}" is not attached; stage:delete deletes it with its data`)
    const consequence = `this has stage ${project}/${printable(slug)}${location} forgotten, and its schema ${printable(stage.schema)} stays; ${whatStays(options)}`
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, encodedPath`/projects/${project}/stages/${slug}` + forced(options))
      return {
        json: { detached: { project, stage: slug } },
        text: () => `detached stage ${project}/${printable(slug)}`,
      }
    })
  })
}
