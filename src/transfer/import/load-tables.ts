import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { sqlState } from '../../database/sqlstate.ts'
import { tap } from '../../lib/tap.ts'
import type { ArchiveCopy, ArchiveTable, PartEnd } from './archive-lists.ts'
import { copyRows, insertEmptyRows } from './copy-rows.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import type { ImportOptions } from './import-options.ts'
import type { LoadingSession } from './loading-session.ts'
import type { SavedTable } from './resume/saved-load.ts'
import type { StageSaves } from './resume/stage-saves.ts'
import type { TargetStage } from './target-stage.ts'

export interface TablesToLoad {
  readonly session: LoadingSession
  readonly follower: ArchiveFollower
  readonly target: TargetStage
  readonly onRows: ImportOptions['onRows'] | undefined
  /** Called when a table has its rows, before those of the next one. */
  readonly onLoaded: (table: ArchiveTable) => Promise<void>
  /** Commits what was loaded, now and then; all is loaded in one transaction without. */
  readonly saves: StageSaves | undefined
  /** Does so now. */
  readonly save: () => Promise<void>
}

/** The tables of a stage, while they are loaded. */
export interface TableLoads {
  /** By table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /** How far each table is loaded that has been begun. */
  saved(): SavedTable[]
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
  onLoaded,
  onRows = () => undefined,
  saves,
  save,
}: TablesToLoad): TableLoads {
  const { project, stage, archived } = target
  const begun = new Map((saves?.found?.tables ?? []).map((table) => [table.name, table] as const))
  const partsBefore = [...begun.values()].reduce((sum, { parts }) => sum + parts, 0)
  let parts = 0
  const loaded = new Map<string, number>()
  const putOff: ArchiveTable[] = []
  let before = 0

  const report = (table: ArchiveTable, rows: number): void => {
    onRows({ project: project.slug, stage: stage.slug, table: table.name, rows: before + rows, parts, partsBefore })
  }

  const note = (table: SavedTable): void => {
    parts += table.parts - (begun.get(table.name)?.parts ?? 0)
    begun.set(table.name, table)
  }

  const load = async (table: ArchiveTable, how: HowToLoad): Promise<void> => {
    const rows = await loadRows(table, how)
    if (rows !== table.rows) throw new Error(`${rows} of ${table.rows} rows of a table were loaded`)
    loaded.set(table.name, rows)
    note({ name: table.name, rows, parts: table.parts, isWhole: true, copy: 0, end: null })
    report(table, rows)
    before += rows
  }

  const loadRows = async (table: ArchiveTable, { isEmptied, maySave }: HowToLoad): Promise<number> => {
    if (table.columns.length === 0) return insertEmptyRows(session.client, table)
    const from = begun.get(table.name)
    if (!from && !isEmptied && saves?.isBegun) await session.execute(emptyTable(table))
    return copyTable({ session, follower, table }, from, {
      report: (rows) => report(table, rows),
      mayStop: () => maySave && (saves?.isDue() ?? false),
      async onStop(position) {
        note(position)
        await save()
      },
    })
  }

  return {
    rows: loaded,
    saved: () => [...begun.values()],
    async loadAll(withNames) {
      const skipped: { readonly table: ArchiveTable; readonly rows: number }[] = []
      for await (const table of follower.tablesOf(archived)) {
        const from = begun.get(table.name)
        if (from?.isWhole) {
          loaded.set(table.name, from.rows)
          before += from.rows
          report(table, 0)
          skipped.push({ table, rows: from.rows })
        } else if (!withNames.has(table.name)) {
          await load(table, { isEmptied: false, maySave: true })
        } else if (!(await tryToLoad(session, table, { load: () => load(table, IN_SUBTRANSACTION), saves }))) {
          putOff.push(table)
          continue
        }
        await onLoaded(table)
        if (saves?.isDue()) await save()
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

/** What an earlier attempt has loaded is of the same archive, by its digest: whatever else there is is a fault of ours. */
const anotherArchive = (): Error => new Error('what was loaded before is not what the archive has')

/** COPY takes FREEZE only for a table that its own subtransaction made or emptied. */
const emptyTable = ({ name }: ArchiveTable): string => `TRUNCATE ONLY ${quoteIdentifier(name)}`

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
  const oid = `pg_catalog.to_regclass(${quoteLiteral(quoteIdentifier(table.name))})`
  const [row] = saves
    ? await session.query<{ id: string }>(`SELECT xmin::text AS id FROM pg_catalog.pg_class WHERE oid = ${oid}`)
    : []
  if (row) saves?.noteSubtransaction(row.id)
  return true
}

/** Whether PostgreSQL refused a row for a name: there is no table, function, operator or type of that name, or not one alone. */
const namesNothing = (error: unknown): boolean => error instanceof Error && /^42/.test(sqlState(error.cause) ?? '')

interface Copying {
  readonly session: LoadingSession
  readonly follower: ArchiveFollower
  readonly table: ArchiveTable
}

interface CopyOptions {
  /** Called with about how many rows of the table PostgreSQL has taken. */
  readonly report: (rows: number) => void
  /** Whether to stop where a part ends. */
  readonly mayStop: () => boolean
  /** Called where that was done, to go on then. */
  readonly onStop: (position: SavedTable) => Promise<void>
}

/** @param from how much of the table is there. @returns how many rows PostgreSQL took, with those. */
async function copyTable(
  { session, follower, table }: Copying,
  from: SavedTable | undefined,
  { report, mayStop, onStop }: CopyOptions,
): Promise<number> {
  let taken = from?.rows ?? 0
  let isNew = from === undefined
  let index = -1
  for await (const copy of follower.copiesOf(table)) {
    index += 1
    if (from && index < from.copy) continue
    let at = from && index === from.copy ? await findEnd(follower, table, copy, from) : undefined
    do {
      const run = follower.runOf(table, copy, { from: at, mayEnd: mayStop })
      const skipped = at?.rows ?? 0
      let bytes = at?.bytes ?? 0
      const first = taken - skipped
      // By their share of all bytes: which bytes are a row, only PostgreSQL looks at now.
      const sent = tap(run.bytes, (chunk) => {
        report(first + Math.floor((copy.rows * bytes) / (copy.range.end - copy.range.start)))
        bytes += chunk.length
      })
      taken += await copyRows(session.client, table, { copy, skipped, isNew }, sent)
      report(taken)
      at = run.end
      if (at) {
        await onStop({ name: table.name, rows: taken, parts: at.parts, isWhole: false, copy: index, end: at })
        isNew = false
      }
    } while (at)
  }
  return taken
}

async function findEnd(
  follower: ArchiveFollower,
  table: ArchiveTable,
  copy: ArchiveCopy,
  { end }: SavedTable,
): Promise<PartEnd | undefined> {
  const found = end ? await follower.partEndAt(table, copy, end.bytes) : undefined
  if (found?.rows === end?.rows && found?.crc32 === end?.crc32 && found?.parts === end?.parts) return found
  throw anotherArchive()
}
