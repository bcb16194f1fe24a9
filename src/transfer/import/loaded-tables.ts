import type { ArchiveTable } from './archive-lists.ts'
import type { ImportOptions } from './import-options.ts'
import type { LoadingSession } from './loading-session.ts'
import type { SavedTable } from './resume/saved-load.ts'
import type { StageSaves } from './resume/stage-saves.ts'
import type { TargetStage } from './target-stage.ts'

/** What one session has done since it committed the last time. */
interface Uncommitted {
  readonly tables: Map<string, SavedTable>
  readonly finished: Set<string>
  sinceMs: number
}

/** How far the tables of a stage are loaded, in all sessions that load them. */
export interface LoadedTables {
  /** Of those that are whole, by table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /** How far a table is loaded. */
  of(name: string): SavedTable | undefined
  /** Says how far a session has loaded one. */
  note(session: LoadingSession, table: SavedTable): void
  /** Says that a session has given tables their keys and indexes. */
  noteFinished(session: LoadingSession, names: readonly string[]): void
  isFinished(name: string): boolean
  /** Tells the caller about how many rows of a table PostgreSQL has taken. */
  report(table: Pick<ArchiveTable, 'name'>, rows: number): void
  /** What is committed, and what a session has done besides. */
  saved(session: LoadingSession): { readonly tables: SavedTable[]; readonly finished: string[] }
  /** Says that a session has committed. */
  committed(session: LoadingSession): void
  /** Whether a session has loaded all of a table since it committed: nobody else can write to that. */
  isHeld(session: LoadingSession, name: string): boolean
  /** Whether it is time for a session to commit. */
  isDue(session: LoadingSession): boolean
}

export function loadedTables(
  { project, stage }: TargetStage,
  saves: StageSaves | undefined,
  onRows: ImportOptions['onRows'] = () => undefined,
): LoadedTables {
  const { tables: found = [], finished: foundFinished = [] } = saves?.found ?? {}
  const committed: Uncommitted = {
    tables: new Map(found.map((table) => [table.name, table])),
    finished: new Set(foundFinished),
    sinceMs: 0,
  }
  const partsBefore = found.reduce((sum, { parts }) => sum + parts, 0)
  const latest = new Map(committed.tables)
  const rows = new Map(found.flatMap((table) => (table.isWhole ? [[table.name, table.rows] as const] : [])))
  const allFinished = new Set(foundFinished)
  const bySession = new Map<LoadingSession, Uncommitted>()
  const taken = new Map<string, number>()
  let [parts, total] = [0, 0]

  const of = (session: LoadingSession): Uncommitted => {
    const known = bySession.get(session)
    if (known) return known
    const begun = { tables: new Map(), finished: new Set<string>(), sinceMs: performance.now() }
    bySession.set(session, begun)
    return begun
  }

  return {
    rows,
    of: (name) => latest.get(name),
    note(session, table) {
      parts += table.parts - (latest.get(table.name)?.parts ?? 0)
      latest.set(table.name, table)
      of(session).tables.set(table.name, table)
      if (table.isWhole) rows.set(table.name, table.rows)
    },
    noteFinished(session, names) {
      for (const name of names) {
        allFinished.add(name)
        of(session).finished.add(name)
      }
    },
    isFinished: (name) => allFinished.has(name),
    report({ name }, count) {
      total += count - (taken.get(name) ?? 0)
      taken.set(name, count)
      onRows({ project: project.slug, stage: stage.slug, table: name, rows: total, parts, partsBefore })
    },
    saved(session) {
      const { tables, finished } = of(session)
      return {
        tables: [...new Map([...committed.tables, ...tables]).values()],
        finished: [...new Set([...committed.finished, ...finished])],
      }
    },
    committed(session) {
      const { tables, finished } = of(session)
      for (const [name, table] of tables) committed.tables.set(name, table)
      for (const name of finished) committed.finished.add(name)
      bySession.delete(session)
      of(session)
    },
    isHeld: (session, name) => of(session).tables.get(name)?.isWhole === true && !committed.tables.has(name),
    isDue(session) {
      const { sinceMs } = of(session)
      return performance.now() - sinceMs >= (saves?.everyMs ?? Number.POSITIVE_INFINITY)
    },
  }
}
