import type pg from 'pg'
import type { Logger } from '../logger.ts'

/** The version since which CREATEROLE no longer gives rights that its holder lacks. */
const NARROW_CREATEROLE = 160_000

/**
 * Says where Wharf's login could do more than it has to: as a superuser, and on PostgreSQL 15 with CREATEROLE, which may
 * grant itself `pg_execute_server_program` there.
 *
 * @see https://www.postgresql.org/docs/16/release-16.html
 */
export async function warnOfPower(client: pg.Client, logger: Logger): Promise<void> {
  const { rows } = await client.query<{ version: number; superuser: boolean; roles: boolean }>(
    `SELECT current_setting('server_version_num')::int AS version, rolsuper AS superuser, rolcreaterole AS roles
     FROM pg_roles WHERE rolname = current_user`,
  )
  const [login] = rows
  if (login?.superuser) {
    logger.warn("Wharf's database login is a superuser, which it need not be; give it a login with CREATEROLE")
  } else if (login?.roles && login.version < NARROW_CREATEROLE) {
    logger.warn(
      "on PostgreSQL 15, CREATEROLE makes Wharf's database login nearly a superuser; PostgreSQL 16 or newer is recommended",
    )
  }
}
