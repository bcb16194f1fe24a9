import type pg from 'pg'
import { type AppError, databaseUnsuitable } from '../errors.ts'
import { quoteIdentifier } from './quoting.ts'

/** Where the setting is; null where it is for all databases, or for all roles. */
interface SettingLocation {
  readonly database: string | null
  readonly role: string | null
}

/**
 * Makes sure that the triggers of the event log fire in the sessions of Wharf and of its projects: a superuser can have
 * set `session_replication_role = replica` for the server, the database or a login, under which they do not, and no
 * ordinary login can set it back for itself.
 *
 * @param client of Wharf's own login, in the session as the server began it; on a database that is migrated.
 * @throws {AppError} DATABASE_UNSUITABLE, with the statement that puts it right.
 */
export async function assertTriggersFire(client: pg.Client): Promise<void> {
  const { rows } = await client.query<SettingLocation>(
    `SELECT datname AS database, rolname AS role
     FROM pg_db_role_setting LEFT JOIN pg_database ON pg_database.oid = setdatabase LEFT JOIN pg_roles ON pg_roles.oid = setrole
     WHERE 'session_replication_role=replica' = ANY (setconfig)
       AND (setdatabase = 0 OR datname = current_database())
       AND (setrole = 0 OR rolname = current_user OR rolname IN (SELECT login FROM control.project))
     ORDER BY setdatabase DESC, setrole`,
  )
  const [location] = rows
  if (location) throw triggersSilenced(`${toAlter(location)} RESET session_replication_role`)
  const { rows: session } = await client.query<{ role: string }>(
    `SELECT current_setting('session_replication_role') AS role`,
  )
  if (session[0]?.role === 'replica') throw triggersSilenced("take it out of the server's configuration")
}

function toAlter({ database, role }: SettingLocation): string {
  const inDatabase = database === null ? '' : `DATABASE ${quoteIdentifier(database)}`
  if (role === null) return database === null ? 'ALTER ROLE ALL' : `ALTER ${inDatabase}`
  return `ALTER ROLE ${quoteIdentifier(role)}${inDatabase && ` IN ${inDatabase}`}`
}

const triggersSilenced = (remedy: string): AppError =>
  databaseUnsuitable(
    'session_replication_role is set to replica, so that the triggers of the event log would not fire and caches would ' +
      `go stale; as a superuser: ${remedy}`,
  )
