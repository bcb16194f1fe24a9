import type { Queryable } from '../database/database.ts'
import { endSessionsNamed } from '../database/end-sessions.ts'
import { type Attempt, isStale, sessionNameOf } from './transitions.ts'

/**
 * Ends whatever an attempt still does in the database: its transactions are undone, and its locks given free. A worker
 * that was stopped and goes on later finds its connections closed.
 *
 * Sessions are found by their name, which they get before they do anything, so none can be missing from a list.
 *
 * @returns how many there were.
 */
export const endSessions = (control: Queryable, attempt: Attempt): Promise<number> =>
  endSessionsNamed(control, sessionNameOf(attempt))

/** As `endSessions`, unless the attempt's worker has been heard of within its lease. */
export const endStaleSessions = (control: Queryable, attempt: Attempt, leaseMs: number): Promise<number> =>
  endSessionsNamed(control, sessionNameOf(attempt), isStale(attempt, leaseMs))
