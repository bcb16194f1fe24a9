import type { FamilyStatements } from '../structure/create-statements.ts'
import type { TableLine } from '../structure/lines.ts'
import type { ArchiveTable } from './archive-lists.ts'
import { type LoadingSession, runAll } from './loading-session.ts'

/**
 * So many bytes of rows are worth a message of their own. While an archive is being checked, the answer to each is noticed
 * up to ten milliseconds late, and PostgreSQL has nothing to do meanwhile.
 */
const MIN_BYTES = 2 * 1024 * 1024

export interface TablesToFinish {
  readonly session: LoadingSession
  readonly families: readonly FamilyStatements[]
  /** The statements that analyze some tables, whole families, whose rows are there. */
  readonly analyze: (tables: readonly TableLine[]) => readonly string[]
  /** The tables that have their keys and indexes already. */
  readonly finished?: readonly string[] | undefined
}

/** Tables, while they are finished. */
export interface TableFinisher {
  /** The tables that have been analyzed, too. */
  readonly analyzed: ReadonlySet<TableLine>
  /** The names of those that have their keys and indexes. */
  finished(): string[]
  /** Says that the rows of a table are there. @throws as `runAll` */
  onLoaded(table: ArchiveTable): Promise<void>
  /** Finishes all other tables. @throws as `runAll` */
  finishAll(): Promise<void>
}

/**
 * Gives tables their keys, their indexes and statistics as soon as their rows are there, while the rows of others still
 * come: PostgreSQL sorts while the archive is received and checked, and finds in memory what it has just written.
 */
export function finishTables({ session, families, analyze, finished = [] }: TablesToFinish): TableFinisher {
  const done = new Set(finished)
  const left = new Set(families.filter(({ tables }) => !tables.every(({ name }) => done.has(name))))
  const familyOf = new Map(families.flatMap((family) => family.tables.map(({ name }) => [name, family] as const)))
  const empty = new Map(
    families.map((family) => [
      family,
      new Set(family.tables.filter(({ partitionBy }) => partitionBy === undefined).map(({ name }) => name)),
    ]),
  )
  const analyzed = new Set<TableLine>()
  let waiting: string[] = []
  let waitingFor: FamilyStatements[] = []
  let bytes = 0

  const run = async (): Promise<void> => {
    const [statements, of] = [waiting, waitingFor]
    waiting = []
    waitingFor = []
    bytes = 0
    await runAll(session, statements)
    for (const { tables } of of) for (const { name } of tables) done.add(name)
  }

  const add = (family: FamilyStatements): void => {
    waiting.push(...family.statements)
    waitingFor.push(family)
  }

  return {
    analyzed,
    finished: () => [...done],
    async onLoaded({ name, copies }) {
      const family = familyOf.get(name)
      if (!family) return
      const others = empty.get(family)
      others?.delete(name)
      bytes += copies.reduce((sum, { range }) => sum + range.end - range.start, 0)
      if (others?.size === 0 && left.delete(family)) {
        add(family)
        if (family.isWhole) {
          waiting.push(...analyze(family.tables))
          for (const table of family.tables) analyzed.add(table)
        }
      }
      if (bytes >= MIN_BYTES) await run()
    },
    async finishAll() {
      for (const family of left) add(family)
      left.clear()
      await run()
    },
  }
}
