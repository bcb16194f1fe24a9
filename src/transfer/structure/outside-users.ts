import { IS_OWN_SQL } from './objects/object-kind.ts'
import type { Query } from './query.ts'

/** How many are named at most. */
const MAX_NAMED = 20

/**
 * Names what hangs, outside of a schema, on what is in it: a view, a foreign key or a column of another stage.
 *
 * It hangs on the tables as they are, whatever they are called: were others put in their place, it would go on with
 * the old ones, and be dropped with them.
 */
export async function findOutsideUsers(query: Query, schemaName: string): Promise<readonly string[]> {
  const rows = await query<{ name: string }>(USERS_SQL, [schemaName])
  return rows.map(({ name }) => name)
}

/**
 * What a schema holds that something outside of it can hang on: the catalogs, and what begins their columns' names. What comes
 * with an extension is used from anywhere.
 */
const CATALOGS = [
  ['pg_class', 'rel'],
  ['pg_type', 'typ'],
  ['pg_proc', 'pro'],
  ['pg_operator', 'opr'],
  ['pg_collation', 'coll'],
  ['pg_ts_config', 'cfg'],
  ['pg_ts_dict', 'dict'],
] as const

const OWN_SQL = CATALOGS.map(
  ([catalog, prefix]) => `
  SELECT 'pg_catalog.${catalog}'::pg_catalog.regclass AS class, o.oid
    FROM pg_catalog.${catalog} o JOIN pg_catalog.pg_namespace n ON n.oid = o.${prefix}namespace
   WHERE n.nspname = $1::pg_catalog.name AND ${IS_OWN_SQL}`,
).join('\n  UNION ALL')

// The names of what depends begin with its schema, but for types, which are looked up, and casts, which belong where one
// of their types does. What is internal is a part of what it depends on, such as a TOAST table.
const USERS_SQL = `
WITH own AS MATERIALIZED (${OWN_SQL}
)
SELECT DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) AS name
  FROM own
   CROSS JOIN LATERAL (
      SELECT * FROM pg_catalog.pg_depend
       WHERE refclassid = own.class AND refobjid = own.oid AND deptype <> 'i' OFFSET 0
    ) d
    LEFT JOIN pg_catalog.pg_type t
      ON d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND t.oid = d.objid
    LEFT JOIN pg_catalog.pg_constraint k
      ON d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND k.oid = d.objid
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = COALESCE(t.typnamespace, k.connamespace)
    LEFT JOIN pg_catalog.pg_cast ca ON d.classid = 'pg_catalog.pg_cast'::pg_catalog.regclass AND ca.oid = d.objid
   WHERE NOT EXISTS (SELECT FROM own o WHERE o.class = 'pg_catalog.pg_type'::pg_catalog.regclass
                        AND o.oid IN (ca.castsource, ca.casttarget))
     AND $1::pg_catalog.name IS DISTINCT FROM
         COALESCE(n.nspname, (pg_catalog.pg_identify_object_as_address(d.classid, d.objid, d.objsubid)).object_names[1])
 ORDER BY name LIMIT ${MAX_NAMED}`
