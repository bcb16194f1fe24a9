import { LOG_SCHEMA } from './log-names.ts'

/** The first oid that no object of PostgreSQL's own has. */
const FIRST_OF_OTHERS = 16_384

/** What is not of one schema, and changes how rows look: each row that is not PostgreSQL's own counts. */
const ANYWHERE = ['pg_proc', 'pg_enum', 'pg_cast', 'pg_operator', 'pg_collation'] as const

/** Rows of relations: the catalog, the column that says of which, and what tells its rows apart. */
const OF_RELATIONS = [
  ['pg_attribute', 'attrelid', 'attnum'],
  ['pg_trigger', 'tgrelid', 'oid'],
  ['pg_rewrite', 'ev_class', 'oid'],
  ['pg_constraint', 'conrelid', 'oid'],
  ['pg_inherits', 'inhrelid', 'inhparent'],
  ['pg_inherits', 'inhparent', 'inhrelid'],
] as const

const part = (of: string, ...parts: readonly string[]): string => `concat_ws(' ', '${of}', ${parts.join(', ')})`

/**
 * How a stage stands in a database that is not Wharf's, of the snapshot of the query that asks: a text that follows from all transactions in its log, whether a crash
 * is not in the log yet, and a text that is another one after each change to the catalogs that could change what is read
 * without the log: of tables, columns, triggers, views, inheritance, keys, types, functions, subscriptions, and
 * of the log itself. Every change leaves a row of another transaction, or takes one away.
 *
 * ANALYZE and VACUUM change none of it. A materialized view that is refreshed counts for nothing here: what shows
 * one is never taken for known.
 */
export const STAGE_VERSION_FUNCTION = `
CREATE OR REPLACE FUNCTION ${LOG_SCHEMA}.stage_version(stage uuid, OUT reference text, OUT structure text, OUT crashed boolean, OUT recent bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
  namespace oid;
BEGIN
  SELECT n.oid INTO namespace FROM ${LOG_SCHEMA}.stage_state s JOIN pg_namespace n ON n.nspname = s.schema_name
    WHERE s.stage_id = stage;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT concat_ws(' ', coalesce(bit_xor(r.part_1), 0) # s.settled_1, coalesce(bit_xor(r.part_2), 0) # s.settled_2), count(r.part_1)
    INTO reference, recent
    FROM ${LOG_SCHEMA}.stage_state s LEFT JOIN ${LOG_SCHEMA}.recent r USING (stage_id) WHERE s.stage_id = stage
    GROUP BY s.settled_1, s.settled_2;
  -- No UNLOGGED table can be read on a standby, and none is named in what is planned there.
  IF pg_is_in_recovery() THEN
    crashed := false;
  ELSE
    crashed := NOT EXISTS (SELECT FROM ${LOG_SCHEMA}.crash_check c WHERE c.stage_id = stage);
  END IF;
  WITH relation AS MATERIALIZED (
         SELECT c.oid, c.xmin, c.relname, c.relkind FROM pg_class c
          WHERE c.relnamespace IN (SELECT n.oid FROM pg_namespace n WHERE n.oid = namespace OR n.nspname = '${LOG_SCHEMA}')
            AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'c')
       )
  SELECT concat_ws(' ', namespace, current_user, count(*), bit_xor(hashtextextended(part, 0)), bit_xor(hashtextextended(part, 1)))
    INTO structure
    FROM (
      SELECT ${part('pg_class', 'r.oid', `CASE WHEN r.relkind = 'm' THEN r.relname::text ELSE r.xmin::text END`)} AS part FROM relation r
${OF_RELATIONS.map(
  ([catalog, column, key]) => `
      UNION ALL SELECT ${part(`${catalog} ${column}`, `o.${column}`, `o.${key}`, 'o.xmin')}
        FROM relation r JOIN ${catalog} o ON o.${column} = r.oid`,
).join('')}
      UNION ALL SELECT ${part('field', 'f.attrelid', 'f.attnum', 'f.xmin')}
        FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.atttypid >= ${FIRST_OF_OTHERS}
        JOIN pg_type t ON t.oid = a.atttypid
        JOIN pg_type e ON e.oid IN (t.oid, t.typelem) AND e.typrelid <> 0 JOIN pg_attribute f ON f.attrelid = e.typrelid
      UNION ALL SELECT ${part('pg_index', 'i.indexrelid', 'i.xmin')}
        FROM relation r JOIN pg_index i ON i.indrelid = r.oid AND i.indisunique
      UNION ALL SELECT ${part('pg_description', 'd.objoid', 'd.objsubid', 'd.xmin')}
        FROM relation r JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = r.oid
      UNION ALL SELECT ${part('pg_subscription_rel', 's.srsubid', 's.srrelid')}
        FROM relation r JOIN pg_subscription_rel s ON s.srrelid = r.oid
      UNION ALL SELECT ${part('pg_type', 't.oid', 't.xmin')} FROM pg_type t
         WHERE t.oid >= ${FIRST_OF_OTHERS} AND t.typrelid = 0 AND t.typcategory <> 'A'
${ANYWHERE.map(
  (catalog) => `
      UNION ALL SELECT ${part(catalog, 'o.oid', 'o.xmin')} FROM ${catalog} o WHERE o.oid >= ${FIRST_OF_OTHERS}`,
).join('')}
    ) parts;
END
$$`
