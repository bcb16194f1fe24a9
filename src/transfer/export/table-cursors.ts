import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import type { ValueForm } from '../../rows/value-form.ts'
import type { ReadingSession } from './reading-session.ts'

/**
 * Heap blocks whose rows are one part of a table's in an archive: 32 MiB, so that a table of half a gigabyte has enough parts for
 * several processes, the largest that PostgreSQL can have (32 TiB) has about a million, and the lines around one weigh nothing.
 * Archives of the same rows are the same as long as it is not changed.
 */
const BLOCKS_PER_PART = 4096

/** Heap blocks that one session reads before another takes its turn: 4 MiB, so that what each reads ahead is a bounded number of bytes. */
const BLOCKS_PER_RANGE = 512

const RANGES_PER_PART = BLOCKS_PER_PART / BLOCKS_PER_RANGE

/** The part that a range's rows are in. Both are counted from 0. */
export const partOf = (range: number): number => Math.floor(range / RANGES_PER_PART)

export interface TableSource {
  readonly oid: string
  readonly schemaName: string
  readonly name: string
  /** SQL that gives each column's value as the text that an archive has. */
  readonly expressions: readonly string[]
  readonly forms: readonly ValueForm[]
}

/**
 * Cursors over a table's rows, in the order in which they are stored, one in each session that reads some of them: of n, the
 * first gives the ranges 0, n, 2n and so on. Each holds on to the table that it found, whatever becomes of the name.
 */
export interface TableCursors {
  readonly name: string
  readonly forms: readonly ValueForm[]
  readonly sessions: readonly ReadingSession[]
}

/** How many cursors are declared by one message. */
const AT_ONCE = 100

/** A table, and the sessions that read it: their transactions have the same snapshot. */
export interface TableToRead {
  readonly source: TableSource
  readonly sessions: readonly ReadingSession[]
}

/** Declares cursors over tables, in each session in the order of those. */
export async function declareCursors(tables: readonly TableToRead[]): Promise<void> {
  const declarations = new Map<ReadingSession, string[]>()
  for (const { source, sessions } of tables) {
    for (const [index, session] of sessions.entries()) {
      const ofSession = declarations.get(session) ?? []
      ofSession.push(declareCursor(source, { first: index, step: sessions.length }))
      declarations.set(session, ofSession)
    }
  }
  const declareAll = async (session: ReadingSession, statements: readonly string[]): Promise<void> => {
    for (let first = 0; first < statements.length; first += AT_ONCE) {
      await session.execute(statements.slice(first, first + AT_ONCE).join(';'))
    }
  }
  await Promise.all([...declarations].map(([session, statements]) => declareAll(session, statements)))
}

/** The cursors over a table, once they are declared. */
export const cursorsOf = ({ source, sessions }: TableToRead): TableCursors => ({
  name: nameOf(source),
  forms: source.forms,
  sessions,
})

const nameOf = ({ oid }: TableSource): string => `wharf_${oid}`

const declareCursor = (source: TableSource, every: Every): string =>
  `DECLARE ${quoteIdentifier(nameOf(source))} NO SCROLL CURSOR FOR ${rowsQuery(source, every)}`

/** Which ranges: the first, and how many numbers after one the next comes. */
interface Every {
  readonly first: number
  readonly step: number
}

/**
 * Each row behind the number of its range, which is counted as such: to divide the number of a block would cost as much for
 * each row as to write one of its values.
 *
 * The table is as large as when the cursor is opened. Blocks that come later hold nothing that its snapshot sees, and none
 * with rows that it sees can go: to cut a table short, VACUUM needs a lock that the export's own lock does not allow.
 *
 * Each name is qualified: by itself, it would be that of a column that the table has. Before a dot, PostgreSQL looks for a table first.
 */
function rowsQuery({ schemaName, name, expressions }: TableSource, every: Every): string {
  const table = quoteQualified(schemaName, name)
  const tid = (range: string): string => `pg_catalog.format('(%s,0)', (${range}) * ${BLOCKS_PER_RANGE})::pg_catalog.tid`
  return `
    SELECT wharf_range.number, wharf_row.*
    FROM pg_catalog.generate_series(
           ${every.first}::pg_catalog.int8,
           pg_catalog.pg_relation_size(${quoteLiteral(table)}::pg_catalog.regclass)
             / pg_catalog.current_setting('block_size')::pg_catalog.int8 / ${BLOCKS_PER_RANGE},
           ${every.step}) AS wharf_range (number),
         LATERAL (
           SELECT ${expressions.join(', ')}
           FROM ONLY ${table} AS wharf_table
           WHERE ctid >= ${tid('wharf_range.number')} AND ctid < ${tid('wharf_range.number + 1')}
           OFFSET 0) AS wharf_row`
}
