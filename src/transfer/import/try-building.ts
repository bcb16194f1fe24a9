import { quoteIdentifier } from '../../database/quoting.ts'
import { searchStage } from '../../projects/stage-path.ts'
import { assertBuilt } from '../structure/assert-built.ts'
import { createStatements, type StructureLines, statementsWithoutRows } from '../structure/create-statements.ts'
import type { Query } from '../structure/query.ts'
import { areBuiltHere, assertOneWay, inOrderOfNames } from './external/built-here.ts'
import { externalSchemaName } from './external/external-schemas.ts'
import type { ImportServices } from './import-options.ts'
import { loadFailure } from './load-failure.ts'
import { type LoadingSession, openLoadingSession, runAll } from './loading-session.ts'
import { createLoadingSchema, dropUnused } from './shadow-schemas.ts'
import { rightsAfter, rightsBefore } from './stage-rights.ts'
import { hasExtensions } from './target-extensions.ts'
import { identityOf, type TargetStage } from './target-stage.ts'
import type { TargetProject } from './targets.ts'
import { tryInPlace } from './try-in-place.ts'

type BuildingServices = Pick<ImportServices, 'system' | 'importTurns' | 'logger'>

/**
 * Does what an import would do to build its stages, beside or in place, without rows, and takes it back: only PostgreSQL
 * knows what it takes. Stages that need an extension which is to be made are left alone.
 *
 * @throws {AppError} CONFLICT as the import would, but for what rows do; PROJECT_BUSY.
 */
export async function tryBuilding(
  services: BuildingServices,
  targets: readonly TargetProject[],
  signal: AbortSignal,
): Promise<void> {
  const { system, importTurns } = services
  for (const { project, stages } of targets) {
    const all = await Promise.all(stages.map((stage) => hasExtensions(system, stage)))
    if (areBuiltHere(stages)) {
      if (all.every((has) => has)) await importTurns.take([project.id], () => tryExternal(stages, signal))
      continue
    }
    for (const [index, stage] of stages.entries()) {
      const attempt = (): Promise<void> =>
        stage.isOwn && stage.mode !== 'in place' ? tryStage(services, stage, signal) : tryExternal([stage], signal)
      if (all[index]) await importTurns.take([project.id], attempt)
    }
  }
}

async function tryStage(services: BuildingServices, target: TargetStage, signal: AbortSignal): Promise<void> {
  const schemaName = await createLoadingSchema(services.system, identityOf(target), 'arriving')
  try {
    await buildAndTakeBack(target, schemaName, signal)
  } finally {
    await dropUnused(services, schemaName)
  }
}

/**
 * The same of stages of a database that is not Wharf's: the schemas beside them are made, too, in the transactions that are
 * taken back.
 *
 * @throws {AppError} CONFLICT as the import would.
 */
export async function tryExternal(stages: readonly TargetStage[], signal: AbortSignal): Promise<void> {
  assertOneWay(stages)
  if (areBuiltHere(stages)) return tryHere(stages, signal)
  for (const target of stages) {
    if (target.mode === 'in place') await tryInPlace(target, signal)
    else await buildAndTakeBack(target, externalSchemaName('new'), signal, { isMade: false })
  }
}

async function tryHere(stages: readonly TargetStage[], signal: AbortSignal): Promise<void> {
  const [first, ...others] = inOrderOfNames(stages)
  if (!first) return
  const session = await openLoadingSession(first, first.stage.schemaName, { signal })
  try {
    await build(session, first, first.stage.schemaName)
    for (const target of others) {
      await session.execute(searchStage(target.stage.schemaName, target.extensionSchemas))
      await build(session, target, target.stage.schemaName)
    }
  } catch (error) {
    throw loadFailure(error)
  } finally {
    session.rollback()
  }
}

async function buildAndTakeBack(
  target: TargetStage,
  schemaName: string,
  signal: AbortSignal,
  { isMade = true }: { readonly isMade?: boolean } = {},
): Promise<void> {
  const session = await openLoadingSession(target, schemaName, { signal })
  try {
    if (!isMade) await runAll(session, [`CREATE SCHEMA ${quoteIdentifier(schemaName)}`])
    await build(session, target, schemaName)
  } catch (error) {
    throw loadFailure(error)
  } finally {
    session.rollback()
  }
}

async function build(
  session: LoadingSession,
  { structure, mode, rights, login }: TargetStage,
  schemaName: string,
): Promise<void> {
  const lines = withoutFilledViews(structure)
  const statements = createStatements(lines)
  await runAll(session, rightsBefore(rights, login, schemaName))
  await runAll(session, [...statementsWithoutRows(statements), ...statements.last])
  await assertBuilt(session, schemaName, { lines, isOwn: mode === 'swap' })
  const query: Query = (sql, parameters) => session.query(sql, parameters)
  await runAll(session, await rightsAfter(query, rights, login, schemaName))
}

/** What a view gives without rows tells nothing about what it gives with them. */
const withoutFilledViews = (lines: StructureLines): StructureLines => ({
  ...lines,
  inOrder: lines.inOrder.map((line) =>
    line.kind === 'materializedView' ? { ...line, content: { ...line.content, populated: false } } : line,
  ),
})
