import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { sqlState } from '../../database/sqlstate.ts'
import type { ArchiveTable } from './archive-lists.ts'
import { insertEmptyRows } from './copy-rows.ts'
import { anotherArchive, copyTable } from './copy-table.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import type { LoadedTables } from './loaded-tables.ts'
import type { LoadingSession } from './loading-session.ts'
import type { StageSaves } from './resume/stage-saves.ts'
import type { TargetStage } from './target-stage.ts'

export interface TablesToLoad {
  readonly session: LoadingSession
  readonly follower: ArchiveFollower
  readonly target: TargetStage
  readonly loaded: LoadedTables
  /** Called before a table is loaded; it may load this and others. */
  readonly onTable: () => Promise<void>
  /** Called when a table has its rows, before those of the next one. */
  readonly onLoaded: (table: ArchiveTable) => Promise<void>
  /** Commits what was loaded, now and then; all is loaded in one transaction without. */
  readonly saves: StageSaves | undefined
  /** Does so now. */
  readonly save: () => Promise<void>
}

/** The tables of a stage, while one session loads them. */
export interface TableLoads {
  /**
   * Loads all tables, as their rows come, but for what was loaded before.
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
  loaded,
  onTable,
  onLoaded,
  saves,
  save,
}: TablesToLoad): TableLoads {
  const putOff: ArchiveTable[] = []
  const isDue = (): boolean => loaded.isDue(session)
  const load = (table: ArchiveTable, { isEmptied, maySave }: HowToLoad): Promise<void> =>
    loadTable(session, table, {
      ...{ follower, loaded, save },
      // What its own transaction has made is new.
      isEmptied: isEmptied || !saves?.isBegun,
      isDue: () => maySave && isDue(),
    })

  return {
    async loadAll(withNames) {
      const skipped: { readonly table: ArchiveTable; readonly rows: number }[] = []
      for await (const table of follower.tablesOf(target.archived)) {
        if (!loaded.of(table.name)?.isWhole) await onTable()
        const from = loaded.of(table.name)
        if (from?.isWhole) {
          loaded.report(table, from.rows)
          skipped.push({ table, rows: from.rows })
        } else if (!withNames.has(table.name)) {
          await load(table, { isEmptied: false, maySave: true })
        } else if (!(await tryToLoad(session, table, { load: () => load(table, IN_SUBTRANSACTION), saves }))) {
          putOff.push(table)
          continue
        }
        await onLoaded(table)
        if (isDue()) await save()
      }
      if (skipped.some(({ table, rows }) => table.rows !== rows)) throw anotherArchive()
    },
    async loadPutOff() {
      for (const table of putOff) await load(table, { isEmptied: false, maySave: false })
    },
  }
}

interface HowToLoad {
  /** Whether it was emptied in this subtransaction. */
  readonly isEmptied: boolean
  /** Whether what was loaded may be committed before all of it is. */
  readonly maySave: boolean
}

const IN_SUBTRANSACTION: HowToLoad = { isEmptied: true, maySave: false }

export interface TableLoading {
  readonly follower: ArchiveFollower
  readonly loaded: LoadedTables
  /** Whether it was made or emptied in this subtransaction. */
  readonly isEmptied: boolean
  /** Asked now and then: whether to commit where a part ends. */
  readonly isDue: () => boolean
  /** Does so. */
  readonly save: () => Promise<void>
}

/** Loads what is missing of a table. @throws as `copyRows`. */
export async function loadTable(
  session: LoadingSession,
  table: ArchiveTable,
  { follower, loaded, isEmptied, isDue, save }: TableLoading,
): Promise<void> {
  const loadRows = async (): Promise<number> => {
    if (table.columns.length === 0) return insertEmptyRows(session.client, table)
    const from = loaded.of(table.name)
    if (!from && !isEmptied) await session.execute(emptyTable(table))
    return copyTable({ session, follower, table }, from, {
      report: (rows) => loaded.report(table, rows),
      mayStop: isDue,
      async onStop(position) {
        loaded.note(session, position)
        await save()
      },
    })
  }
  const rows = await loadRows()
  if (rows !== table.rows) throw new Error(`${rows} of ${table.rows} rows of a table were loaded`)
  loaded.note(session, { name: table.name, rows, parts: table.parts, isWhole: true, copy: 0, end: null })
  loaded.report(table, rows)
}

/** COPY takes FREEZE only for a table that its own subtransaction made or emptied. */
export const emptyTable = ({ name }: Pick<ArchiveTable, 'name'>): string => `TRUNCATE ONLY ${quoteIdentifier(name)}`

/** @returns false where a value names what is not there; nothing was loaded then. */
async function tryToLoad(
  session: LoadingSession,
  table: ArchiveTable,
  { load, saves }: { readonly load: () => Promise<void>; readonly saves: StageSaves | undefined },
): Promise<boolean> {
  await session.execute('SAVEPOINT before_table')
  try {
    await session.execute(emptyTable(table))
    await load()
    await session.execute('RELEASE SAVEPOINT before_table')
  } catch (error) {
    if (!namesNothing(error)) throw error
    await session.execute('ROLLBACK TO SAVEPOINT before_table')
    await session.execute('RELEASE SAVEPOINT before_table')
    return false
  }
  // Emptying it has written its row of the catalog.
  const oid = `pg_catalog.to_regclass(${quoteLiteral(quoteIdentifier(table.name))})::pg_catalog.oid`
  const [row] = saves
    ? await session.query<{ id: string }>(`SELECT xmin::text AS id FROM pg_catalog.pg_class WHERE oid = ${oid}`)
    : []
  if (row) saves?.noteSubtransaction(row.id)
  return true
}

/** Whether PostgreSQL refused a row for a name: there is no table, function, operator or type of that name, or not one alone. */
const namesNothing = (error: unknown): boolean => error instanceof Error && /^42/.test(sqlState(error.cause) ?? '')
