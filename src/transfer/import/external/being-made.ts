import { catalogOid } from '../../../database/catalog-oids.ts'
import { AppError } from '../../../errors.ts'
import type { Query } from '../../structure/query.ts'

/**
 * Makes sure that nobody is about to make a table in a schema that is being replaced, or to add a value to an enum there: what
 * they commit afterwards would be in what was replaced, and be dropped with it. PostgreSQL locks the schema and the enum
 * until their transactions end, and shows it to everybody. A new function locks nothing.
 *
 * @throws {AppError} CONFLICT
 */
export async function assertNothingBeingMade(query: Query, schemaName: string): Promise<void> {
  const [found] = await query<{ making: boolean }>(IS_BEING_MADE_SQL, [schemaName])
  if (!found?.making) return
  throw new AppError(
    'CONFLICT',
    `something is being made in "${schemaName}" in a transaction that has not ended; nothing was changed, try again when ` +
      'that has ended',
    { retryAfterSeconds: 10 },
  )
}

const IS_BEING_MADE_SQL = `
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_locks l
    JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = pg_catalog.current_database()
    JOIN pg_catalog.pg_namespace n ON n.nspname = $1::pg_catalog.name
   WHERE l.locktype = 'object' AND l.granted AND l.pid <> pg_catalog.pg_backend_pid()
     AND (l.classid = ${catalogOid('pg_namespace')} AND l.objid = n.oid
          OR l.classid = ${catalogOid('pg_type')} AND l.mode <> 'AccessShareLock'
             AND l.objid IN (SELECT t.oid FROM pg_catalog.pg_type t WHERE t.typnamespace = n.oid))
) AS making`
