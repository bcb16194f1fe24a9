import type pg from 'pg'
import { USUAL_CONNECTIONS } from '../../database/login-databases.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import type { Query } from '../structure/query.ts'
import type { HelperRoom, HelperSource } from './helper-room.ts'

/** How many sessions of other processes could begin to read rows over HTTP meanwhile. */
const CONTENT_SESSIONS = 10

/**
 * How many sessions a login may have beside those that this process is to have for it in any case, and those who read rows by
 * others may need; and no more than half of what the server has free.
 */
export async function countFree(query: Query, { usual }: HelperSource, pool: pg.Pool): Promise<number> {
  const [found] = await query<{ most: number; open: number; free: number }>(COUNT_FREE_SQL, [])
  if (!found) return 0
  const ofLogin =
    found.most < 0
      ? Number.POSITIVE_INFINITY
      : Math.min(found.most - usual - (pool.totalCount - pool.idleCount), found.most - found.open - CONTENT_SESSIONS)
  return Math.max(0, Math.min(ofLogin, Math.floor(found.free / 2)))
}

/** What the server, and the session's login, have of sessions. */
export const COUNT_FREE_SQL = `
  SELECT rolconnlimit AS most,
         (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
           WHERE usename OPERATOR(pg_catalog.=) rolname)::pg_catalog.int4 AS open,
         pg_catalog.current_setting('max_connections')::pg_catalog.int4
           OPERATOR(pg_catalog.-) pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4
           OPERATOR(pg_catalog.-) COALESCE(pg_catalog.current_setting('reserved_connections', true), '0')::pg_catalog.int4
           OPERATOR(pg_catalog.-) (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
                                    WHERE usesysid IS NOT NULL)::pg_catalog.int4 AS free
    FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) CURRENT_USER`

interface HelperServices {
  readonly projectDatabase: FindProjectDatabase
  readonly helperRoom: HelperRoom
}

const helpersOf =
  (usual: number) =>
  ({ projectDatabase, helperRoom }: HelperServices, project: Parameters<FindProjectDatabase>[0]): HelperSource => ({
    room: helperRoom,
    usual,
    pool: async () => (await projectDatabase(project, 'helping')).database.pool,
  })

/** Where the sessions come from that help to export a project of Wharf's server: none where anything else could come for it. */
export const exportHelpersOf = helpersOf(USUAL_CONNECTIONS)

/**
 * Where the sessions come from that help to import one. Others wait for an import more than for an export, and a login that may
 * have few sessions gets some, too: whatever else may come for it, but reads, could get none meanwhile, and says so.
 */
export const importHelpersOf = helpersOf(0)
