import { stageSchema } from '../contract/project.ts'
import { conflict, notFound } from '../errors.ts'
import type { CommandContext } from './environment.ts'
import { encodedPath } from './http.ts'
import { withProject } from './server.ts'
import { getAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult, type ResultOptions } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'

const stagesPath = (project: string): string => encodedPath`/projects/${project}/stages`

/** `stage:create` */
export const runStageCreate = (
  context: CommandContext,
  slug: string,
  target: string | undefined,
  options: ResultOptions,
): Promise<number> =>
  withProject(context, target, async ({ http }, project) => {
    const stage = await send(http, { method: 'POST', path: stagesPath(project), body: { slug } }, stageSchema)
    return printResult(context, options, {
      json: { project, ...stage },
      text: () => `created stage ${project}/${printable(stage.slug)}`,
    })
  })

/** `stage:list` */
export const runStageList = (
  context: CommandContext,
  target: string | undefined,
  options: ResultOptions,
): Promise<number> =>
  withProject(context, target, async ({ http }, project) => {
    const stages = await getAll(http, stagesPath(project), stageSchema)
    return printResult(context, options, {
      json: { project, stages },
      text: (style) => {
        const rows = stages.map(({ slug, createdAt }) => [slug, createdAt])
        return rows.length === 0 ? `project ${project} has no stages` : formatTable(['stage', 'created'], rows, style)
      },
    })
  })

/** `stage:delete` */
export async function runStageDelete(
  context: CommandContext,
  slug: string,
  target: string | undefined,
  options: ResultOptions & Confirmation,
): Promise<number> {
  assertCanConfirm(context, options)
  return withProject(context, target, async ({ http, location }, project) => {
    const stages = await getAll(http, stagesPath(project), stageSchema)
    const stage = stages.find((each) => each.slug === slug)
    if (!stage) throw notFound('stage', slug, `in project "${project}"`)
    if (stage.schema !== null)
      throw conflict(`stage "${slug}" is attached, and its data stays: detach it (stage:detach)`)
    const consequence = `this deletes stage ${project}/${printable(slug)}${location} for good, with all its tables and rows, and what data:undo could bring back`
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, encodedPath`/projects/${project}/stages/${slug}`)
      return {
        json: { deleted: { project, stage: slug } },
        text: () => `deleted stage ${project}/${printable(slug)}`,
      }
    })
  })
}
