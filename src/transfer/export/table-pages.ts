import { ROW_PARTS } from '../../archive/pages.ts'
import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import type { ByteText } from '../../lib/byte-text.ts'
import { BYTE_TEXT_COLUMN, readByteText } from '../../lib/runtime.ts'

/** Rows of a table as PostgreSQL wrote them: JSON arrays, joined by `ROW_PARTS.join`. */
export interface RowPage {
  /** Which of the table's runs of `BLOCKS_PER_PART` blocks the rows are stored in, from 0. */
  readonly part: number
  readonly rows: number
  readonly lines: ByteText
}

/**
 * Heap blocks whose rows are one part of a table's in an archive: 32 MiB, so that a table of half a gigabyte has enough parts for
 * several processes, the largest that PostgreSQL can have (32 TiB) has about a million, and the lines around one weigh nothing.
 * Archives of the same rows are the same as long as it is not changed.
 */
const BLOCKS_PER_PART = 4096

/**
 * Heap blocks whose rows PostgreSQL joins into one page: some 80 kB of JSON, where rows are not toasted. Text of more
 * than 128 kB is a large object to V8, which costs it a memory mapping each time (`bench/`).
 */
const BLOCKS_PER_PAGE = 8

/** Pages that are fetched at once: about a megabyte, which hides a round trip (`bench/`). */
const MAX_PAGES_PER_FETCH = 32

/** Bytes that a fetch is to bring: values that PostgreSQL keeps compressed make a page up to 250 times as large. */
const FETCH_BYTES = 2 * 1024 * 1024

/** Fetches that are under way or wait to be used, so that PostgreSQL need not wait while pages are compressed. */
const FETCHES_AHEAD = 3

/** Rows that are fetched at once where each is a page: their size is only known when they have come. */
const MAX_ROWS_PER_FETCH = 128

/** Bytes after which a page of toasted rows is full. */
const TOASTED_PAGE_BYTES = 512 * 1024

/** PostgreSQL passes at most 100 arguments to a function, and a table may have 1,600 columns. */
const MAX_ARGUMENTS = 100

export interface TableSource {
  readonly schemaName: string
  readonly tableName: string
  /** SQL that gives each column's value as `json_build_array` takes it. */
  readonly expressions: readonly string[]
  /**
   * Whether the table has values stored out of line. Without any, a few heap blocks are a bounded number of bytes,
   * and PostgreSQL joins their rows itself; with them nothing but counting keeps a page small.
   */
  readonly toasted: boolean
  /** Whether the table is in Wharf's own database, which has a function that counts. */
  readonly isOwn: boolean
}

/** How a table's rows become pages. */
type Paging = 'by blocks' | 'by bytes' | 'by rows'

/** A cursor that has been declared: it holds on to the table that it found, whatever becomes of the name. */
export interface TableCursor {
  readonly name: string
  readonly paging: Paging
}

/**
 * Declares a cursor over a table's rows, in the order in which they are stored.
 *
 * Joining rows inside PostgreSQL spares it, and us, most of the work of sending rows one by one: measured as a
 * third of the export's time (`bench/`).
 */
export async function declareTableCursor(tx: Transaction, source: TableSource, name: string): Promise<TableCursor> {
  const paging = pagingOf(source)
  const query = paging === 'by blocks' ? pageQuery(source) : rowQuery(source)
  await tx.$executeRawUnsafe(`DECLARE ${quoteIdentifier(name)} NO SCROLL CURSOR FOR ${query}`)
  return { name, paging }
}

function pagingOf({ toasted, isOwn }: TableSource): Paging {
  if (!toasted) return 'by blocks'
  return isOwn ? 'by bytes' : 'by rows'
}

/**
 * The pages of a cursor that was declared in this transaction. One fetch after another is under way while pages are
 * used, as far as `FETCHES_AHEAD` allows; when the consumer stops early, they are waited for, since the transaction
 * has one connection.
 */
export async function* tablePages(tx: Transaction, cursor: TableCursor): AsyncGenerator<RowPage> {
  let count = 1
  const fetch = async (): Promise<FetchedPage[]> => {
    const pages = await (cursor.paging === 'by bytes' ? fetchToastedPages(tx, cursor) : fetchPages(tx, cursor, count))
    count = pagesToFetch(pages, count, cursor.paging === 'by rows' ? MAX_ROWS_PER_FETCH : MAX_PAGES_PER_FETCH)
    return pages
  }
  const fetches = [fetch()]
  try {
    for (;;) {
      while (fetches.length < FETCHES_AHEAD) fetches.push(fetchAfter(fetches.at(-1), fetch))
      const pages = await fetches.shift()
      if (!pages?.length) return
      for (const page of pages) {
        const { part, rows, [BYTE_TEXT_COLUMN]: lines } = page
        // Whatever still refers to the fetched pages (a promise does, until it is collected) is not to keep their text.
        page[BYTE_TEXT_COLUMN] = null
        if (lines !== null) yield { part, rows, lines: readByteText(lines) }
      }
    }
  } finally {
    await Promise.allSettled(fetches)
  }
}

/** Fetches when the fetch before has ended, unless that was the last. */
function fetchAfter(
  before: Promise<FetchedPage[]> | undefined,
  fetch: () => Promise<FetchedPage[]>,
): Promise<FetchedPage[]> {
  const next = Promise.resolve(before).then((pages) => (pages?.length === 0 ? [] : fetch()))
  // One that fails before its turn has come is no unhandled rejection: it is awaited when its turn comes.
  void Promise.allSettled([next])
  return next
}

interface FetchedPage {
  readonly part: number
  readonly rows: number
  /** Null where the blocks hold no rows, or the page has been used. */
  [BYTE_TEXT_COLUMN]: string | null
}

const fetchPages = (tx: Transaction, { name }: TableCursor, count: number): Promise<FetchedPage[]> =>
  tx.$queryRawUnsafe<FetchedPage[]>(`FETCH ${count} FROM ${quoteIdentifier(name)}`)

/** How many pages come next: more and more, as long as the largest of those before would not make it too much. */
function pagesToFetch(pages: readonly FetchedPage[], before: number, most: number): number {
  const largest = Math.max(...pages.map(({ [BYTE_TEXT_COLUMN]: lines }) => lines?.length ?? 0))
  return Math.max(1, Math.min(2 * before, most, Math.floor(FETCH_BYTES / largest)))
}

const fetchToastedPages = (tx: Transaction, { name }: TableCursor): Promise<FetchedPage[]> =>
  tx.$queryRawUnsafe<FetchedPage[]>(
    `SELECT "part", "rows", "lines" AS ${BYTE_TEXT_COLUMN} FROM wharf.fetch_pages($1::text::refcursor, $2::int, $3)`,
    name,
    TOASTED_PAGE_BYTES,
    ROW_PARTS.join,
  )

/** Each row by itself, with the number of its part. Where no function takes them together, each is a page. */
const rowQuery = (source: TableSource): string => `
    SELECT wharf_blocks."part", wharf_row."line" ${source.isOwn ? '' : `AS ${BYTE_TEXT_COLUMN}, 1::pg_catalog.int4 AS "rows"`}
    FROM ${blockRanges(source, BLOCKS_PER_PART)},
         LATERAL (
           SELECT ${rowExpression(source.expressions)} AS "line"
           ${rowsInRange(source, BLOCKS_PER_PART)}
           OFFSET 0) AS wharf_row`

/** One row for every few heap blocks: their part, how many rows they hold, and these joined. */
const pageQuery = (source: TableSource): string => `
    SELECT wharf_blocks."part", page."rows", page.${BYTE_TEXT_COLUMN}
    FROM ${blockRanges(source, BLOCKS_PER_PAGE)},
         LATERAL (
           SELECT pg_catalog.count(*)::pg_catalog.int4 AS "rows",
                  pg_catalog.string_agg(${rowExpression(source.expressions)}, ${quoteLiteral(ROW_PARTS.join)}) AS ${BYTE_TEXT_COLUMN}
           ${rowsInRange(source, BLOCKS_PER_PAGE)}) AS page`

/**
 * The table's blocks, some at a time, in their order: the first block, and the part that it is in.
 *
 * The table is as large as when the cursor is opened. Blocks that come later hold nothing that its snapshot sees, and none
 * with rows that it sees can go: to cut a table short, VACUUM needs a lock that the export's own lock does not allow.
 */
const blockRanges = (source: TableSource, blocks: number): string => `(
           SELECT wharf_first AS "first", (wharf_first / ${BLOCKS_PER_PART})::pg_catalog.int4 AS "part"
           FROM pg_catalog.generate_series(
             0::pg_catalog.int8,
             pg_catalog.pg_relation_size(${quoteLiteral(nameOf(source))}::pg_catalog.regclass)
               / pg_catalog.current_setting('block_size')::pg_catalog.int8,
             ${blocks}) AS wharf_first) AS wharf_blocks`

function rowsInRange(source: TableSource, blocks: number): string {
  const tid = (more: number): string => `pg_catalog.format('(%s,0)', wharf_blocks."first" + ${more})::pg_catalog.tid`
  return `FROM ONLY ${nameOf(source)} AS wharf_table WHERE ctid >= ${tid(0)} AND ctid < ${tid(blocks)}`
}

const nameOf = ({ schemaName, tableName }: TableSource): string => quoteQualified(schemaName, tableName)

/** A row as the text of one JSON array; more columns than a function takes are built in parts and joined. */
function rowExpression(expressions: readonly string[]): string {
  const parts = []
  for (let start = 0; start === 0 || start < expressions.length; start += MAX_ARGUMENTS) {
    const columns = expressions.slice(start, start + MAX_ARGUMENTS).join(', ')
    parts.push(`pg_catalog.json_build_array(${columns})::pg_catalog.text`)
  }
  return parts.reduce((left, right) => `pg_catalog.left(${left}, -1) || ', ' || pg_catalog.substr(${right}, 2)`)
}
