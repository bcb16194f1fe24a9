import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { stageImportLock, stageWriteLock } from '../database/advisory-locks.ts'
import type { Database } from '../database/database.ts'
import { nameSession } from '../database/session-name.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'

/** How long rows that are being written over HTTP may keep an import waiting, in milliseconds. */
const MAX_WAIT_FOR_WRITES_MS = 30_000

/** How long giving the locks back may take, in milliseconds; where nobody answers, they go with the session. */
const MAX_UNLOCKING_MS = 5_000

/**
 * Runs `use` while no import, undo, sweep or change of structure of somebody else's can touch these stages, whichever
 * process it is in.
 *
 * The locks are a session's: PostgreSQL gives them free as soon as this process, or its connection, is gone. `use` gets
 * a signal that says so, since without them it must not go on.
 *
 * @param snapshots lends a connection for as long as `use` takes.
 * @param sessionName what PostgreSQL calls that session meanwhile (`application_name`).
 * @throws {AppError} CONFLICT where another has one of them.
 */
export async function withStageLocks<T>(
  snapshots: Database,
  stageIds: readonly string[],
  use: (lost: AbortSignal) => Promise<T>,
  { sessionName }: { readonly sessionName?: string | undefined } = {},
): Promise<T> {
  const client = await snapshots.pool.connect()
  const lost = new AbortController()
  const onError = (error: Error): void => lost.abort(error)
  client.on('error', onError)
  try {
    if (sessionName !== undefined) await nameSession(client, sessionName)
    // In one order for everybody, though nobody ever waits.
    for (const stageId of stageIds.toSorted()) await lock(client, stageId)
    return await use(lost.signal)
  } finally {
    // Before anybody learns that `use` has ended: they may ask for the next import before PostgreSQL has ended the session.
    await Promise.race([
      client.query('SELECT pg_advisory_unlock_all()').catch(() => undefined),
      delay(MAX_UNLOCKING_MS, undefined, { ref: false }),
    ])
    client.off('error', onError)
    client.release(true)
  }
}

async function lock(client: pg.PoolClient, stageId: string): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    stageImportLock(stageId),
  ])
  if (rows[0]?.locked) return closeToWrites(client, stageId)
  throw new AppError(
    'CONFLICT',
    'an import or a change of structure of this stage is under way; try again when it has ended',
    {
      retryAfterSeconds: 10,
    },
  )
}

/**
 * Waits for those who are writing rows to the stage over HTTP. From the moment of asking on, nobody else begins to.
 *
 * @throws {AppError} CONFLICT where that takes too long.
 */
async function closeToWrites(client: pg.PoolClient, stageId: string): Promise<void> {
  const lock = `SET lock_timeout = ${MAX_WAIT_FOR_WRITES_MS}; SELECT pg_advisory_lock(${stageWriteLock(stageId)})`
  await client.query(lock).catch((error: unknown) => {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    throw new AppError('CONFLICT', 'rows of the stage are being written for too long; try again later', {
      retryAfterSeconds: 10,
    })
  })
}
