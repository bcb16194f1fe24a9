import type { Queryable } from '../database/database.ts'
import { type Attempt, sessionNameOf } from './transitions.ts'

/** How long PostgreSQL is waited for until a session is gone, in milliseconds. */
const GONE_MS = 5_000

/**
 * Ends whatever an attempt still does in the database: its transactions are undone, and its locks given free. A worker
 * that was stopped and goes on later finds its connections closed.
 *
 * Sessions are found by their name, which they get before they do anything, so none can be missing from a list. Those
 * of a project's login may be ended too, since Wharf's login is a member of each.
 *
 * @returns how many there were.
 */
export async function endSessions(control: Queryable, attempt: Attempt): Promise<number> {
  const ended = await control.$queryRaw<unknown[]>`
    SELECT pg_catalog.pg_terminate_backend(pid, ${GONE_MS}::bigint)
      FROM pg_catalog.pg_stat_activity
     WHERE application_name = ${sessionNameOf(attempt)} AND datname = current_database() AND pid <> pg_backend_pid()
       AND pg_catalog.pg_has_role(usesysid, 'USAGE')`
  return ended.length
}
