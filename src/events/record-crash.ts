import type pg from 'pg'
import type { TimedQuery } from '../database/prepared-query.ts'

/** Readers wait this long at most; then the next one tries again. */
const TIMEOUT_MS = 2_000

/** One message, and so one transaction. */
const RECORD: TimedQuery = {
  text: `SET LOCAL lock_timeout = '1s'; SELECT wharf.record_crash()`,
  query_timeout: TIMEOUT_MS,
}

/**
 * Logs that a crash of PostgreSQL has emptied the UNLOGGED tables of stages, where nobody has logged it yet: their
 * references are no longer what they were.
 *
 * It may be impossible for now: a transaction of the project holds the stage's log, or the database takes no writes or
 * has no room for any. The next reader then tries again. Until it succeeds, the stage can be read all the same, and
 * has another reference each time it is asked for.
 *
 * @param system as Wharf's own login.
 */
export async function recordCrash(system: pg.Pool): Promise<void> {
  await system.query(RECORD).catch(() => undefined)
}
