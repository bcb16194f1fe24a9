import type pg from 'pg'

/** Longer than this, and it is left to the next one. Readers wait for it. */
const TIMEOUT_MS = 2_000

/** `pg` knows of the time limit, its types do not. */
interface TimedQuery extends pg.QueryConfig {
  readonly query_timeout: number
}

/** One message, and so one transaction. */
const RECORD: TimedQuery = {
  text: `SET LOCAL lock_timeout = '1s'; SELECT wharf.record_crash()`,
  query_timeout: TIMEOUT_MS,
}

/**
 * Logs that a crash of PostgreSQL has emptied the UNLOGGED tables of stages, where nobody has logged it yet: their
 * references are no longer what they were.
 *
 * Where that is not possible now, it is left to the next who asks: a stage whose log is held by a transaction of its
 * project, a database that takes no writes, or that has no room for any. Such a stage has another reference each time
 * it is asked for, and can be read all the same.
 *
 * @param system as Wharf's own login.
 */
export async function recordCrash(system: pg.Pool): Promise<void> {
  await system.query(RECORD).catch(() => undefined)
}
