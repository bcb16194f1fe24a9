import type pg from 'pg'
import { AppError, databaseUnsuitable } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { TIMEOUT_MS, type TimedQuery } from '../prepared-query.ts'
import { openSession } from '../session-client.ts'
import { connectFailure } from './connect-failure.ts'
import type { ServerConnection } from './server-connection.ts'

/** A pooler that has no session to spare keeps its clients waiting. */
const BACKEND_PID: TimedQuery = { text: 'SELECT pg_catalog.pg_backend_pid() AS pid', query_timeout: TIMEOUT_MS }

interface UseOptions {
  /** Whether it is going to be written to. */
  readonly forWriting: boolean
  /** What PostgreSQL calls the sessions, where the address does not say. */
  readonly applicationName: string
  readonly logger: Logger
}

/**
 * Checks that a server is one that Wharf can work with: PostgreSQL 14 or newer, sessions of its own for each connection,
 * and, where it is going to be written to, no standby. Nothing is set in its sessions: behind a pooler, others would get
 * them with it. So this comes before any other session of a server that somebody names.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, DATABASE_READ_ONLY for a standby, or DATABASE_UNAVAILABLE.
 */
export async function assertUsable(server: ServerConnection, options: UseOptions): Promise<void> {
  const { name } = server
  const { forWriting, applicationName, logger } = options
  const open = (): Promise<pg.Client> => openSession(server, { kind: 'bare', applicationName, logger })
  const clients: pg.Client[] = []
  try {
    const first = await open()
    clients.push(first)
    if (forWriting) await assertTakesWrites(first, name)
    const second = await open()
    clients.push(second)
    await assertOwnSessions(first, second, name)
  } catch (error) {
    throw connectFailure(error, name)
  } finally {
    // Whether they end in order is nobody's concern.
    void Promise.allSettled(clients.map((client) => client.end()))
  }
}

async function assertTakesWrites(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_catalog.pg_is_in_recovery() AS standby')
  if (!rows[0]?.standby) return
  throw new AppError('DATABASE_READ_ONLY', `${name} is a standby, which can be read only: name its primary server`)
}

/**
 * A pooler that gives connections away between transactions has two clients speak to one process of the server, or one
 * client to several. Settings, locks and snapshots of one client would then be another one's.
 */
async function assertOwnSessions(first: pg.Client, second: pg.Client, name: string): Promise<void> {
  // A pooler may go round its connections, so that one client at least asks twice in a row.
  const [one, other, ...again] = await pidsOf([first, second, first, first, second])
  const [oneAgain, oneAfterOne, otherAgain] = again
  if (one !== other && one === oneAgain && one === oneAfterOne && other === otherAgain) return
  throw databaseUnsuitable(
    `${name} is a pooler in transaction or statement mode (such as PgBouncer), in which clients share sessions: name the address of the server itself, or of a pooler in session mode`,
  )
}

async function pidsOf(clients: readonly pg.Client[]): Promise<readonly number[]> {
  const pids: number[] = []
  for (const client of clients) {
    const { rows } = await client.query<{ pid: number }>(BACKEND_PID)
    pids.push(rows[0]?.pid ?? 0)
  }
  return pids
}
