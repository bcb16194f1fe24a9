import type pg from 'pg'
import type { Database } from '../database/database.ts'
import { nameSession } from '../database/session-name.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'
import { within } from '../lib/within.ts'

/** How long rows that are being written over HTTP may keep an import waiting, in milliseconds. */
const MAX_WAIT_FOR_WRITES_MS = 30_000

/** How long giving the locks back may take, in milliseconds; where nobody answers, they go with the session. */
const MAX_UNLOCKING_MS = 5_000

/** After how many seconds an import that was refused is worth trying again. */
const RETRY_SECONDS = 10

/**
 * Runs `use` while no import, undo, sweep or change of structure of somebody else's can touch these stages, whichever
 * process it is in.
 *
 * The locks are rows of Wharf's own (`system.stage_lock`), and those of a transaction that is open as long as `use`
 * runs: PostgreSQL gives them free as soon as this process, or its connection, is gone. `use` gets a signal that says
 * so, since without them it must not go on. Like every transaction that has locked a row, this one keeps VACUUM from
 * removing what was deleted since it began; the one that loads an import's rows does the same for as long.
 *
 * @param databases `imports` lends a connection for as long as `use` takes, `system` another for a moment. Were they one
 *   pool, those who hold one could all wait for a second.
 * @param sessionName what PostgreSQL calls that session meanwhile (`application_name`).
 * @throws {AppError} CONFLICT where another has one of them, or where rows are being written for too long; NOT_FOUND
 *   where a stage has just been deleted.
 */
export const withStageLocks = <T>(
  { imports, system }: { readonly imports: Database; readonly system: Database },
  stageIds: readonly string[],
  use: (lost: AbortSignal) => Promise<T>,
  { sessionName }: { readonly sessionName?: string | undefined } = {},
): Promise<T> =>
  whileLocked(imports, sessionName, use, async (client) => {
    await lockImports(client, stageIds)
    await closeToWrites(system.pool, client, stageIds)
  })

/**
 * The same for what touches only what imports have left beside the stages: rows may be written meanwhile.
 *
 * @throws {AppError} CONFLICT where another has one of them; NOT_FOUND where a stage has just been deleted.
 */
export const withImportsLocked = <T>(
  { imports }: { readonly imports: Database },
  stageIds: readonly string[],
  use: (lost: AbortSignal) => Promise<T>,
): Promise<T> => whileLocked(imports, undefined, use, (client) => lockImports(client, stageIds))

async function whileLocked<T>(
  imports: Database,
  sessionName: string | undefined,
  use: (lost: AbortSignal) => Promise<T>,
  lock: (client: pg.PoolClient) => Promise<void>,
): Promise<T> {
  const client = await imports.pool.connect()
  const lost = new AbortController()
  const onError = (error: Error): void => lost.abort(error)
  client.on('error', onError)
  try {
    if (sessionName !== undefined) await nameSession(client, sessionName)
    await client.query('BEGIN')
    await lock(client)
    return await use(lost.signal)
  } finally {
    // Before anybody learns that `use` has ended: they may ask for the next import before PostgreSQL has ended the session.
    const unlocked = client.query('COMMIT').catch(() => undefined)
    await within(MAX_UNLOCKING_MS, unlocked, () => undefined)
    client.off('error', onError)
    client.release(true)
  }
}

/** Nobody ever waits here. */
async function lockImports(client: pg.PoolClient, stageIds: readonly string[]): Promise<void> {
  const { rowCount } = await client
    .query(`${LOCK_ROWS} AND kind = 'import' ORDER BY stage_id FOR UPDATE NOWAIT`, [stageIds])
    .catch((error: unknown) => {
      throw sqlState(error) === SQLSTATE.lockNotAvailable ? underWay() : error
    })
  // Rows of stages that are gone are there until they are swept.
  const existing = await client.query('SELECT FROM system.stage_state WHERE stage_id = ANY ($1::uuid[])', [stageIds])
  const wanted = new Set(stageIds).size
  if (rowCount !== wanted || existing.rowCount !== wanted) {
    throw new AppError('NOT_FOUND', 'the stage has just been deleted')
  }
}

/** Removes the rows of stages that are gone, but for those that somebody has still locked. */
export async function sweepStageLocks({ prisma }: Database): Promise<void> {
  await prisma.$executeRaw`
    DELETE FROM system.stage_lock WHERE (stage_id, kind) IN (
      SELECT stage_id, kind FROM system.stage_lock
      WHERE NOT EXISTS (SELECT FROM system.stage_state WHERE stage_state.stage_id = stage_lock.stage_id)
      FOR UPDATE SKIP LOCKED)`
}

const LOCK_ROWS = 'SELECT FROM system.stage_lock WHERE stage_id = ANY ($1::uuid[])'

const LOCK_WRITES = `${LOCK_ROWS} AND kind = 'write' ORDER BY stage_id FOR UPDATE`

/**
 * Waits for those who are writing rows to the stages over HTTP. From the moment of asking on, nobody else begins to:
 * those who share the lock of a row would go before somebody who wants it alone, so they are told not to ask for it.
 *
 * @throws {AppError} CONFLICT where that takes too long.
 */
async function closeToWrites(pool: pg.Pool, client: pg.PoolClient, stageIds: readonly string[]): Promise<void> {
  await client.query('SAVEPOINT before_writes')
  const isLocked = await client.query(`${LOCK_WRITES} NOWAIT`, [stageIds]).then(() => true, unlessLocked)
  if (isLocked) return
  await client.query('ROLLBACK TO SAVEPOINT before_writes')
  await pool.query(CLOSE, [stageIds, 2 * MAX_WAIT_FOR_WRITES_MS])
  try {
    await client.query(`SET LOCAL lock_timeout = ${MAX_WAIT_FOR_WRITES_MS}`)
    const isLockedNow = await client.query(LOCK_WRITES, [stageIds]).then(() => true, unlessLocked)
    if (!isLockedNow) throw writtenForTooLong()
    // Seen by others once the locks are given back.
    await client.query(REOPEN, [stageIds])
  } catch (error) {
    // What is locked already would keep the other connection waiting.
    await client.query('ROLLBACK TO SAVEPOINT before_writes').catch(() => undefined)
    await Promise.allSettled([pool.query(REOPEN, [stageIds])])
    throw error
  }
}

/** For a while only, so that a process that dies closes no stage for good. */
const CLOSE = `
  UPDATE system.stage_lock SET closed_until = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
  WHERE stage_id = ANY ($1::uuid[]) AND kind = 'write'`

const REOPEN = `UPDATE system.stage_lock SET closed_until = NULL WHERE stage_id = ANY ($1::uuid[]) AND kind = 'write'`

function unlessLocked(error: unknown): false {
  if (sqlState(error) === SQLSTATE.lockNotAvailable) return false
  throw error
}

const underWay = (): AppError =>
  new AppError(
    'CONFLICT',
    'an import or a change of structure of this stage is under way; try again when it has ended',
    { retryAfterSeconds: RETRY_SECONDS },
  )

const writtenForTooLong = (): AppError =>
  new AppError('CONFLICT', 'rows of the stage are being written for too long; try again later', {
    retryAfterSeconds: RETRY_SECONDS,
  })
