import type { Fault } from '../../errors.ts'
import { conflict } from '../../errors.ts'
import { LOG_SCHEMA } from '../../events/attached/log-names.ts'
import type { LogQuery } from '../../events/attached/log-triggers.ts'
import type { LoggedStage } from './event-log.ts'

interface Lack {
  readonly detail: string
}

/**
 * Makes sure that a login may keep the log of a stage: triggers are their table's owner's to make, and the log needs a place.
 *
 * @param query as the login.
 * @throws {AppError} CONFLICT with everything that is missing, and the SQL that would allow it.
 */
export async function assertMayLog(query: LogQuery, { id, schemaName }: LoggedStage): Promise<void> {
  const lacks: readonly Fault[] = await query<Lack>(LACKS_SQL, [schemaName])
  if (lacks.length > 0) throw conflict(`the login may not keep an event log of the schema "${schemaName}"`, lacks)
  const tables = await query(
    `SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = '${LOG_SCHEMA}' AND c.relname = 'stage_state'`,
    [],
  )
  if (tables.length === 0) return
  const others = await query(
    `SELECT 1 FROM ${LOG_SCHEMA}.stage_state WHERE schema_name = $1 AND stage_id <> $2::pg_catalog.uuid`,
    [schemaName, id],
  )
  if (others.length === 0) return
  throw conflict(
    `somebody else keeps an event log of the schema "${schemaName}" in this database already: another Wharf, or one that has ` +
      `forgotten it by force; if nobody needs it, DROP SCHEMA ${LOG_SCHEMA} CASCADE removes it`,
  )
}

const LACKS_SQL = `
SELECT pg_catalog.format('table "%s" belongs to "%s", and only its owner makes triggers that nobody bypasses: GRANT %I TO %I',
         c.relname, pg_catalog.pg_get_userbyid(c.relowner), pg_catalog.pg_get_userbyid(c.relowner), CURRENT_USER) AS detail
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1::pg_catalog.name AND c.relkind IN ('r', 'p') AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = c.tableoid AND e.objid = c.oid AND e.deptype = 'e')
 UNION ALL
SELECT pg_catalog.format('the log has no place: GRANT CREATE ON DATABASE %I TO %I', pg_catalog.current_database(), CURRENT_USER)
 WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = '${LOG_SCHEMA}')
   AND NOT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')
 UNION ALL
SELECT pg_catalog.format('the schema "${LOG_SCHEMA}" belongs to "%s": drop it, or give it to the login (ALTER SCHEMA ${LOG_SCHEMA} OWNER TO %I)',
         pg_catalog.pg_get_userbyid(n.nspowner), CURRENT_USER)
  FROM pg_catalog.pg_namespace n
 WHERE n.nspname = '${LOG_SCHEMA}' AND (pg_catalog.pg_get_userbyid(n.nspowner) <> CURRENT_USER OR EXISTS (
         SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND pg_catalog.pg_get_userbyid(c.relowner) <> CURRENT_USER))
 UNION ALL
SELECT pg_catalog.format('there is a schema "${LOG_SCHEMA}" that has no log in it: rename or drop it')
  FROM pg_catalog.pg_namespace n WHERE n.nspname = '${LOG_SCHEMA}' AND NOT EXISTS (
         SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'stage_state')
 UNION ALL
SELECT pg_catalog.format('publication "%s" is FOR ALL TABLES, and would send the tables of the log to its subscribers, which do not have them', pubname)
  FROM pg_catalog.pg_publication WHERE puballtables
 ORDER BY detail LIMIT 50`
