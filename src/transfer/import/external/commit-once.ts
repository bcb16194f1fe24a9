import { setTimeout as sleep } from 'node:timers/promises'
import { isConnectionLost } from '../../../database/connection-lost.ts'
import type { Database } from '../../../database/database.ts'
import { endSessionsNamed } from '../../../database/end-sessions.ts'
import { isServerFailure } from '../../../database/sqlstate-meanings.ts'
import { AppError } from '../../../errors.ts'
import { findCommitted, type Operation } from './committed-imports.ts'

/** How often, and in which intervals in milliseconds, a database is asked that was lost while it committed. */
const ATTEMPTS = 15
const INTERVAL_MS = 1_000

interface Committing {
  readonly database: Database
  /** What PostgreSQL calls the session that commits. */
  readonly sessionName: string
  /** What it has written down there; undefined where it had no place for it. */
  readonly operation: Operation | undefined
}

/**
 * Commits. Where the connection breaks meanwhile, the database itself is asked what became of it.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where that is not known. What `commit` throws, where nothing was committed.
 */
export async function commitOnce(commit: () => Promise<unknown>, committing: Committing): Promise<void> {
  try {
    await commit()
  } catch (error) {
    if (!isConnectionLost(error) && !isServerFailure(error)) throw error
    if (!(await isCommitted(committing, error))) throw error
  }
}

async function isCommitted({ database, sessionName, operation }: Committing, cause: unknown): Promise<boolean> {
  if (!operation) throw outcomeUnknown(cause, 'look at the rows before you import again')
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      // As long as its session is there, it may still be committed.
      if ((await endSessionsNamed(database.prisma, sessionName)) === 0) {
        return (await findCommitted(database, operation.id)) !== undefined
      }
    } catch {
      // It is not to be reached yet.
    }
    await sleep(INTERVAL_MS)
  }
  throw outcomeUnknown(cause, 'a job that is tried again looks there first')
}

const outcomeUnknown = (cause: unknown, advice: string): AppError =>
  new AppError(
    'DATABASE_UNAVAILABLE',
    `the database was lost while the import was being committed: whether it was is not known; ${advice}`,
    { cause, retryAfterSeconds: 30 },
  )
