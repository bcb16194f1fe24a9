import { catalogOid } from '../../../database/catalog-oids.ts'
import type { Query } from '../../structure/query.ts'

/**
 * The statements that move all that is in a schema into another one, but for what comes with extensions. What belongs to
 * an object goes with it: the indexes, constraints, triggers and owned sequences of a table, its row type.
 *
 * @param staying the OIDs of types that are not moved.
 * @param query in a session whose search path is `pg_catalog` alone, so that names are printed with their schema.
 */
export async function moveStatements(
  query: Query,
  { from, to, staying = [] }: { readonly from: string; readonly to: string; readonly staying?: readonly string[] },
): Promise<readonly string[]> {
  const rows = await query<{ statement: string }>(MOVES_SQL, [from, to, staying])
  return rows.map(({ statement }) => statement)
}

// A partitioned table is a part of itself, by the columns of its key.
const IS_OWN = `NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                     WHERE e.classid = o.tableoid AND e.objid = o.oid AND e.deptype IN ('e', 'i')
                       AND (e.refclassid, e.refobjid) IS DISTINCT FROM (e.classid, e.objid))`

/** @param what is moved, with its name as SQL. */
const moves = (catalog: string, prefix: string, what: string, where = 'true'): string => `
  SELECT ${what} || pg_catalog.format(' SET SCHEMA %I', $2::text) AS statement
    FROM pg_catalog.${catalog} o JOIN pg_catalog.pg_namespace n ON n.oid = o.${prefix}namespace
   WHERE n.nspname = $1::pg_catalog.name AND ${IS_OWN} AND ${where}`

const named = (noun: string, prefix: string): string =>
  `pg_catalog.format('ALTER ${noun} %I.%I', n.nspname, o.${prefix}name)`

/** Sequences of columns go with their table. */
const IS_FREE = `(o.relkind <> 'S' OR NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                     WHERE d.classid = o.tableoid AND d.objid = o.oid AND d.deptype IN ('a', 'i')
                       AND d.refclassid = ${catalogOid('pg_class')}))`

const RELATION = `pg_catalog.format('ALTER %s %I.%I', CASE o.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                     WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, n.nspname, o.relname)`

// Functions and operators first: they are named with the types of their arguments.
const MOVES = [
  moves('pg_proc', 'pro', `'ALTER ROUTINE ' || o.oid::pg_catalog.regprocedure::text`),
  moves('pg_operator', 'opr', `'ALTER OPERATOR ' || o.oid::pg_catalog.regoperator::text`),
  moves('pg_class', 'rel', RELATION, `o.relkind IN ('r', 'p', 'v', 'm', 'S') AND ${IS_FREE}`),
  // Row types go with their table.
  moves(
    'pg_type',
    'typ',
    named('TYPE', 'typ'),
    `(o.typtype IN ('e', 'd') OR o.typtype = 'c' AND EXISTS (
       SELECT FROM pg_catalog.pg_class c WHERE c.oid = o.typrelid AND c.relkind = 'c'))
     AND o.oid <> ALL ($3::text[]::pg_catalog.oid[])`,
  ),
  moves('pg_collation', 'coll', named('COLLATION', 'coll')),
  moves('pg_ts_dict', 'dict', named('TEXT SEARCH DICTIONARY', 'dict')),
  moves('pg_ts_config', 'cfg', named('TEXT SEARCH CONFIGURATION', 'cfg')),
  moves('pg_statistic_ext', 'stx', named('STATISTICS', 'stx')),
]

const MOVES_SQL = `
SELECT statement FROM (${MOVES.map((sql, number) => `SELECT ${number} AS number, statement FROM (${sql}) moves${number}`).join(' UNION ALL ')}) all_moves
 ORDER BY number`
