import { quoteIdentifier } from '../../../database/quoting.ts'
import { commentOn } from '../clauses.ts'
import { jsonObject } from '../query.ts'
import { IS_OWN_SQL, type ObjectKind } from './object-kind.ts'

// The schema is always written: it is cut off, so that the statistics are made in the schema of the session.
const HEAD = 'CREATE STATISTICS '
const DEFINITION_SQL = `pg_catalog.overlay(pg_catalog.pg_get_statisticsobjdef(o.oid), '', ${HEAD.length + 1},
         pg_catalog.length(pg_catalog.quote_ident(n.nspname::text)) + 1)`

// -1 up to PostgreSQL 16, and NULL from 17, where it is the default.
const LINE_SQL = jsonObject({
  name: 'o.stxname',
  table: 'c.relname',
  definition: DEFINITION_SQL,
  target: 'NULLIF(o.stxstattarget, -1)',
  comment: `pg_catalog.obj_description(o.oid, 'pg_statistic_ext')`,
})

/** Statistics over several columns or over expressions. */
export const STATISTICS: ObjectKind<'statistics'> = {
  noun: 'statistics',
  sql: `
SELECT 'pg_statistic_ext:' || o.oid::text AS key, o.stxname::text AS name,
       CASE WHEN c.relnamespace <> o.stxnamespace THEN 'its table is in another schema' END AS blocker,
       ${LINE_SQL} AS line
  FROM pg_catalog.pg_statistic_ext o
  JOIN pg_catalog.pg_class c ON c.oid = o.stxrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = o.stxnamespace
 WHERE o.stxnamespace = $1::pg_catalog.oid AND ${IS_OWN_SQL}
 ORDER BY o.stxname`,
  nameOf: ({ name }) => name,
  create: ({ name, definition, target, comment }) => [
    definition,
    ...(target === undefined ? [] : [`ALTER STATISTICS ${quoteIdentifier(name)} SET STATISTICS ${target}`]),
    ...commentOn(`STATISTICS ${quoteIdentifier(name)}`, comment),
  ],
  drop: ({ name }) => `DROP STATISTICS IF EXISTS ${quoteIdentifier(name)}`,
}
