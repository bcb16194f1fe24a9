import { AppError, type Fault } from '../errors.ts'

/** How many of those who hold something are named. */
const MAX_NAMED = 10

interface Blocker {
  readonly table: string
  readonly pid: number
  readonly session: string
  readonly seconds: number
}

type Query = (sql: string, parameters: readonly unknown[]) => Promise<readonly Blocker[]>

/**
 * The error for a lock that was not to be had in time: names the stage's tables that others hold at this moment, and
 * their sessions, those first whose transactions are the oldest.
 *
 * @param query in a session that may see the activity of the project's login.
 * @param what could not be done, e.g. `nothing was changed`.
 */
export async function stillLocked(
  query: Query,
  { schemaName, what, cause }: { readonly schemaName: string; readonly what: string; readonly cause: unknown },
): Promise<AppError> {
  const blockers = await query(BLOCKERS, [schemaName, MAX_NAMED])
  const faults = blockers.map(toFault)
  const [first] = faults
  const reason = first ? first.detail : 'somebody else locked a lock that it needs'
  return new AppError('CONFLICT', `${what}: ${reason}; try again when that has ended`, {
    faults,
    cause,
    retryAfterSeconds: 30,
  })
}

/** What a session is called is its client's own word, so it is only shown. */
const BLOCKERS = `
  SELECT relname::text AS table, pid, coalesce(nullif(application_name, ''), usename::text, '') AS session,
         extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
  FROM (
    SELECT DISTINCT ON (l.pid) c.relname, l.pid, a.application_name, a.usename, a.xact_start
    FROM pg_catalog.pg_locks l
    JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = pg_catalog.current_database()
    JOIN pg_catalog.pg_class c ON c.oid = l.relation
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
    WHERE n.nspname = $1 AND l.granted AND l.pid <> pg_catalog.pg_backend_pid() AND a.xact_start IS NOT NULL
      AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    ORDER BY l.pid, c.oid
  ) locked ORDER BY xact_start LIMIT $2`

const toFault = ({ table, pid, session, seconds }: Blocker): Fault => ({
  detail: `table "${table}" has been in use for ${seconds} s by the database session ${pid} ("${session}")`,
})
