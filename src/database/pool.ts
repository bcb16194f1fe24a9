import type pg from 'pg'
import type { Logger } from '../logger.ts'
import { type ConnectionTarget, clientConfigOf } from './client-config.ts'
import type { DatabaseOptions } from './database.ts'
import type { IdleConnections } from './idle-connections.ts'
import { restoringPassword } from './restoring-password.ts'
import { type Connecting, RetryingPool } from './retrying-pool.ts'
import { SessionClient } from './session-client.ts'
import { retryLevel } from './sqlstate-meanings.ts'

/** How long a query waits for a connection before it fails, in milliseconds. */
const CONNECTION_TIMEOUT_MS = 10_000

/** How long an unused connection is kept, in milliseconds. */
const IDLE_TIMEOUT_MS = 30_000

/**
 * A pool of connections, opened when they are first needed. One that breaks is replaced.
 *
 * @param idle what other pools of the server do not use, which it gets where there is no room else, and gives likewise.
 */
export function createPool(
  target: ConnectionTarget,
  { maxConnections, session, givesByteText, restorePassword, applicationName = 'wharf' }: DatabaseOptions,
  logger: Logger,
  idle?: IdleConnections,
): pg.Pool {
  const onEnd = (error: Error): void => logger.debug({ err: error, session }, 'a database session ended')
  const config: pg.PoolConfig = {
    max: maxConnections,
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    application_name: applicationName,
    ...clientConfigOf(target),
    Client: class extends SessionClient {
      constructor(config: pg.ClientConfig = {}) {
        super(config, { kind: session, givesByteText, onEnd })
      }
    },
  }
  const withRoom: Connecting = (connect) => (idle ? idle.connecting(target, connect) : connect())
  const withPassword: Connecting = restorePassword ? restoringPassword(restorePassword) : (connect) => connect()
  const pool = new RetryingPool(config, (connect) => withPassword(() => withRoom(connect)))
  idle?.add(pool, target)
  pool.on('error', (error) => {
    // A pool ends without waiting for its connections, which the server may end first where it is being stopped, too.
    const level = pool.ending ? 'debug' : retryLevel(error)
    logger[level]({ err: error, session }, 'an idle database connection broke')
  })
  return pool
}
