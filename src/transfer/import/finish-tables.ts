import type { FamilyStatements } from '../structure/create-statements.ts'
import type { TableLine } from '../structure/lines.ts'
import type { ArchiveTable } from './archive-lists.ts'
import type { LoadedTables } from './loaded-tables.ts'
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
  readonly loaded: LoadedTables
}

/** Tables, while they are finished. */
export interface TableFinisher {
  /** The tables that have been analyzed, too. */
  readonly analyzed: ReadonlySet<TableLine>
  /** Says that the rows of a table are there. @throws as `runAll` */
  onLoaded(table: ArchiveTable): Promise<void>
  /** Finishes those whose rows are there. @throws as `runAll` */
  finishLoaded(): Promise<void>
  /** Finishes all other tables. @throws as `runAll` */
  finishAll(): Promise<void>
  /** The families that are not finished. */
  readonly left: ReadonlySet<FamilyStatements>
  /** The statements that finish one of them, which another session runs. */
  give(family: FamilyStatements): readonly string[]
}

/**
 * Gives tables their keys, their indexes and statistics as soon as their rows are there, while the rows of others still
 * come: PostgreSQL sorts while the archive is received and checked, and finds in memory what it has just written.
 */
export function finishTables({ session, families, analyze, loaded }: TablesToFinish): TableFinisher {
  const left = new Set(families.filter(({ tables }) => !tables.every(({ name }) => loaded.isFinished(name))))
  const familyOf = new Map(families.flatMap((family) => family.tables.map(({ name }) => [name, family] as const)))
  const empty = new Map(families.map((family) => [family, new Set(tablesWithRows(family).map(({ name }) => name))]))
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
    for (const { tables } of of) loaded.noteFinished(session, namesOf(tables))
  }

  const give = (family: FamilyStatements): readonly string[] => {
    left.delete(family)
    if (!family.isWhole) return family.statements
    for (const table of family.tables) analyzed.add(table)
    return [...family.statements, ...analyze(family.tables)]
  }

  const add = (family: FamilyStatements, statements: readonly string[]): void => {
    waiting.push(...statements)
    waitingFor.push(family)
  }

  return {
    analyzed,
    left,
    give,
    async onLoaded(table) {
      const family = familyOf.get(table.name)
      if (!family || !left.has(family)) return
      const others = empty.get(family)
      others?.delete(table.name)
      bytes += bytesOf(table)
      if (others?.size === 0) add(family, give(family))
      if (bytes >= MIN_BYTES) await run()
    },
    finishLoaded: run,
    async finishAll() {
      for (const family of left) add(family, family.statements)
      left.clear()
      await run()
    },
  }
}

/** Those of a family that have rows of their own. */
export const tablesWithRows = ({ tables }: FamilyStatements): readonly TableLine[] =>
  tables.filter(({ partitionBy }) => partitionBy === undefined)

export const namesOf = (tables: readonly TableLine[]): readonly string[] => tables.map(({ name }) => name)

/** How many bytes of rows of a table have come. */
export const bytesOf = ({ copies }: Pick<ArchiveTable, 'copies'>): number =>
  copies.reduce((sum, { range }) => sum + range.end - range.start, 0)
