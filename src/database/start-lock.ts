import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { type AppError, databaseUnavailable } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { tableExists, thenCommit } from './clients.ts'
import { SQLSTATE, sqlState } from './sqlstate.ts'

export interface StartLockOptions {
  readonly logger: Logger
  /** How long another process may keep this one waiting, in milliseconds. */
  readonly patienceMs?: number
}

export const DEFAULT_PATIENCE_MS = 120_000

/** How long a process waits before it says so, in milliseconds. */
const SAYS_SO_AFTER_MS = 2_000

const POLL_MS = 200

/** How often the lock's table is made again where another process makes it at the same moment. */
const MAX_ATTEMPTS = 10

/**
 * Runs `use` while no other process prepares the database. The lock is a row of a table that only Wharf's own login can
 * reach; PostgreSQL gives it free as soon as this process, or its connection, is gone.
 *
 * @param client in no transaction. `use` may use it too: its statements are then committed together.
 * @throws {AppError} DATABASE_UNAVAILABLE where another process takes too long. Whatever `use` throws.
 */
export async function withStartLock<T>(
  client: pg.ClientBase,
  { logger, patienceMs = DEFAULT_PATIENCE_MS }: StartLockOptions,
  use: () => Promise<T>,
): Promise<T> {
  await makeTable(client)
  const sinceMs = performance.now()
  for (let hasSaidSo = false; !(await tryToLock(client)); await delay(POLL_MS)) {
    const waitedMs = performance.now() - sinceMs
    if (waitedMs > patienceMs) throw stillPreparing(patienceMs)
    if (waitedMs < SAYS_SO_AFTER_MS || hasSaidSo) continue
    hasSaidSo = true
    logger.warn({ patienceMs }, 'another process of Wharf is preparing this database; waiting for it')
  }
  return thenCommit(client, use)
}

/** In a schema of its own: the others are not there yet when a new database is migrated. */
async function makeTable(client: pg.ClientBase): Promise<void> {
  if (await tableExists(client, 'wharf_start.lock')) return
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(`
        CREATE SCHEMA IF NOT EXISTS wharf_start;
        CREATE TABLE IF NOT EXISTS wharf_start.lock (id integer PRIMARY KEY);
        INSERT INTO wharf_start.lock VALUES (1) ON CONFLICT DO NOTHING`)
      return
    } catch (error) {
      if (!isMadeByAnother(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** IF NOT EXISTS does not see what another transaction is about to make: that shows in the catalogs' own unique keys. */
const isMadeByAnother = (error: unknown): boolean => /^(23505|42P06|42P07|42710)$/.test(sqlState(error) ?? '')

/** @returns whether the lock is held now, in a transaction that has begun. */
async function tryToLock(client: pg.ClientBase): Promise<boolean> {
  await client.query('BEGIN')
  try {
    await client.query('SELECT FROM wharf_start.lock FOR UPDATE NOWAIT')
    return true
  } catch (error) {
    await client.query('ROLLBACK')
    if (sqlState(error) === SQLSTATE.lockNotAvailable) return false
    throw error
  }
}

const stillPreparing = (patienceMs: number): AppError =>
  databaseUnavailable(
    `another process of Wharf has been preparing this database for more than ${Math.round(patienceMs / 1_000)} s: ` +
      'start again when it has ended, or end it where it hangs (its session is called "wharf start" or "wharf ' +
      'migrations" in pg_stat_activity)',
  )
