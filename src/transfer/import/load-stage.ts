import { quoteIdentifier } from '../../database/quoting.ts'
import { LOG_TABLES, RECORD_IMPORT } from '../../events/statements.ts'
import { tap } from '../../lib/tap.ts'
import { assertBuilt } from '../structure/assert-built.ts'
import { createStatements, settleStatements } from '../structure/create-statements.ts'
import { fillViews } from '../structure/fill-views.ts'
import { tablesIn } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'
import type { ArchiveTable } from './archive-lists.ts'
import { copyRows, insertEmptyRows } from './copy-rows.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import type { ImportOptions } from './import-options.ts'
import { inPlaceStatements } from './in-place.ts'
import { loadFailure } from './load-failure.ts'
import { type LoadingSession, openLoadingSession, runAll, type SessionOptions } from './loading-session.ts'
import { rightsAfter, rightsBefore } from './stage-rights.ts'
import type { TargetStage } from './target-stage.ts'

/** A stage whose rows are there, but that nobody sees yet. */
export interface LoadedStage {
  readonly target: TargetStage
  /** The schema beside the stage's own; undefined for one that was loaded in place. */
  readonly schemaName: string | undefined
  /** By table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /** The ids of the transaction that loaded them, as `xmin` has them. */
  readonly transactions: readonly string[]
  commit(): Promise<void>
  /** Gives up what has not been committed. */
  rollback(): void
}

export interface LoadStageOptions extends Pick<ImportOptions, 'tokenId' | 'onRows' | keyof SessionOptions> {
  /** An empty schema beside the stage's own; undefined to load in place. */
  readonly schemaName: string | undefined
}

/**
 * Builds and fills a stage in one transaction of the project's own login, which is left open.
 *
 * @throws {AppError} ARCHIVE_INVALID for a value that a column refuses; CONFLICT for a key, a foreign key or a check
 *   that the rows break, or where what was built is not what was to be.
 */
export async function loadStage(
  follower: ArchiveFollower,
  target: TargetStage,
  { schemaName, tokenId, onRows, ...sessionOptions }: LoadStageOptions,
): Promise<LoadedStage> {
  const { stage, project, mode, structure, rights, database } = target
  const session = await openLoadingSession(database.pool, schemaName ?? stage.schemaName, sessionOptions)
  try {
    const inPlace = schemaName === undefined
    const statements = inPlace ? await inPlaceStatements(session, structure) : createStatements(structure)
    if (!inPlace) await runAll(session, rightsBefore(rights, project.login, schemaName))
    await runAll(session, statements.before)
    const rows = await loadTables(session, follower, target, onRows)
    // With a partitioned table, its partitions are analyzed: in place, also those that are elsewhere.
    const analyzed = tablesIn(structure).filter(
      ({ partitionOf, partitionBy }) => (inPlace ? partitionBy : partitionOf) === undefined,
    )
    const analyze = analyzed.map(({ name }) => `ANALYZE ${quoteIdentifier(name)}`)
    await runAll(session, statements.after)
    await fillViews(session, statements.filled).catch((error: unknown) => {
      throw loadFailure(error)
    })
    await runAll(session, [...statements.last, ...analyze])
    if (!inPlace) {
      await assertBuilt(session, schemaName, { lines: structure, isOwn: mode === 'swap' })
      await runAll(session, settleStatements(structure, stage.schemaName))
      const query: Query = (sql, parameters) => session.query(sql, parameters)
      await runAll(session, await rightsAfter(query, rights, project.login, schemaName))
    }
    // Only now: the rows that were loaded are one event, the import's.
    await session.query(LOG_TABLES, [schemaName ?? stage.schemaName])
    const ids = await session.query<{ id: string }>(TRANSACTION_IDS, [schemaName ?? null])
    if (inPlace) await session.query(RECORD_IMPORT, [stage.id, tokenId])
    const { commit, rollback } = session
    return { target, schemaName, rows, transactions: ids.map(({ id }) => id), commit, rollback }
  } catch (error) {
    session.rollback()
    throw error
  }
}

/** @returns rows by table, as many as the archive has. */
async function loadTables(
  { client }: LoadingSession,
  follower: ArchiveFollower,
  { project, stage, archived }: TargetStage,
  onRows: LoadStageOptions['onRows'] = () => undefined,
): Promise<ReadonlyMap<string, number>> {
  const loaded = new Map<string, number>()
  let before = 0
  for await (const table of follower.tablesOf(archived)) {
    const report = (rows: number): void =>
      onRows({ project: project.slug, stage: stage.slug, table: table.name, rows: before + rows })
    const rows =
      table.columns.length > 0 ? await copyTable(client, follower, table, report) : await insertEmptyRows(client, table)
    if (rows !== table.rows) throw new Error(`${rows} of ${table.rows} rows of a table were loaded`)
    loaded.set(table.name, rows)
    before += rows
  }
  return loaded
}

/** @param report is called with about how many rows of the table PostgreSQL has taken. @returns how many it took. */
async function copyTable(
  client: LoadingSession['client'],
  follower: ArchiveFollower,
  table: ArchiveTable,
  report: (rows: number) => void,
): Promise<number> {
  let taken = 0
  for await (const copy of follower.copiesOf(table)) {
    let bytes = 0
    // By their share of all bytes: which bytes are a row, only PostgreSQL looks at now.
    const sent = tap(follower.bytesOf(table, copy), (chunk) => {
      report(taken + Math.floor((copy.rows * bytes) / (copy.range.end - copy.range.start)))
      bytes += chunk.length
    })
    taken += await copyRows(client, table, copy, sent)
    report(taken)
  }
  return taken
}

/** The ids by which what was made here is known: its own, and those of its subtransactions, in which views were filled. */
const TRANSACTION_IDS = `
  SELECT (pg_catalog.pg_current_xact_id()::text::numeric % 4294967296)::text AS id
   UNION
  SELECT c.xmin::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = $1::pg_catalog.name`
