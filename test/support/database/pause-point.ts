import { eventually } from '../eventually.ts'
import { withSession } from '../servers/sessions.ts'
import type { TestDatabase } from './database.ts'
import { openTransactions } from './transactions.ts'

const LOCK = 4711

/**
 * An expression that is true, but waits while `withPausePoint` runs. In a domain's check it pauses the rows as they come
 * in; in a table's, what is done with them after that.
 */
export const PAUSE = `pg_advisory_xact_lock_shared(${LOCK})::text IS NOT NULL`

export interface PausePoint {
  /** Waits until a session is paused. @returns its pid. */
  reached(): Promise<number>
  /** Lets the session go on, and pauses no other. */
  release(): Promise<void>
}

/** Pauses sessions at `PAUSE` while `use` runs, or until it releases them. */
export const withPausePoint = <T>(
  wharf: { readonly database: Pick<TestDatabase, 'url' | 'query'> },
  use: (pausePoint: PausePoint) => Promise<T>,
): Promise<T> =>
  withSession(wharf.database.url, async (owner) => {
    await owner.query('SELECT pg_advisory_lock($1)', [LOCK])
    const paused = async (): Promise<readonly number[]> =>
      (await openTransactions(wharf)).filter(({ waits }) => waits === 'Lock').map(({ pid }) => pid)
    return use({
      async reached() {
        await eventually(paused).not.toEqual([])
        return (await paused())[0] ?? 0
      },
      async release() {
        await owner.query('SELECT pg_advisory_unlock($1)', [LOCK])
      },
    })
  })
