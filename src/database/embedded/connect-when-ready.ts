import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type AppError, databaseUnavailable } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { openSession } from '../session-client.ts'
import { sqlState } from '../sqlstate.ts'

const CHECK_INTERVAL_MS = 20

/** How long one attempt may take: somebody else on the port may accept and say nothing. */
const CONNECT_TIMEOUT_MS = 5_000

/** SQLSTATEs `invalid_password` and `invalid_authorization_specification`. */
const LOGIN_REFUSED: ReadonlySet<string | undefined> = new Set(['28P01', '28000'])

/**
 * Connects to a server that is being started, as soon as it lets us in.
 *
 * @param signal gives up; the result is then undefined.
 * @throws {AppError} DATABASE_UNAVAILABLE where the server refuses the login, which waiting doesn't change.
 */
export async function connectWhenReady(
  connectionString: string,
  { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger },
): Promise<pg.Client | undefined> {
  while (!signal.aborted) {
    try {
      const session = { kind: 'wharf', applicationName: 'wharf start', connectTimeoutMs: CONNECT_TIMEOUT_MS } as const
      return await openSession(connectionString, { ...session, ssl: false, logger })
    } catch (error) {
      if (LOGIN_REFUSED.has(sqlState(error))) throw loginRefused(error)
      await sleep(CHECK_INTERVAL_MS)
    }
  }
  return undefined
}

const loginRefused = (cause: unknown): AppError =>
  databaseUnavailable(
    'the embedded PostgreSQL refuses the password in postgres.json: put back the file that belongs to this cluster',
    cause,
  )
