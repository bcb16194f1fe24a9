import type pg from 'pg'
import { quoteIdentifier, quoteLiteral } from '../database/quoting.ts'
import { sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'

export interface TransactionOptions {
  readonly mode: 'READ ONLY' | 'READ WRITE'
  readonly schemaName: string
  /** How long each statement may take. */
  readonly timeoutMs: number
  /** In whose name it writes, for the event log: the id of a token. */
  readonly tokenId?: string | undefined
}

/**
 * Runs `use` in a transaction of a stage's own login, in which names without a schema are the stage's. Every statement has a snapshot of its own, so
 * whatever has to be of one moment has to be in one statement.
 *
 * A read does not wait for the end of its transaction: there is nothing to be lost.
 *
 * @throws {AppError} QUERY_TIMED_OUT where a statement takes too long. Whatever `use` throws; nothing is changed then.
 */
export async function inStageTransaction<T>(
  pool: pg.Pool,
  { mode, schemaName, timeoutMs, tokenId }: TransactionOptions,
  use: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    // One message: a round trip for each of them would take longer than many a query.
    await client.query(
      `BEGIN ISOLATION LEVEL READ COMMITTED ${mode}; SET LOCAL statement_timeout = ${timeoutMs};
       SET LOCAL search_path = ${quoteIdentifier(schemaName)}${tokenId === undefined ? '' : `; SET LOCAL wharf.token_id = ${quoteLiteral(tokenId)}`}`,
    )
    const result = await use(client)
    if (mode === 'READ ONLY') {
      void end(client, 'COMMIT')
      return result
    }
    await client.query('COMMIT')
    client.release()
    return result
  } catch (error) {
    await end(client, 'ROLLBACK')
    throw sqlState(error) === QUERY_CANCELLED ? timedOut(timeoutMs, error) : error
  }
}

const QUERY_CANCELLED = '57014'

/** Gives the connection back; one that can't end its transaction is of no use to anybody. */
async function end(client: pg.PoolClient, command: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  const broken = await client.query(command).then(
    () => false,
    () => true,
  )
  client.release(broken)
}

const timedOut = (timeoutMs: number, cause: unknown): AppError =>
  new AppError(
    'QUERY_TIMED_OUT',
    `the query took longer than ${timeoutMs} ms; ask for fewer rows, or for less in each`,
    {
      cause,
    },
  )
