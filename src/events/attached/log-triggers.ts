import { catalogOid } from '../../database/catalog-oids.ts'
import { LOG_SCHEMA, TRIGGER_PREFIX } from './log-names.ts'

/** Asks in a session of the login that owns the log. */
export type LogQuery = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>

/** What is to be done to one table so that it keeps the log, or keeps it no more. */
export interface TableStatements {
  /** As SQL names it. */
  readonly table: string
  readonly statements: readonly string[]
}

/** What comes with an extension is its owner's. */
const IS_NO_MEMBER = `NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = ${catalogOid('pg_class')}
                           AND e.objid = c.oid AND e.deptype = 'e')`

/**
 * Triggers that a schema's tables lack, or have in another form: disabled, under a condition, for some columns only. Of
 * `tgtype`, only the bit of the event is set: the others are for each row, before, and instead of.
 *
 * @param schema its name, as SQL.
 */
export const missingTriggersSql = (schema: string): string => `
  SELECT c.oid, c.relname::text AS name, n.nspname::text AS schema, wanted.kind, g.oid IS NOT NULL AS "exists"
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   CROSS JOIN (VALUES ('create', 4, NULL, 'wharf_changed'), ('update', 16, NULL, 'wharf_changed'),
                      ('delete', 8, 'wharf_changed', NULL), ('truncate', 32, NULL, NULL)) AS wanted (kind, type, old, new)
    LEFT JOIN pg_catalog.pg_trigger g ON g.tgrelid = c.oid AND g.tgname = '${TRIGGER_PREFIX}' || wanted.kind
   WHERE n.nspname = ${schema} AND c.relkind IN ('r', 'p') AND ${IS_NO_MEMBER}
     AND (g.tgfoid, g.tgenabled::text, g.tgtype::integer, g.tgoldtable::text, g.tgnewtable::text, g.tgqual IS NULL,
          g.tgattr::text, g.tgnargs::integer, g.tgisinternal, g.tgdeferrable, g.tginitdeferred,
          g.tgconstraint, g.tgconstrrelid, g.tgconstrindid, g.tgparentid)
         IS DISTINCT FROM
         (${logFunctionSql('log_statement')}, 'A', wanted.type, wanted.old, wanted.new, true,
          '', 0, false, false, false, 0::pg_catalog.oid, 0::pg_catalog.oid, 0::pg_catalog.oid, 0::pg_catalog.oid)`

/** The oid of a function of the log; found by the catalogs, since its name is an error to those who may not use the schema. */
function logFunctionSql(name: string): string {
  return `(SELECT p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace l ON l.oid = p.pronamespace
            WHERE l.nspname = '${LOG_SCHEMA}' AND p.proname = '${name}')`
}

/**
 * Finds the log that a schema is a stage in, if it has one that is the login's own.
 *
 * @returns the id of the stage.
 */
export async function findLog(query: LogQuery, schemaName: string): Promise<string | undefined> {
  const [log] = await query<{ own: boolean }>(
    `SELECT pg_catalog.pg_has_role(nspowner, 'USAGE') AND ${logFunctionSql('log_statement')} IS NOT NULL AS own
       FROM pg_catalog.pg_namespace WHERE nspname = '${LOG_SCHEMA}'`,
    [],
  )
  if (!log?.own) return undefined
  const [stage] = await query<{ id: string }>(
    `SELECT stage_id::text AS id FROM ${LOG_SCHEMA}.stage_state WHERE schema_name = $1`,
    [schemaName],
  )
  return stage?.id
}

/** The statements that give the tables of a schema what they lack to keep the log. */
export const missingTriggers = (query: LogQuery, schemaName: string): Promise<readonly TableStatements[]> =>
  byTable(query, MAKE_SQL, schemaName)

/** The statements that take them away again. */
export const presentTriggers = (query: LogQuery, schemaName: string): Promise<readonly TableStatements[]> =>
  byTable(query, DROP_SQL, schemaName)

async function byTable(query: LogQuery, sql: string, schemaName: string): Promise<readonly TableStatements[]> {
  const rows = await query<{ table: string; statements: string[] }>(sql, [schemaName])
  const tables = new Map<string, string[]>()
  for (const { table, statements } of rows) tables.set(table, [...(tables.get(table) ?? []), ...statements])
  return [...tables].map(([table, statements]) => ({ table, statements }))
}

const NAMED = `pg_catalog.format('%I.%I', m.schema, m.name)`

/** `ENABLE ALWAYS`: what a replica session writes is logged, too. */
const MAKE_SQL = `
SELECT ${NAMED} AS table,
       pg_catalog.array_cat(
         CASE WHEN m.exists THEN ARRAY[pg_catalog.format('DROP TRIGGER %I ON %s', '${TRIGGER_PREFIX}' || m.kind, ${NAMED})] ELSE '{}' END,
         ARRAY[pg_catalog.format('CREATE TRIGGER %I AFTER %s ON %s%s FOR EACH STATEMENT EXECUTE FUNCTION ${LOG_SCHEMA}.log_statement()',
                  '${TRIGGER_PREFIX}' || m.kind, CASE m.kind WHEN 'create' THEN 'INSERT' ELSE pg_catalog.upper(m.kind) END, ${NAMED},
                  CASE m.kind WHEN 'truncate' THEN '' WHEN 'delete' THEN ' REFERENCING OLD TABLE AS wharf_changed'
                              ELSE ' REFERENCING NEW TABLE AS wharf_changed' END),
                pg_catalog.format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER %I', ${NAMED}, '${TRIGGER_PREFIX}' || m.kind)]) AS statements
  FROM (${missingTriggersSql('$1::pg_catalog.name')}) m ORDER BY m.oid, m.kind`

const DROP_SQL = `
SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) AS table,
       ARRAY[pg_catalog.format('DROP TRIGGER %I ON %I.%I', g.tgname, n.nspname, c.relname)] AS statements
  FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1::pg_catalog.name AND g.tgfoid = ${logFunctionSql('log_statement')} ORDER BY c.oid, g.tgname`
