import pg from 'pg'
import { BINARY_HEADER, BINARY_TRAILER } from '../../archive/binary/rows.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { isServerTrouble } from '../../database/sqlstate-meanings.ts'
import { AppError } from '../../errors.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import type { PlannedPart, PlannedTable } from './archive-plan.ts'
import { copyInto } from './copy-into.ts'
import { loadFailure } from './load-failure.ts'
import { openLoadingSession, type SessionOptions } from './loading-session.ts'

/** Loads one stage in one transaction of the project's own login. */
export interface StageLoader {
  /** Runs one statement; a text of several is refused, so that SQL from a file cannot smuggle in another. */
  execute(statement: string): Promise<void>
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>
  /**
   * Loads rows of a table.
   *
   * @param bytes the rows of the part.
   * @returns how many PostgreSQL took. @throws {AppError} ARCHIVE_INVALID for a value that it refused.
   */
  copy(table: PlannedTable, part: PlannedPart, bytes: AsyncIterable<BorrowedBytes>): Promise<number>
  /** Loads the rows, which have no values, of a table without columns: COPY has no words for them. */
  insertEmpty(table: PlannedTable): Promise<number>
  commit(): Promise<void>
  /** Undoes everything and gives the session up; does nothing after `commit`. */
  abandon(): void
}

/**
 * Opens a session of the project's own login, and a transaction in it, for loading into one schema.
 *
 * @param pool of the project's own login.
 * @param schemaName where names without a schema are looked up, and nowhere else.
 * @param session its signal ends the session at once: whatever runs in it is undone.
 */
export async function openStageLoader(
  pool: pg.Pool,
  schemaName: string,
  session: SessionOptions,
): Promise<StageLoader> {
  const { client, close } = await openLoadingSession(pool, session)
  try {
    await client.query('BEGIN')
    await setAll(client, { search_path: quoteIdentifier(schemaName), lock_timeout: LOCK_TIMEOUT, jit: 'off' })
  } catch (error) {
    close(new Error('the import did not begin', { cause: error }))
    throw error
  }

  return {
    async execute(statement) {
      await client.query({ text: statement, queryMode: 'extended' } as pg.QueryConfig)
    },
    async query<Row>(sql: string, parameters: readonly unknown[] = []) {
      const { rows } = await client.query(sql, [...parameters])
      return rows as Row[]
    },
    copy: (table, part, bytes) => copyPart(client, table, part, bytes),
    insertEmpty: (table) => insertEmptyRows(client, table),
    async commit() {
      await client.query('COMMIT')
      close()
    },
    abandon: () => close(new Error('the import was given up')),
  }
}

/** Nobody else sees what is loaded beside; but the schema, or a type of another, can be held. */
const LOCK_TIMEOUT = '10s'

async function setAll(client: pg.PoolClient, settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await client.query('SELECT pg_catalog.set_config($1, $2, true)', [name, value])
  }
}

async function copyPart(
  client: pg.PoolClient,
  { name, columns }: PlannedTable,
  { format, firstLine }: PlannedPart,
  bytes: AsyncIterable<BorrowedBytes>,
): Promise<number> {
  // FREEZE spares the first readers, and a later vacuum, writing every row again.
  const copy =
    `COPY ${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) ` +
    `FROM STDIN WITH (FREEZE, FORMAT ${format})`
  return copyInto(client, copy, format === 'binary' ? framed(bytes) : bytes).catch((error: unknown) => {
    throw refusal(error, name, firstLine)
  })
}

async function* framed(rows: AsyncIterable<BorrowedBytes>): AsyncGenerator<BorrowedBytes, void, undefined> {
  yield new BorrowedBytes(BINARY_HEADER)
  yield* rows
  yield new BorrowedBytes(BINARY_TRAILER)
}

async function insertEmptyRows(client: pg.PoolClient, { name, rows }: PlannedTable): Promise<number> {
  const insert = `INSERT INTO ${quoteIdentifier(name)} SELECT FROM pg_catalog.generate_series(1, $1::int8)`
  const { rowCount } = await client.query(insert, [rows]).catch((error: unknown) => {
    throw loadFailure(error)
  })
  return rowCount ?? 0
}

/** What PostgreSQL says about a value, with the line of the archive, and without the value. */
function refusal(error: unknown, table: string, firstLine: number): unknown {
  if (!(error instanceof pg.DatabaseError) || isServerTrouble(error)) return loadFailure(error)
  const [, number, column] = /^, line (\d+)(?:, column ([^:]*))?/.exec(placeOf(error, table)) ?? []
  // Whatever is said about a column is said about its value, such as that there is no function of that name.
  if (number === undefined || !(column !== undefined || /^2[23]/.test(error.code ?? ''))) return loadFailure(error)
  const line = firstLine + Number(number) - 1
  const where = column === undefined ? `table "${table}"` : `column "${column}" of table "${table}"`
  const detail = `${where} does not take the value (${reason(error)})`
  return new AppError('ARCHIVE_INVALID', `line ${line}: ${detail}`, { faults: [{ line, detail }], cause: error })
}

/** PostgreSQL's own note of the place, from behind the table's name on: that could read like a place itself. */
function placeOf({ where = '' }: pg.DatabaseError, table: string): string {
  const copied = `COPY ${table}`
  const at = where.indexOf(`${copied}, line `)
  return at < 0 ? '' : where.slice(at + copied.length)
}

/** PostgreSQL's name for the kind of trouble; its messages quote the value. */
function reason(error: pg.DatabaseError): string {
  const constraint = error.constraint === undefined ? '' : ` ${error.constraint}`
  return `SQLSTATE ${error.code}${constraint}`
}
