import { AppError, type Fault } from '../errors.ts'

/** How many of those who hold something are named. */
const MAX_NAMED = 10

interface Blocker {
  readonly table: string
  /** Null where a prepared transaction holds it: that has no session. */
  readonly pid: number | null
  /** The session, or the prepared transaction. */
  readonly name: string
  readonly seconds: number
}

type Query = (sql: string, parameters: readonly unknown[]) => Promise<readonly Blocker[]>

/**
 * The error for a lock that was not to be had in time: names the stage's tables that others hold at this moment, and
 * their sessions or prepared transactions, the oldest transactions first.
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

/** What a session is called is its client's own word, so it is only shown. A prepared transaction has locked its own id. */
const BLOCKERS = `
  SELECT relname::text AS table, pid, name, extract(epoch FROM clock_timestamp() - since)::int AS seconds
  FROM (
    SELECT DISTINCT ON (l.pid, x.gid) c.relname, l.pid, coalesce(a.xact_start, x.prepared) AS since,
           coalesce(x.gid, nullif(a.application_name, ''), a.usename::text, '') AS name
    FROM pg_catalog.pg_locks l
    JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = pg_catalog.current_database()
    JOIN pg_catalog.pg_class c ON c.oid = l.relation
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid AND l.pid <> pg_catalog.pg_backend_pid()
    LEFT JOIN pg_catalog.pg_locks own
      ON l.pid IS NULL AND own.pid IS NULL AND own.virtualtransaction = l.virtualtransaction AND own.locktype = 'transactionid'
    LEFT JOIN pg_catalog.pg_prepared_xacts x ON x.transaction = own.transactionid
    WHERE n.nspname = $1 AND l.granted AND coalesce(a.xact_start, x.prepared) IS NOT NULL
      AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    ORDER BY l.pid, x.gid, c.oid
  ) locked ORDER BY since LIMIT $2`

const toFault = ({ table, pid, name, seconds }: Blocker): Fault => {
  const user =
    pid === null
      ? `prepared transaction "${name}", which COMMIT PREPARED or ROLLBACK PREPARED ends`
      : `database session ${pid} ("${name}")`
  return { detail: `table "${table}" has been in use for ${seconds} s by the ${user}` }
}
