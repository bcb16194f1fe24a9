import type pg from 'pg'
import { AppError } from '../errors.ts'
import { preparedQuery, TIMEOUT_MS, type TimedQuery } from './prepared-query.ts'
import { openSession, type SingleSessionOptions } from './session-client.ts'

const READ_ONLY_SQL = `SELECT pg_catalog.current_setting('transaction_read_only') = 'on' AS closed`
const READ_ONLY = { name: 'wharf-takes-writes', text: READ_ONLY_SQL }

interface Row {
  readonly closed: boolean
}

/**
 * Asks as Wharf's own login whether the database takes writes: a project's login could set that for itself.
 *
 * @param pool of Wharf's own login.
 * @throws {AppError} DATABASE_READ_ONLY where the server is a standby, or the database was closed to writes
 *   (`default_transaction_read_only`).
 */
export async function assertTakesWrites(pool: pg.Pool): Promise<void> {
  const [row] = await preparedQuery<Row>(pool, READ_ONLY, [])
  if (row?.closed) throw readOnly()
}

/**
 * Asks the same over a connection that is opened for it: one that is open already says nothing about whether another
 * can be had.
 *
 * @throws {AppError} DATABASE_READ_ONLY. Whatever keeps the connection from being opened.
 */
export async function assertOpensAndTakesWrites(
  connectionString: string,
  session: SingleSessionOptions,
): Promise<void> {
  const client = await openSession(connectionString, session)
  try {
    const timed: TimedQuery = { text: READ_ONLY_SQL, query_timeout: session.connectTimeoutMs ?? TIMEOUT_MS }
    const { rows } = await client.query<Row>(timed)
    if (rows[0]?.closed) throw readOnly()
  } finally {
    // Whether it ends in order is nobody's concern.
    void Promise.allSettled([client.end()])
  }
}

const readOnly = (): AppError =>
  new AppError(
    'DATABASE_READ_ONLY',
    'the database takes no writes at present, and nothing was changed; try again later',
    { retryAfterSeconds: 30 },
  )
