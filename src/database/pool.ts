import pg from 'pg'
import type { Logger } from '../logger.ts'
import { ByteTextClient } from './byte-text-client.ts'
import type { DatabaseOptions } from './database.ts'
import { forgetResults } from './forget-results.ts'
import { RestoringPool } from './restoring-pool.ts'

/** How long a query waits for a connection before it fails, in milliseconds. */
const CONNECTION_TIMEOUT_MS = 10_000

/** How long an unused connection is kept, in milliseconds. */
const IDLE_TIMEOUT_MS = 30_000

/**
 * A pool of connections, opened when they are first needed.
 *
 * A connection that breaks while nobody uses it is logged and replaced; unheard, the event would end the process.
 */
export function createPool(
  connectionString: string,
  { maxConnections, restorePassword }: DatabaseOptions,
  logger: Logger,
): pg.Pool {
  const config: pg.PoolConfig = {
    connectionString,
    max: maxConnections,
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'wharf',
    Client: ByteTextClient,
  }
  const pool = restorePassword ? new RestoringPool(config, restorePassword) : new pg.Pool(config)
  pool.on('connect', forgetResults)
  pool.on('error', (error) => logger.warn({ err: error }, 'an idle database connection broke'))
  return pool
}
