import type { Queryable } from './database.ts'
import { Prisma } from './generated/client.ts'

/** How long PostgreSQL is waited for until a session is gone, in milliseconds. */
const GONE_MS = 5_000

/**
 * Ends every session of this name (`application_name`) and whatever it does: its transaction is undone, and its locks
 * are given free. Those of a project's login may be ended too, since Wharf's login is a member of each.
 *
 * @param control as Wharf's own login.
 * @param condition what has to hold besides, in the same statement.
 * @returns how many there were.
 */
export async function endSessionsNamed(
  control: Queryable,
  name: string,
  condition: Prisma.Sql = Prisma.sql`true`,
): Promise<number> {
  const ended = await control.$queryRaw<unknown[]>`
    SELECT pg_catalog.pg_terminate_backend(pid, ${GONE_MS}::bigint)
      FROM pg_catalog.pg_stat_activity
     WHERE application_name = ${name} AND datname = current_database() AND pid <> pg_backend_pid()
       AND pg_catalog.pg_has_role(usesysid, 'USAGE') AND (${condition})`
  return ended.length
}
