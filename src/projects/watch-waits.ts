import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'

/** How often it is looked, in milliseconds. */
const EVERY_MS = 200

interface Row {
  readonly blocked: boolean
  /**
   * Whether all who block it are autovacuum workers: what works in a database for no login. Its type is not shown to
   * Wharf's login.
   */
  readonly byAutovacuum: boolean
}

/** Who keeps a session waiting: autovacuum workers alone, or others too. */
export type Blockers = 'autovacuum' | 'others'

export interface WatchedWaits {
  /** What the session waited for when it was last seen waiting; undefined where it never was. */
  readonly lastBlockers: () => Blockers | undefined
  /** Whether the session was ended because it waited too long. */
  readonly hasEndedIt: () => boolean
  /** Stops watching. */
  stop(): Promise<void>
}

/**
 * Watches a session, and ends it where it waits for a lock for too long, whatever time-outs it has set for itself: others
 * queue behind it meanwhile. It is ended and not cancelled, since SQL can catch that.
 *
 * @param system as Wharf's own login, which may end the sessions of projects' logins.
 * @param pid the session's.
 * @param maxMs how long one wait may last, in milliseconds.
 */
export function watchWaits({ prisma }: Database, pid: number, maxMs: number): WatchedWaits {
  const stopping = new AbortController()
  let lastBlockers: Blockers | undefined
  let hasEnded = false

  const end = async (): Promise<void> => {
    hasEnded = true
    await prisma.$queryRaw`SELECT pg_catalog.pg_terminate_backend(${pid}::int)`
  }

  const watch = async (): Promise<void> => {
    let waitingSinceMs: number | undefined
    for (;;) {
      await delay(EVERY_MS, undefined, { signal: stopping.signal })
      const [row] = await prisma.$queryRaw<Row[]>`
        SELECT count(*) > 0 AS blocked, coalesce(bool_and(usesysid IS NULL AND datid IS NOT NULL), false) AS "byAutovacuum"
        FROM unnest(pg_catalog.pg_blocking_pids(${pid}::int)) AS blocker
        LEFT JOIN pg_catalog.pg_stat_activity activity ON activity.pid = blocker`
      if (!row?.blocked) {
        waitingSinceMs = undefined
        continue
      }
      lastBlockers = row.byAutovacuum ? 'autovacuum' : 'others'
      waitingSinceMs ??= performance.now() - EVERY_MS
      if (!stopping.signal.aborted && performance.now() - waitingSinceMs >= maxMs) return end()
    }
  }

  const watching = watch().catch((error: unknown) => {
    // A session that nobody watches might wait without end.
    if (!stopping.signal.aborted) return end().catch(() => Promise.reject(error))
    return undefined
  })
  const settled = Promise.allSettled([watching])
  return {
    lastBlockers: () => lastBlockers,
    hasEndedIt: () => hasEnded,
    async stop() {
      stopping.abort()
      await settled
    },
  }
}
