import { quoteIdentifier } from '../../database/quoting.ts'
import { sqlState } from '../../database/sqlstate.ts'
import { tap } from '../../lib/tap.ts'
import type { ArchiveTable } from './archive-lists.ts'
import { copyRows, insertEmptyRows } from './copy-rows.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import type { ImportOptions } from './import-options.ts'
import type { LoadingSession } from './loading-session.ts'
import type { TargetStage } from './target-stage.ts'

export interface TablesToLoad {
  readonly session: LoadingSession
  readonly follower: ArchiveFollower
  readonly target: TargetStage
  readonly onRows: ImportOptions['onRows'] | undefined
  /** Called when a table has its rows, before those of the next one. */
  readonly onLoaded: (table: ArchiveTable) => Promise<void>
}

/** The tables of a stage, while they are loaded. */
export interface TableLoads {
  /** By table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /**
   * Loads all tables, as their rows come.
   *
   * @param withNames tables, new and empty, whose values may name what is not there yet: where they do, the table stays
   *   empty, and waits for `loadPutOff`.
   */
  loadAll(withNames: ReadonlySet<string>): Promise<void>
  /** Loads the tables that were put off, from the spool file. */
  loadPutOff(): Promise<void>
}

/** @returns what loads the tables. Its methods throw as `copyRows`. */
export function tableLoads({
  session,
  follower,
  target,
  onLoaded,
  onRows = () => undefined,
}: TablesToLoad): TableLoads {
  const { project, stage, archived } = target
  const loaded = new Map<string, number>()
  const putOff: ArchiveTable[] = []
  let before = 0

  const load = async (table: ArchiveTable): Promise<void> => {
    const report = (rows: number): void =>
      onRows({ project: project.slug, stage: stage.slug, table: table.name, rows: before + rows })
    const rows =
      table.columns.length > 0
        ? await copyTable(session, follower, table, report)
        : await insertEmptyRows(session.client, table)
    if (rows !== table.rows) throw new Error(`${rows} of ${table.rows} rows of a table were loaded`)
    loaded.set(table.name, rows)
    before += rows
  }

  return {
    rows: loaded,
    async loadAll(withNames) {
      for await (const table of follower.tablesOf(archived)) {
        if (!withNames.has(table.name)) await load(table)
        else if (!(await tryToLoad(session, table, load))) {
          putOff.push(table)
          continue
        }
        await onLoaded(table)
      }
    },
    async loadPutOff() {
      for (const table of putOff) await load(table)
    },
  }
}

/** @returns false where a value names what is not there; nothing was loaded then. */
async function tryToLoad(
  session: LoadingSession,
  table: ArchiveTable,
  load: (table: ArchiveTable) => Promise<void>,
): Promise<boolean> {
  await session.execute('SAVEPOINT before_table')
  try {
    // COPY takes FREEZE only for a table that its own subtransaction made or emptied.
    await session.execute(`TRUNCATE ONLY ${quoteIdentifier(table.name)}`)
    await load(table)
    await session.execute('RELEASE SAVEPOINT before_table')
    return true
  } catch (error) {
    if (!namesNothing(error)) throw error
    await session.execute('ROLLBACK TO SAVEPOINT before_table')
    await session.execute('RELEASE SAVEPOINT before_table')
    return false
  }
}

/** Whether PostgreSQL refused a row for a name: there is no table, function, operator or type of that name, or not one alone. */
const namesNothing = (error: unknown): boolean => error instanceof Error && /^42/.test(sqlState(error.cause) ?? '')

/** @param report is called with about how many rows of the table PostgreSQL has taken. @returns how many it took. */
async function copyTable(
  { client }: LoadingSession,
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
