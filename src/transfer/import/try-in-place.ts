import { catalogOid } from '../../database/catalog-oids.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { conflict } from '../../errors.ts'
import { copyNoRows } from './copy-rows.ts'
import { inPlaceStatements } from './in-place.ts'
import { loadFailure } from './load-failure.ts'
import { type LoadingSession, openLoadingSession, runAll } from './loading-session.ts'
import type { TargetStage } from './target-stage.ts'

/** Others wait behind us for as long, if somebody is reading. */
const LOCK_TIMEOUT = '500ms'

/**
 * Does all that an import in place would do, with no rows, and takes it back. Readers wait for as long as that takes,
 * which does not depend on how many rows there are.
 *
 * @throws {AppError} CONFLICT as the import would, but for what rows do; also where somebody is reading the stage.
 */
export async function tryInPlace(target: TargetStage, signal: AbortSignal): Promise<void> {
  const { stage, structure, archived } = target
  const session = await openLoadingSession(target, stage.schemaName, { signal })
  try {
    await assertCallable(session)
    const options = { lockTimeout: LOCK_TIMEOUT, withRows: false }
    const { before, after, filled } = await inPlaceStatements(session, structure, options)
    await runAll(session, before)
    for (const table of archived.tables) if (table.columns.length > 0) await copyNoRows(session.client, table)
    await runAll(session, after)
    for (const name of filled) await tryToRefresh(session, name)
  } catch (error) {
    throw loadFailure(error)
  } finally {
    session.rollback()
  }
}

/** What a view gives without rows tells nothing about what it gives with them: its query is planned, and not run. */
async function tryToRefresh(session: LoadingSession, name: string): Promise<void> {
  const [view] = await session.query<{ definition: string }>(
    'SELECT pg_catalog.pg_get_viewdef(pg_catalog.quote_ident($1)::pg_catalog.regclass) AS definition',
    [name],
  )
  await runAll(session, [
    ...(view ? [`EXPLAIN ${view.definition}`] : []),
    `REFRESH MATERIALIZED VIEW ${quoteIdentifier(name)} WITH NO DATA`,
  ])
}

/** PostgreSQL looks at this only once there is a row. @throws {AppError} CONFLICT */
async function assertCallable(session: LoadingSession): Promise<void> {
  const [refused] = await session.query<{ table: string; called: string }>(NOT_CALLABLE_SQL)
  if (!refused) return
  throw conflict(
    `nothing was changed: table "${refused.table}" calls ${refused.called} for each row, which the project's own login may not`,
  )
}

/** Functions that generated columns, checks, indexes and the checks of domains call, each with a table or domain. */
const NOT_CALLABLE_SQL = `
SELECT COALESCE(c.relname, o.relname, i.relname, t.typname)::text AS table,
       d.refobjid::pg_catalog.regprocedure::text AS called
  FROM pg_catalog.pg_depend d
  LEFT JOIN (pg_catalog.pg_attrdef f
             JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated = 's'
             JOIN pg_catalog.pg_class c ON c.oid = f.adrelid)
    ON d.classid = ${catalogOid('pg_attrdef')} AND d.objid = f.oid
  LEFT JOIN pg_catalog.pg_constraint k
    ON d.classid = ${catalogOid('pg_constraint')} AND d.objid = k.oid AND k.contype = 'c'
  LEFT JOIN pg_catalog.pg_class o ON o.oid = k.conrelid
  LEFT JOIN pg_catalog.pg_type t ON t.oid = k.contypid
  LEFT JOIN pg_catalog.pg_class i
    ON d.classid = ${catalogOid('pg_class')} AND d.objid = i.oid AND i.relkind = 'i'
 WHERE d.refclassid = ${catalogOid('pg_proc')}
   AND pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))::pg_catalog.oid
       IN (c.relnamespace, o.relnamespace, t.typnamespace, i.relnamespace)
   AND NOT pg_catalog.has_function_privilege(d.refobjid, 'EXECUTE')
 LIMIT 1`
