import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams'
import type { RowBatch } from '../../archive/archive-reader.ts'
import type { RowValue } from '../../archive/lines.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { AppError } from '../../errors.ts'
import { TEXT_FORM_SETTINGS } from '../value-expressions.ts'
import { toCopyText } from './copy-text.ts'
import { isServerTrouble, loadFailure } from './load-failure.ts'
import { openLoadingSession, type SessionOptions } from './loading-session.ts'

/** Loads one stage in one transaction of the project's own login. */
export interface StageLoader {
  /** Runs one statement; a text of several is refused, so that SQL from a file cannot smuggle in another. */
  execute(statement: string): Promise<void>
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** Begins the rows of a table. */
  beginRows(table: string, columns: readonly string[]): void
  addRows(batch: RowBatch): Promise<void>
  /** Ends the rows of the table. @returns how many PostgreSQL took. @throws {AppError} ARCHIVE_INVALID for a value that it refused. */
  endRows(): Promise<number>
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
    await setAll(client, { ...TEXT_FORM_SETTINGS, ...LOADING_SETTINGS, search_path: quoteIdentifier(schemaName) })
  } catch (error) {
    close(new Error('the import did not begin', { cause: error }))
    throw error
  }

  let sink: RowSink | undefined
  return {
    async execute(statement) {
      await client.query({ text: statement, queryMode: 'extended' } as pg.QueryConfig)
    },
    async query<Row>(sql: string, parameters: readonly unknown[] = []) {
      const { rows } = await client.query(sql, [...parameters])
      return rows as Row[]
    },
    beginRows(table, columns) {
      sink = columns.length > 0 ? new TableCopy(client, table, columns) : new EmptyRows(client, table)
    },
    async addRows(batch) {
      await sink?.write(batch.line, batch.rows)
    },
    async endRows() {
      const rows = (await sink?.end()) ?? 0
      sink = undefined
      return rows
    },
    async commit() {
      await client.query('COMMIT')
      close()
    },
    abandon: () => close(new Error('the import was given up')),
  }
}

const LOADING_SETTINGS = { statement_timeout: '0', idle_in_transaction_session_timeout: '0', jit: 'off' }

async function setAll(client: pg.PoolClient, settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await client.query('SELECT pg_catalog.set_config($1, $2, true)', [name, value])
  }
}

/** Where the rows of one table go. */
interface RowSink {
  /** @param line of the archive at which these rows begin. */
  write(line: number, rows: readonly (readonly RowValue[])[]): Promise<void>
  /** @returns how many rows PostgreSQL took. */
  end(): Promise<number>
}

/** Rows without values, of a table without columns: COPY has no words for them. */
class EmptyRows implements RowSink {
  readonly #client: pg.PoolClient
  readonly #table: string
  #rows = 0

  constructor(client: pg.PoolClient, table: string) {
    this.#client = client
    this.#table = table
  }

  async write(_line: number, rows: readonly unknown[]): Promise<void> {
    this.#rows += rows.length
  }

  async end(): Promise<number> {
    const insert = `INSERT INTO ${quoteIdentifier(this.#table)} SELECT FROM pg_catalog.generate_series(1, $1::int8)`
    const { rowCount } = await this.#client.query(insert, [this.#rows]).catch((error: unknown) => {
      throw loadFailure(error)
    })
    return rowCount ?? 0
  }
}

/** Rows on their way through COPY. */
class TableCopy implements RowSink {
  readonly #table: string
  readonly #stream: CopyStreamQuery
  readonly #done: Promise<void>
  /** Line of the archive at which the table's rows begin: they stand one after the other. */
  #firstLine = 0

  constructor(client: pg.PoolClient, table: string, columns: readonly string[]) {
    this.#table = table
    const names = columns.map(quoteIdentifier).join(', ')
    // FREEZE spares the first readers, and a later vacuum, writing every row again.
    this.#stream = client.query(copyFrom(`COPY ${quoteIdentifier(table)} (${names}) FROM STDIN WITH (FREEZE)`))
    this.#done = finished(this.#stream)
    // Awaited in `write` and `end`; failing between them is no unhandled rejection.
    void Promise.allSettled([this.#done])
  }

  async write(line: number, rows: readonly (readonly RowValue[])[]): Promise<void> {
    if (this.#firstLine === 0) this.#firstLine = line
    if (this.#stream.write(toCopyText(rows))) return
    await Promise.race([once(this.#stream, 'drain'), this.#done]).catch((error: unknown) => {
      throw this.#refusal(error)
    })
  }

  async end(): Promise<number> {
    this.#stream.end()
    await this.#done.catch((error: unknown) => {
      throw this.#refusal(error)
    })
    return this.#stream.rowCount
  }

  /** What PostgreSQL says about a value, with the line of the archive, and without the value. */
  #refusal(error: unknown): unknown {
    if (!(error instanceof pg.DatabaseError) || isServerTrouble(error)) return loadFailure(error)
    const [, number, column] = /^, line (\d+)(?:, column ([^:]*))?/.exec(this.#placeOf(error)) ?? []
    // Whatever is said about a column is said about its value, such as that there is no function of that name.
    if (number === undefined || !(column !== undefined || /^2[23]/.test(error.code ?? ''))) return loadFailure(error)
    const line = this.#firstLine + Number(number) - 1
    const where = column === undefined ? `table "${this.#table}"` : `column "${column}" of table "${this.#table}"`
    const detail = `${where} does not take the value (${reason(error)})`
    return new AppError('ARCHIVE_INVALID', `line ${line}: ${detail}`, { faults: [{ line, detail }], cause: error })
  }

  /** PostgreSQL's own note of the place, from behind the table's name on: that could read like a place itself. */
  #placeOf({ where = '' }: pg.DatabaseError): string {
    const table = `COPY ${this.#table}`
    const at = where.indexOf(`${table}, line `)
    return at < 0 ? '' : where.slice(at + table.length)
  }
}

/** PostgreSQL's name for the kind of trouble; its messages quote the value. */
function reason(error: pg.DatabaseError): string {
  const constraint = error.constraint === undefined ? '' : ` ${error.constraint}`
  return `SQLSTATE ${error.code}${constraint}`
}
