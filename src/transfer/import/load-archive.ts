import type { Database } from '../../database/database.ts'
import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { createStatements } from '../structure/create-statements.ts'
import type { PlannedTable } from './archive-plan.ts'
import { assertBuilt } from './assert-built.ts'
import type { CheckedArchive } from './import-archive.ts'
import type { TargetProject, TargetStage } from './import-targets.ts'
import { inPlaceStatements } from './in-place.ts'
import { loadEvents } from './load-events.ts'
import { loadFailure } from './load-failure.ts'
import type { SessionOptions } from './loading-session.ts'
import { createLoadingSchema } from './side-schemas.ts'
import { openStageLoader, type StageLoader } from './stage-loader.ts'

/** A stage whose rows are there, but that nobody sees yet. */
export interface LoadedStage {
  readonly target: TargetStage
  readonly project: TargetProject['project']
  /** The schema beside the stage's own; undefined for one that was loaded in place, and is there already. */
  readonly loadingSchema: string | undefined
  /** Rows by table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /** The id of the transaction that loaded it, as `xmin` has it. */
  readonly transaction: string
  /** What was loaded in place is visible, and there for good, only once this was called; undefined for others. */
  readonly commit: (() => Promise<void>) | undefined
  /** Gives up what has not been committed. */
  readonly abandon: () => void
}

interface LoadOptions extends SessionOptions {
  readonly tokenId: string | null
}

/**
 * Loads an archive into schemas beside the stages', and its event logs beside theirs.
 *
 * @param databases `snapshots` lends a connection for as long as an event log takes.
 * @param archive what was checked before, and compared with `targets`.
 * @returns each stage, loaded and counted. Those beside are committed but not swapped in; one that was loaded in place
 *   waits to be committed or abandoned.
 * @throws {AppError} ARCHIVE_INVALID for a value that a column refuses; CONFLICT for a key, a foreign key or a check
 *   that the rows break. What was loaded so far is left in schemas that the caller drops.
 */
export async function loadArchive(
  databases: { readonly system: Database; readonly snapshots: Database },
  archive: CheckedArchive,
  targets: readonly TargetProject[],
  options: LoadOptions,
): Promise<readonly LoadedStage[]> {
  const loaded: LoadedStage[] = []
  try {
    for (const target of targets) {
      const { planned, stages } = target
      if (planned.system) {
        const lines = archive.read(planned.eventLines, options.signal)
        await loadEvents(databases, stageIdsOf(target), lines, options)
      }
      for (const stage of stages) loaded.push(await loadStage(databases.system, archive, target, stage, options))
    }
  } catch (error) {
    for (const stage of loaded) stage.abandon()
    throw error
  }
  return loaded
}

const stageIdsOf = ({ stages }: TargetProject): ReadonlyMap<string, string> =>
  new Map(stages.map(({ stage }) => [stage.slug, stage.id]))

async function loadStage(
  system: Database,
  archive: CheckedArchive,
  { project, database }: TargetProject,
  target: TargetStage,
  { tokenId, ...session }: LoadOptions,
): Promise<LoadedStage> {
  const { stage, mode, structure, planned } = target
  const inPlace = mode === 'in place'
  const identity = { stageId: stage.id, schemaName: stage.schemaName, login: project.login }
  const loadingSchema = inPlace ? undefined : await createLoadingSchema(system, identity)
  const loader = await openStageLoader(database.pool, loadingSchema ?? stage.schemaName, session)
  try {
    const { before, after } = inPlace ? await inPlaceStatements(loader, structure) : createStatements(structure)
    await runAll(loader, before)
    const rows = await loadTables(loader, planned.tables, (table) => archive.read(table.text, session.signal))
    await runAll(loader, after)
    await runAll(
      loader,
      structure.tables.map(({ name }) => `ANALYZE ${quoteIdentifier(name)}`),
    )
    if (loadingSchema !== undefined) {
      if (target.comment !== undefined) await loader.execute(commentOnSchema(loadingSchema, target.comment))
      await assertBuilt(loader, loadingSchema, structure)
    }
    // Not before: what was loaded is one event, the import's.
    await loader.query('SELECT wharf.log_tables($1)', [loadingSchema ?? stage.schemaName])
    if (inPlace) {
      const token = tokenId === null ? 'NULL' : quoteLiteral(tokenId)
      await loader.execute(`SELECT wharf.record_import(${quoteLiteral(stage.id)}, ${token})`)
    }
    const [id] = await loader.query<{ transaction: string }>(LOW_HALF_OF_TRANSACTION_ID)
    if (!inPlace) await loader.commit()
    const commit = inPlace ? loader.commit : undefined
    return { target, project, loadingSchema, rows, transaction: id?.transaction ?? '', commit, abandon: loader.abandon }
  } catch (error) {
    loader.abandon()
    throw error
  }
}

/** @returns rows by table, as many as were planned. */
async function loadTables(
  loader: StageLoader,
  tables: readonly PlannedTable[],
  textOf: (table: PlannedTable) => AsyncIterable<Buffer>,
): Promise<ReadonlyMap<string, number>> {
  const rows = new Map<string, number>()
  for (const table of tables) {
    const taken = await loader.loadTable(table, textOf(table))
    if (taken !== table.rows) throw new Error(`${taken} of ${table.rows} rows of a table were loaded`)
    rows.set(table.name, taken)
  }
  return rows
}

const commentOnSchema = (name: string, comment: string): string =>
  `COMMENT ON SCHEMA ${quoteIdentifier(name)} IS ${quoteLiteral(comment)}`

const LOW_HALF_OF_TRANSACTION_ID =
  'SELECT (pg_catalog.pg_current_xact_id()::text::numeric % 4294967296)::text AS transaction'

async function runAll(loader: StageLoader, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    try {
      await loader.execute(statement)
    } catch (error) {
      throw loadFailure(error)
    }
  }
}
