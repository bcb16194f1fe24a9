import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'

/** Rows of a table as PostgreSQL wrote them: JSON arrays, joined by the separator that was asked for. */
export interface RowPage {
  readonly rows: number
  readonly lines: string
}

/** Heap blocks whose rows PostgreSQL joins into one page: some 75 kB of JSON, where rows are not toasted. */
const BLOCKS_PER_PAGE = 8

/** Pages that are fetched at once: about a megabyte, which hides a round trip (`bench/`). */
const PAGES_PER_FETCH = 16

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
   * Whether the table has values stored out of line. Without any, eight heap blocks are a bounded number of bytes,
   * and PostgreSQL joins their rows itself; with them nothing but counting keeps a page small.
   */
  readonly toasted: boolean
  /** What stands between two rows. */
  readonly separator: string
}

/** A cursor that has been declared: it holds on to the table that it found, whatever becomes of the name. */
export interface TableCursor {
  readonly name: string
  readonly toasted: boolean
  readonly separator: string
}

/**
 * Declares a cursor over a table's rows, in the order in which they are stored.
 *
 * Joining rows inside PostgreSQL spares it, and us, most of the work of sending rows one by one: measured as a
 * third of the export's time (`bench/`).
 */
export async function declareTableCursor(tx: Transaction, source: TableSource, name: string): Promise<TableCursor> {
  const query = source.toasted ? rowQuery(source) : pageQuery(source)
  await tx.$executeRawUnsafe(`DECLARE ${quoteIdentifier(name)} NO SCROLL CURSOR FOR ${query}`)
  return { name, toasted: source.toasted, separator: source.separator }
}

/**
 * The pages of a cursor that was declared in this transaction. The next fetch is under way while a page is used;
 * when the consumer stops early, that fetch is waited for, since the transaction has one connection.
 */
export async function* tablePages(tx: Transaction, cursor: TableCursor): AsyncGenerator<RowPage> {
  const fetch = cursor.toasted ? () => fetchToastedPage(tx, cursor) : () => fetchPages(tx, cursor)
  let next = fetch()
  try {
    for (;;) {
      const pages = await next
      if (pages.length === 0) return
      next = fetch()
      for (const { rows, lines } of pages) if (lines !== null) yield { rows, lines }
    }
  } finally {
    await Promise.allSettled([next])
  }
}

interface FetchedPage {
  readonly rows: number
  /** Null where the blocks hold no rows. */
  readonly lines: string | null
}

const fetchPages = (tx: Transaction, { name }: TableCursor): Promise<FetchedPage[]> =>
  tx.$queryRawUnsafe<FetchedPage[]>(`FETCH ${PAGES_PER_FETCH} FROM ${quoteIdentifier(name)}`)

async function fetchToastedPage(tx: Transaction, { name, separator }: TableCursor): Promise<FetchedPage[]> {
  const pages = await tx.$queryRaw<FetchedPage[]>`
    SELECT "rows", "lines" FROM wharf.fetch_page(${name}::text::refcursor, ${TOASTED_PAGE_BYTES}::int, ${separator})`
  return pages.filter((page) => page.rows > 0)
}

const rowQuery = ({ schemaName, tableName, expressions }: TableSource): string =>
  `SELECT ${rowExpression(expressions)} FROM ONLY ${quoteQualified(schemaName, tableName)}`

/**
 * One row for every eight heap blocks: how many rows they hold, and these joined. Blocks that are added while the
 * cursor is open hold nothing that its snapshot sees.
 */
function pageQuery({ schemaName, tableName, expressions, separator }: TableSource): string {
  const table = quoteQualified(schemaName, tableName)
  const tid = (blocks: number): string => `pg_catalog.format('(%s,0)', wharf_blocks.first + ${blocks})::pg_catalog.tid`
  return `
    SELECT page."rows", page."lines"
    FROM pg_catalog.generate_series(
           0::pg_catalog.int8,
           pg_catalog.pg_relation_size(${quoteLiteral(table)}::pg_catalog.regclass)
             / pg_catalog.current_setting('block_size')::pg_catalog.int8,
           ${BLOCKS_PER_PAGE}) AS wharf_blocks (first),
         LATERAL (
           SELECT pg_catalog.count(*)::pg_catalog.int4 AS "rows",
                  pg_catalog.string_agg(${rowExpression(expressions)}, ${quoteLiteral(separator)}) AS "lines"
           FROM ONLY ${table}
           WHERE ctid >= ${tid(0)} AND ctid < ${tid(BLOCKS_PER_PAGE)}) AS page`
}

/** A row as the text of one JSON array; more columns than a function takes are built in parts and joined. */
function rowExpression(expressions: readonly string[]): string {
  const parts = []
  for (let start = 0; start === 0 || start < expressions.length; start += MAX_ARGUMENTS) {
    const columns = expressions.slice(start, start + MAX_ARGUMENTS).join(', ')
    parts.push(`pg_catalog.json_build_array(${columns})::pg_catalog.text`)
  }
  return parts.reduce((left, right) => `pg_catalog.left(${left}, -1) || ', ' || pg_catalog.substr(${right}, 2)`)
}
