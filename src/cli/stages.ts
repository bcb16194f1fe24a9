import { notFound } from '../errors.ts'
import { parseProjectTarget } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { projectOf, withServer } from './server.ts'
import { createStage, deleteStage, listStages } from './server-api.ts'
import { assertCanConfirm, type Confirmation, confirm } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'

export interface StageDeleteOptions extends ResultOptions, Confirmation {}

/** A stage, and the address of its project; without one it is the local project's. */
interface StageArguments {
  readonly slug: string
  readonly target: string | undefined
}

/** `stage:create` */
export async function runStageCreate(
  context: CommandContext,
  { slug, target }: StageArguments,
  options: ResultOptions,
): Promise<number> {
  const { project, stage } = await withServer(context, parseProjectTarget(target), async (server) => {
    const project = projectOf(undefined, server)
    return { project, stage: await createStage(server.http, project, slug) }
  })
  await printResult(context.environment, options, {
    json: { project, ...stage },
    text: () => `created stage ${project}/${printable(stage.slug)}`,
  })
  return EXIT.done
}

/** `stage:list` */
export async function runStageList(
  context: CommandContext,
  target: string | undefined,
  options: ResultOptions,
): Promise<number> {
  const { project, stages } = await withServer(context, parseProjectTarget(target), async (server) => {
    const project = projectOf(undefined, server)
    return { project, stages: await listStages(server.http, project) }
  })
  await printResult(context.environment, options, {
    json: { project, stages },
    text: (style) => {
      const rows = stages.map(({ slug, createdAt }) => [slug, createdAt])
      return rows.length === 0 ? `project ${project} has no stages` : formatTable(['stage', 'created'], rows, style)
    },
  })
  return EXIT.done
}

/** `stage:delete` */
export async function runStageDelete(
  context: CommandContext,
  { slug, target: address }: StageArguments,
  options: StageDeleteOptions,
): Promise<number> {
  const target = parseProjectTarget(address)
  assertCanConfirm(context, options)
  return withServer(context, target, async (server) => {
    const project = projectOf(undefined, server)
    const stages = await listStages(server.http, project)
    if (!stages.some((stage) => stage.slug === slug)) throw notFound('stage', slug, `in project "${project}"`)
    const consequence = `this deletes stage ${project}/${printable(slug)}${server.place} for good, with all its tables and rows, and what data:undo could bring back`
    if (!(await confirm(context, consequence, options))) return EXIT.failed
    await deleteStage(server.http, project, slug)
    await printResult(context.environment, options, {
      json: { deleted: { project, stage: slug } },
      text: () => `deleted stage ${project}/${printable(slug)}`,
    })
    return EXIT.done
  })
}
