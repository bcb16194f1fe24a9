import pg from 'pg'
import { BINARY_HEADER, BINARY_TRAILER } from '../../copy/binary/rows.ts'
import { copyInto } from '../../copy/copy-into.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { isServerFailure } from '../../database/sqlstate-meanings.ts'
import { AppError } from '../../errors.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { type ArchiveCopy, type ArchiveTable, lineOf } from './archive-lists.ts'
import { loadFailure } from './load-failure.ts'

/** What one statement loads. */
interface RowsToCopy {
  readonly copy: ArchiveCopy
  /** How many of its rows come before these. */
  readonly skipped: number
  /** Whether this transaction has made the table, or has emptied it. */
  readonly isNew: boolean
}

/**
 * Loads rows of a table.
 *
 * @param bytes these rows.
 * @returns how many PostgreSQL took. @throws {AppError} ARCHIVE_INVALID for a value that it refused.
 */
export async function copyRows(
  client: pg.PoolClient,
  table: ArchiveTable,
  rows: RowsToCopy,
  bytes: AsyncIterable<BorrowedBytes>,
): Promise<number> {
  const { format } = rows.copy
  const text = format === 'binary' ? framed(bytes) : bytes
  return copyInto(client, copyStatement(table, { format, isNew: rows.isNew }), text).catch((error: unknown) => {
    throw valueFault(error, table.name, rows)
  })
}

/** Does all that COPY does for a table before its first row. */
export const copyNoRows = (client: pg.PoolClient, table: Pick<ArchiveTable, 'name' | 'columns'>): Promise<number> =>
  copyInto(client, copyStatement(table, { format: 'text', isNew: true }), nothing())

/** FREEZE spares the first readers, and a later vacuum, writing every row again; only rows of a new table can have it. */
const copyStatement = (
  { name, columns }: Pick<ArchiveTable, 'name' | 'columns'>,
  { format, isNew }: Pick<ArchiveCopy, 'format'> & Pick<RowsToCopy, 'isNew'>,
): string =>
  `COPY ${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) FROM STDIN WITH (FREEZE ${isNew}, FORMAT ${format})`

/** Loads the rows, which have no values, of a table without columns: COPY has no words for them. */
export async function insertEmptyRows(client: pg.PoolClient, { name, rows }: ArchiveTable): Promise<number> {
  const insert = `INSERT INTO ${quoteIdentifier(name)} SELECT FROM pg_catalog.generate_series(1, $1::int8)`
  const { rowCount } = await client.query(insert, [rows]).catch((error: unknown) => {
    throw loadFailure(error)
  })
  return rowCount ?? 0
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}

async function* framed(rows: AsyncIterable<BorrowedBytes>): AsyncGenerator<BorrowedBytes, void, undefined> {
  yield new BorrowedBytes(BINARY_HEADER)
  yield* rows
  yield new BorrowedBytes(BINARY_TRAILER)
}

/** What PostgreSQL says about a value, with the line of the archive, and without the value. */
function valueFault(error: unknown, table: string, { copy, skipped }: RowsToCopy): unknown {
  if (!(error instanceof pg.DatabaseError) || isServerFailure(error)) return loadFailure(error)
  // A check can wait for a lock; what is loaded in place waits for nobody for long.
  if (sqlState(error) === SQLSTATE.lockNotAvailable) return loadFailure(error)
  const [, number, column] = /^, line (\d+)(?:, column ([^:]*))?/.exec(locationOf(error, table)) ?? []
  // Whatever is said about a column is said about its value, such as that there is no function of that name.
  if (number === undefined || !(column !== undefined || /^2[23]/.test(error.code ?? ''))) return loadFailure(error)
  const line = lineOf(copy, skipped + Number(number) - 1)
  const where = column === undefined ? `table "${table}"` : `column "${column}" of table "${table}"`
  const detail = `${where} does not take the value (${reason(error)})`
  return new AppError('ARCHIVE_INVALID', `line ${line}: ${detail}`, { faults: [{ line, detail }], cause: error })
}

/** PostgreSQL's own note of the location, from behind the table's name on: that could read like a location itself. */
function locationOf({ where = '' }: pg.DatabaseError, table: string): string {
  const copied = `COPY ${table}`
  const at = where.indexOf(`${copied}, line `)
  return at < 0 ? '' : where.slice(at + copied.length)
}

/** PostgreSQL's name for the kind of trouble; its messages quote the value. */
function reason(error: pg.DatabaseError): string {
  const constraint = error.constraint === undefined ? '' : ` ${error.constraint}`
  const ofDomain = error.constraint !== undefined && error.dataType !== undefined
  const domain = ofDomain ? `, of domain ${error.dataType}: a check that reads tables does not find all rows yet` : ''
  return `SQLSTATE ${error.code}${constraint}${domain}`
}
