import { assertBuilt } from '../structure/assert-built.ts'
import { createStatements, type StructureLines } from '../structure/create-statements.ts'
import type { Query } from '../structure/query.ts'
import type { ImportServices } from './import-options.ts'
import { loadFailure } from './load-failure.ts'
import { openLoadingSession, runAll } from './loading-session.ts'
import { createLoadingSchema, dropShadowSchema } from './shadow-schemas.ts'
import { rightsAfter, rightsBefore } from './stage-rights.ts'
import { hasExtensions } from './target-extensions.ts'
import { identityOf, type TargetStage } from './target-stage.ts'
import type { TargetProject } from './targets.ts'
import { tryInPlace } from './try-in-place.ts'

type BuildingServices = Pick<ImportServices, 'system' | 'importTurns'>

/**
 * Does what an import would do to build its stages, beside or in place, without rows, and takes it back: only PostgreSQL
 * knows what it takes. Stages that need an extension which is to be made are left alone.
 *
 * @throws {AppError} CONFLICT as the import would, but for what rows do; PROJECT_BUSY.
 */
export async function tryBuilding(
  { system, importTurns }: BuildingServices,
  targets: readonly TargetProject[],
  signal: AbortSignal,
): Promise<void> {
  for (const { project, stages } of targets) {
    for (const stage of stages) {
      const attempt = (): Promise<void> =>
        stage.mode === 'in place' ? tryInPlace(stage, signal) : tryStage(system, stage, signal)
      if (await hasExtensions(system, stage)) await importTurns.take([project.id], attempt)
    }
  }
}

async function tryStage(system: BuildingServices['system'], target: TargetStage, signal: AbortSignal): Promise<void> {
  const schemaName = await createLoadingSchema(system, identityOf(target), 'arriving')
  try {
    await buildAndTakeBack(target, schemaName, signal)
  } finally {
    // The sweep drops what cannot be dropped now.
    await Promise.allSettled([dropShadowSchema(system, { schemaName, kind: 'arriving' })])
  }
}

async function buildAndTakeBack(
  { database, project, structure, mode, rights }: TargetStage,
  schemaName: string,
  signal: AbortSignal,
) {
  const lines = withoutFilledViews(structure)
  const { before, after, acting, last } = createStatements(lines)
  const session = await openLoadingSession(database.pool, schemaName, { signal })
  try {
    await runAll(session, rightsBefore(rights, project.login, schemaName))
    await runAll(session, [...before, ...after, ...acting, ...last])
    await assertBuilt(session, schemaName, { lines, isOwn: mode === 'swap' })
    const query: Query = (sql, parameters) => session.query(sql, parameters)
    await runAll(session, await rightsAfter(query, rights, project.login, schemaName))
  } catch (error) {
    throw loadFailure(error)
  } finally {
    session.rollback()
  }
}

/** What a view gives without rows tells nothing about what it gives with them. */
const withoutFilledViews = (lines: StructureLines): StructureLines => ({
  ...lines,
  inOrder: lines.inOrder.map((line) =>
    line.kind === 'materializedView' ? { ...line, content: { ...line.content, populated: false } } : line,
  ),
})
