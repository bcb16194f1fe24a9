import type pg from 'pg'
import { quoteLiteral } from '../database/quoting.ts'
import { readAlone } from '../database/read-alone.ts'
import { resetSession } from '../database/session-client.ts'
import { endAtDeadline, type SessionDeadline } from '../database/session-deadline.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'
import { searchStage, stagePath } from '../projects/stage-path.ts'
import { connectFor } from './table-shares.ts'

export interface TransactionOptions {
  readonly mode: 'READ ONLY' | 'READ WRITE'
  readonly schemaName: string
  /** Where names are looked for behind that. */
  readonly extensionSchemas: readonly string[]
  /** For whose rows a connection is taken. */
  readonly table: string
  /** How long each statement may take. */
  readonly timeoutMs: number
  /** In whose name it writes, for the event log: the id of a token. */
  readonly tokenId?: string | undefined
  /**
   * Whether it calls functions of the project by name. They may leave statements prepared in the session, and where they are VOLATILE, each
   * statement of theirs would have a snapshot of its own.
   */
  readonly callsFunctions?: boolean
  /** In which times are read and written. */
  readonly timezone?: string | undefined
  /** Whether what was written is taken back, once all of it has been checked. */
  readonly rollsBack?: boolean
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
  options: TransactionOptions,
  use: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const { mode, schemaName, extensionSchemas, table, timeoutMs, tokenId, timezone, rollsBack, callsFunctions } = options
  const client = await connectFor(pool, table)
  const deadline = endAtDeadline(pool, client, sessionLimit(timeoutMs))
  const isOfOneMoment = callsFunctions === true && mode === 'READ ONLY'
  try {
    // One message: a round trip for each of them would take longer than many a query.
    await client.query(
      `BEGIN ISOLATION LEVEL ${isOfOneMoment ? 'REPEATABLE READ' : 'READ COMMITTED'} ${mode}; SET LOCAL statement_timeout = ${timeoutMs};
       SET LOCAL lock_timeout = ${lockTimeout(timeoutMs)};
       ${searchStage(schemaName, extensionSchemas)}${setLocal('wharf.token_id', tokenId)}${setLocal('TimeZone', timezone)}`,
    )
    const result = await use(client)
    // A function that a read called may have changed settings of the session: rolled back, they are as before.
    if (mode === 'READ ONLY') void end(client, deadline, callsFunctions)
    else if (rollsBack) await end(client, deadline, true)
    else {
      await client.query('COMMIT')
      void giveBack(client, deadline, resetSession(client))
    }
    return result
  } catch (error) {
    await end(client, deadline, callsFunctions)
    throw deadline.isOver() ? timedOut(timeoutMs, error) : timeFailure(error, timeoutMs)
  } finally {
    deadline.stop()
  }
}

const setLocal = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `; SET LOCAL ${name} = ${quoteLiteral(value)}`

/**
 * Runs one statement that reads, as in a transaction of its own that is read only, in one round trip.
 *
 * @param options.structure of the stage's version, by which the statement was planned.
 * @throws {AppError} QUERY_TIMED_OUT where it takes too long. What PostgreSQL says.
 */
export async function readInStage<Row>(
  pool: pg.Pool,
  {
    schemaName,
    extensionSchemas,
    table,
    timeoutMs,
    structure,
    timezone,
  }: Omit<TransactionOptions, 'mode' | 'tokenId'> & { readonly structure: string },
  { text, values }: { readonly text: string; readonly values: readonly unknown[] },
): Promise<readonly Row[]> {
  const client = await connectFor(pool, table)
  const settings = {
    search_path: stagePath(schemaName, extensionSchemas),
    statement_timeout: String(timeoutMs),
    lock_timeout: String(lockTimeout(timeoutMs)),
  }
  const ownSettings = timezone === undefined ? undefined : { TimeZone: timezone }
  const deadline = endAtDeadline(pool, client, sessionLimit(timeoutMs))
  try {
    return await readAlone<Row>(client, { text, values, settings, ownSettings, meaning: structure }, deadline.isOver)
  } catch (error) {
    throw deadline.isOver() ? timedOut(timeoutMs, error) : timeFailure(error, timeoutMs)
  } finally {
    deadline.stop()
  }
}

const QUERY_CANCELLED = '57014'

/** Beyond what its statements may take, each of which PostgreSQL cancels: the statement, a count of rows, and the commit. */
const sessionLimit = (timeoutMs: number): number => 3 * timeoutMs + 1_000

/** A request that waits for a lock keeps a connection that others could use. */
const lockTimeout = (timeoutMs: number): number => Math.ceil(timeoutMs / 2)

function timeFailure(error: unknown, timeoutMs: number): unknown {
  if (sqlState(error) === QUERY_CANCELLED) return timedOut(timeoutMs, error)
  if (sqlState(error) === SQLSTATE.lockNotAvailable) return lockedOut(lockTimeout(timeoutMs), error)
  return error
}

const lockedOut = (waitedMs: number, cause: unknown): AppError =>
  new AppError(
    'QUERY_TIMED_OUT',
    `the query waited longer than ${waitedMs} ms for a lock that somebody else holds, by a change of structure or a ` +
      'transaction of plain SQL; try again later',
    { cause },
  )

/** Locks of the session outlast its transactions, and the project's own code may wait for them. */
const end = (client: pg.PoolClient, deadline: SessionDeadline, callsFunctions = false): Promise<void> => {
  const rolledBack = client.query('ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()')
  return giveBack(client, deadline, callsFunctions ? rolledBack.then(() => resetSession(client)) : rolledBack)
}

/** Gives the connection back when it is as it was; one that can't be, or is being ended, is of no use to anybody. */
async function giveBack(client: pg.PoolClient, { isOver }: SessionDeadline, restored: Promise<unknown>): Promise<void> {
  const [{ status }] = await Promise.allSettled([restored])
  client.release(status === 'rejected' || isOver())
}

const timedOut = (timeoutMs: number, cause: unknown): AppError =>
  new AppError(
    'QUERY_TIMED_OUT',
    `the query took longer than ${timeoutMs} ms; ask for fewer rows, or for less in each`,
    {
      cause,
    },
  )
