import { catalogOid } from './catalog-oids.ts'

/** Runs SQL with parameters. */
type Query = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>

/** What the schemas of such imports are called, as a regular expression. */
const EXTERNAL_SCHEMAS = '^wharf_(new|old|direct)_[0-9a-f]{16}$'

/** How many are named at most. */
const MAX_NAMED = 20

/**
 * Names what hangs, outside of a schema, on what is in it: a view, a foreign key or a column of another stage.
 *
 * It hangs on the tables as they are, whatever they are called: were others put in their place, it would go on with
 * the old ones, and be dropped with them.
 *
 * @param options `besidesImports`: without what uses a type of it in a schema in which an import into a database that is not
 *   Wharf's has loaded, or keeps what it has replaced.
 */
export async function findOutsideUsers(
  query: Query,
  schemaName: string,
  { besidesImports = false }: { readonly besidesImports?: boolean } = {},
): Promise<readonly string[]> {
  const rows = await query<{ name: string }>(USERS_SQL, [schemaName, besidesImports])
  return rows.map(({ name }) => name)
}

/**
 * What a schema holds that something outside of it can hang on: the catalogs, what begins their columns' names, and which
 * rows. What comes with an extension is used from anywhere.
 */
const CATALOGS = [
  ['pg_class', 'rel', 'true'],
  // The array type of one that comes with an extension does, too, and is no member itself.
  [
    'pg_type',
    'typ',
    `NOT EXISTS (SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_depend e ON e.classid = t.tableoid AND e.objid = t.oid
                  WHERE t.oid = o.typelem AND t.typarray = o.oid AND e.deptype = 'e')`,
  ],
  ['pg_proc', 'pro', 'true'],
  ['pg_operator', 'opr', 'true'],
  ['pg_collation', 'coll', 'true'],
  ['pg_ts_config', 'cfg', 'true'],
  ['pg_ts_dict', 'dict', 'true'],
] as const

const OWN_SQL = CATALOGS.map(
  ([catalog, prefix, where]) => `
  SELECT ${catalogOid(catalog)} AS class, o.oid
    FROM pg_catalog.${catalog} o JOIN pg_catalog.pg_namespace n ON n.oid = o.${prefix}namespace
   WHERE n.nspname = $1::pg_catalog.name AND ${where}
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                      WHERE e.classid = o.tableoid AND e.objid = o.oid AND e.deptype = 'e')`,
).join('\n  UNION ALL')

// The names of what depends begin with its schema, but for types, which are looked up, as what there may be much of is, and
// casts, which belong where one of their types does. What is internal is a part of what it depends on, such as a TOAST table.
// What has been dropped since the query began, such as what an import has kept, has no name any more, and uses nothing.
const USERS_SQL = `
WITH own AS MATERIALIZED (${OWN_SQL}
),
beside AS MATERIALIZED (
  SELECT nspname FROM pg_catalog.pg_namespace
   WHERE $2::pg_catalog.bool AND nspname::pg_catalog.text ~ '${EXTERNAL_SCHEMAS}' AND pg_catalog.pg_get_userbyid(nspowner) = CURRENT_USER
)
SELECT DISTINCT user_schema.described AS name
  FROM own
   CROSS JOIN LATERAL (
      SELECT * FROM pg_catalog.pg_depend
       WHERE refclassid = own.class AND refobjid = own.oid AND deptype <> 'i' OFFSET 0
    ) d
    LEFT JOIN pg_catalog.pg_type t
      ON d.classid = ${catalogOid('pg_type')} AND t.oid = d.objid
    LEFT JOIN pg_catalog.pg_constraint k
      ON d.classid = ${catalogOid('pg_constraint')} AND k.oid = d.objid
    LEFT JOIN pg_catalog.pg_class r
      ON d.classid = ${catalogOid('pg_class')} AND r.oid = d.objid
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = COALESCE(t.typnamespace, k.connamespace, r.relnamespace)
    LEFT JOIN pg_catalog.pg_cast ca ON d.classid = ${catalogOid('pg_cast')} AND ca.oid = d.objid
   CROSS JOIN LATERAL (SELECT COALESCE(n.nspname,
                              (pg_catalog.pg_identify_object_as_address(d.classid, d.objid, d.objsubid)).object_names[1]) AS name,
                              pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) AS described
                        OFFSET 0) user_schema
   WHERE NOT EXISTS (SELECT FROM own o WHERE o.class = ${catalogOid('pg_type')}
                        AND o.oid IN (ca.castsource, ca.casttarget))
     AND $1::pg_catalog.name IS DISTINCT FROM user_schema.name
     AND user_schema.name IS NOT NULL AND user_schema.described IS NOT NULL
     AND NOT (EXISTS (SELECT FROM beside WHERE beside.nspname = user_schema.name)
              AND (own.class = ${catalogOid('pg_type')}
                   OR own.class = ${catalogOid('pg_class')}
                      AND EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = own.oid AND c.relkind = 'c')))
 ORDER BY 1 LIMIT ${MAX_NAMED}`
