import type pg from 'pg'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import type { Query } from '../structure/query.ts'
import type { HelperRoom, HelperSource } from './helper-room.ts'

/** How many sessions of a login are left to those who read rows over HTTP, in whichever process. */
const CONTENT_SESSIONS = 10

/**
 * How many sessions may help with an export or an import: half of what the login may have beside those that are at work and
 * those that reads may need, and half of what the server has free. The other halves are left to exports and imports that come
 * meanwhile.
 */
export async function countFree(query: Query): Promise<number> {
  const [found] = await query<{ most: number; busy: number; free: number }>(COUNT_FREE_SQL, [])
  if (!found) return 0
  const ofLogin = found.most < 0 ? Number.POSITIVE_INFINITY : found.most - found.busy - CONTENT_SESSIONS
  return Math.max(0, Math.floor(Math.min(ofLogin, found.free) / 2))
}

/**
 * What the server, and the session's login, have of sessions. Idle ones of Wharf's pools do not count as busy: a process ends one of
 * them where the login has no room for another.
 */
export const COUNT_FREE_SQL = `
  SELECT rolconnlimit AS most,
         (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
           WHERE usename OPERATOR(pg_catalog.=) rolname
             AND NOT (state OPERATOR(pg_catalog.=) 'idle' AND application_name OPERATOR(pg_catalog.=) 'wharf'))::pg_catalog.int4 AS busy,
         pg_catalog.current_setting('max_connections')::pg_catalog.int4
           OPERATOR(pg_catalog.-) pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4
           OPERATOR(pg_catalog.-) COALESCE(pg_catalog.current_setting('reserved_connections', true), '0')::pg_catalog.int4
           OPERATOR(pg_catalog.-) (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
                                    WHERE usesysid IS NOT NULL)::pg_catalog.int4 AS free
    FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) CURRENT_USER`

/** Where sessions that help can be opened, and how many there is room for, which is to be given back. */
export interface Help {
  readonly pool: pg.Pool
  readonly sessions: number
}

/**
 * Takes room for sessions that help.
 *
 * @param query in the session that they help. @param wanted at most so many.
 * @returns undefined where no session is free, or the database gives none: what is helped goes on alone.
 */
export async function takeHelp(helpers: HelperSource, query: Query, wanted: number): Promise<Help | undefined> {
  const free = await countFree(query)
  // The pool of an attached database takes a connection as it is opened.
  const pool = free === 0 ? undefined : await helpers.pool().catch(() => undefined)
  return pool && { pool, sessions: helpers.room.take(Math.min(wanted, free)) }
}

interface HelperServices {
  readonly projectDatabase: FindProjectDatabase
  readonly helperRoom: HelperRoom
}

/**
 * Where the sessions come from that help to export or to import a project of Wharf's server: from a pool that nothing else waits
 * for.
 */
export const helpersOf = (
  { projectDatabase, helperRoom }: HelperServices,
  project: Parameters<FindProjectDatabase>[0],
): HelperSource => ({
  room: helperRoom,
  pool: async () => (await projectDatabase(project, 'helping')).database.pool,
})
