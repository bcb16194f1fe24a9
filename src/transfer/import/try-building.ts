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

type BuildingServices = Pick<ImportServices, 'system' | 'importTurns'>

/**
 * Builds what an import would build beside its stages, without rows, and takes it back: only PostgreSQL knows what it
 * takes. Stages that would be loaded in place are left alone, and those that need an extension which is to be made.
 *
 * @throws {AppError} CONFLICT as the import would, but for what rows do; PROJECT_BUSY.
 */
export async function tryBuilding(
  { system, importTurns }: BuildingServices,
  targets: readonly TargetProject[],
  signal: AbortSignal,
): Promise<void> {
  for (const { project, stages } of targets) {
    for (const stage of stages.filter(({ mode }) => mode !== 'in place')) {
      if (await hasExtensions(system, stage)) {
        await importTurns.take([project.id], () => tryStage(system, stage, signal))
      }
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
  const { before, after, last } = createStatements(lines)
  const session = await openLoadingSession(database.pool, schemaName, { signal })
  try {
    await runAll(session, rightsBefore(rights, project.login, schemaName))
    await runAll(session, [...before, ...after, ...last])
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
  afterTables: lines.afterTables.map((line) =>
    line.kind === 'materializedView' ? { ...line, content: { ...line.content, populated: false } } : line,
  ),
})
