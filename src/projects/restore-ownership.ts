import { giveObject, giveSchema } from './project-objects.ts'

/** Runs SQL with parameters as Wharf's own login, in the transaction in which all is given or nothing. */
export type RunSql = <Row>(sql: string, parameters?: readonly unknown[]) => Promise<readonly Row[]>

/**
 * What of a schema belongs to the owner of the schema, or to Wharf's own login, by catalog: the oids, and what follows
 * `ALTER` for each kind. (A schema `public` belongs to the owner of the database.)
 */
const CATALOGS: readonly string[] = [
  // A sequence of a column goes with its table.
  `SELECT 'pg_class'::regclass, c.oid,
          CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                         WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END
     FROM pg_class c WHERE c.relnamespace = n.oid AND c.relowner IN (n.nspowner, CURRENT_USER::regrole) AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                         AND c.relkind = 'S' AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i'))`,
  `SELECT 'pg_type'::regclass, t.oid, 'TYPE'
     FROM pg_type t WHERE t.typnamespace = n.oid AND t.typowner IN (n.nspowner, CURRENT_USER::regrole) AND t.typtype IN ('d', 'e', 'r')`,
  `SELECT 'pg_proc'::regclass, p.oid, 'ROUTINE' FROM pg_proc p WHERE p.pronamespace = n.oid AND p.proowner IN (n.nspowner, CURRENT_USER::regrole)`,
  ...[
    ['pg_operator', 'opr', 'OPERATOR'],
    ['pg_opclass', 'opc', 'OPERATOR CLASS'],
    ['pg_opfamily', 'opf', 'OPERATOR FAMILY'],
    ['pg_collation', 'coll', 'COLLATION'],
    ['pg_conversion', 'con', 'CONVERSION'],
    ['pg_statistic_ext', 'stx', 'STATISTICS'],
    ['pg_ts_dict', 'dict', 'TEXT SEARCH DICTIONARY'],
    ['pg_ts_config', 'cfg', 'TEXT SEARCH CONFIGURATION'],
  ].map(
    ([catalog, prefix, kind]) =>
      `SELECT '${catalog}'::regclass, o.oid, '${kind}'
         FROM ${catalog} o WHERE o.${prefix}namespace = n.oid AND o.${prefix}owner IN (n.nspowner, CURRENT_USER::regrole)`,
  ),
]

/** `$1`: the schema. What comes with an extension stays the extension's. */
const OBJECTS_SQL = `
  SELECT kind, (pg_identify_object(class, object.oid, 0)).identity AS identity
    FROM pg_namespace n CROSS JOIN LATERAL (${CATALOGS.join('\n UNION ALL ')}) AS object (class, oid, kind)
   WHERE n.nspname = $1 AND NOT EXISTS (
     SELECT FROM pg_depend e WHERE e.classid = object.class AND e.objid = object.oid AND e.deptype = 'e')
   ORDER BY class, object.oid`

/** `$1`: the schema. Not every PostgreSQL gives them away with the types of their ranges, and those that do refuse it alone. */
const MULTIRANGES_SQL = `
  SELECT 'TYPE' AS kind, (pg_identify_object('pg_type'::regclass, t.oid, 0)).identity AS identity
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
   WHERE n.nspname = $1 AND t.typtype = 'm' AND t.typowner <> n.nspowner
     AND EXISTS (SELECT FROM pg_range r JOIN pg_type of_range ON of_range.oid = r.rngtypid
                  WHERE r.rngmultitypid = t.oid AND of_range.typowner = n.nspowner)`

interface Given {
  readonly kind: string
  readonly identity: string
}

/**
 * Gives schemas, and what is in them, back to the login of their project, after a dump was restored while that login was
 * missing: all of it belongs to the login that restored it then. What belongs to a third one stays as it is.
 *
 * @returns who owns schemas that Wharf's login may not give away; nothing was changed of these.
 */
export async function restoreOwnership(
  run: RunSql,
  schemas: readonly string[],
  login: string,
): Promise<readonly string[]> {
  const found = await run<{ name: string; owner: string; isOwn: boolean; may: boolean }>(
    `SELECT nspname::text AS name, pg_get_userbyid(nspowner)::text AS owner, pg_get_userbyid(nspowner) = $2 AS "isOwn",
            pg_has_role(nspowner, 'USAGE') AS may
       FROM pg_namespace WHERE nspname = ANY ($1::text[]) ORDER BY nspname`,
    [schemas, login],
  )
  const toGive = found.filter(({ isOwn }) => !isOwn)
  for (const { name } of toGive.filter(({ may }) => may)) {
    const objects = await run<Given>(OBJECTS_SQL, [name])
    // The schema first: who gets an object has to be allowed to make it there.
    await run(giveSchema(name, login))
    for (const { kind, identity } of objects) await run(giveObject(kind, identity, login))
    for (const { kind, identity } of await run<Given>(MULTIRANGES_SQL, [name])) {
      await run(giveObject(kind, identity, login))
    }
  }
  return [...new Set(toGive.filter(({ may }) => !may).map(({ owner }) => owner))]
}
