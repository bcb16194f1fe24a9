import type { Query } from '../query.ts'
import type { Grant, GrantedKind, ObjectGrants } from './grants.ts'

/** An object with the rights on it, as it is named in `GRANT … ON`. */
export interface TargetOfGrants extends ObjectGrants {
  /** With its schema, quoted; of a column, its table. */
  readonly target: string
}

/**
 * Reads who may do what in a schema: its objects, their columns where there are rights on these alone, the schema itself,
 * and what the session's own login has said of what it will make there.
 *
 * Rights that somebody else than the owner has granted are not among them: the owner could not grant them again.
 */
export async function readGrants(query: Query, schemaOid: string): Promise<readonly TargetOfGrants[]> {
  const rows = await query<Row>(GRANTS_SQL, [schemaOid])
  return rows.map(({ object, name, arguments: types, column, target, owner, grants }) => ({
    object,
    ...(name !== null && { name }),
    ...(types !== null && { arguments: types }),
    ...(column !== null && { column }),
    target,
    grants: withoutOwner(grants ?? [], owner ?? []),
  }))
}

interface Row {
  readonly object: GrantedKind
  readonly name: string | null
  readonly arguments: string | null
  readonly column: string | null
  readonly target: string
  /** What its owner may do by itself. */
  readonly owner: readonly string[] | null
  readonly grants: readonly Grant[] | null
}

/** Leaves out what the owner has, where that is what owners have. */
function withoutOwner(grants: readonly Grant[], usual: readonly string[]): readonly Grant[] {
  const own = grants.find(({ to }) => to === 'owner') ?? { to: 'owner', privileges: [], grantable: [] }
  const others = grants.filter(({ to }) => to !== 'owner')
  const isUsual = own.grantable.length === 0 && own.privileges.join() === usual.join()
  return isUsual ? others : [own, ...others]
}

/** Each with its rights: NULL where nobody has changed them. Multiranges have those of their ranges, whose functions belong to PostgreSQL. */
const OBJECTS_SQL = `
SELECT 'schema' AS object, NULL::text AS name, NULL::text AS arguments, NULL::text AS "column",
       pg_catalog.quote_ident(n.nspname::text) AS target, n.nspowner AS owner, 'n'::"char" AS type, n.nspacl AS acl
  FROM pg_catalog.pg_namespace n WHERE n.oid = $1::pg_catalog.oid
UNION ALL
SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, c.relname::text, NULL, NULL,
       pg_catalog.quote_ident(n.nspname::text) || '.' || pg_catalog.quote_ident(c.relname::text), c.relowner,
       CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r'::"char" END, c.relacl
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.oid = $1::pg_catalog.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
UNION ALL
SELECT 'table', c.relname::text, NULL, a.attname::text,
       pg_catalog.quote_ident(n.nspname::text) || '.' || pg_catalog.quote_ident(c.relname::text), c.relowner,
       'c'::"char", a.attacl
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
 WHERE n.oid = $1::pg_catalog.oid AND a.attacl IS NOT NULL AND NOT a.attisdropped
UNION ALL
SELECT 'function', p.proname::text, pg_catalog.pg_get_function_identity_arguments(p.oid), NULL,
       pg_catalog.quote_ident(n.nspname::text) || '.' || pg_catalog.quote_ident(p.proname::text) || '('
       || CASE p.prokind WHEN 'a' THEN pg_catalog.oidvectortypes(p.proargtypes)
               ELSE pg_catalog.pg_get_function_identity_arguments(p.oid) END || ')', p.proowner, 'f'::"char", p.proacl
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE n.oid = $1::pg_catalog.oid
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend i
                    WHERE i.classid = p.tableoid AND i.objid = p.oid AND i.deptype = 'i')
UNION ALL
SELECT 'type', t.typname::text, NULL, NULL,
       pg_catalog.quote_ident(n.nspname::text) || '.' || pg_catalog.quote_ident(t.typname::text), t.typowner,
       'T'::"char", t.typacl
  FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE n.oid = $1::pg_catalog.oid AND t.typtype <> 'm'
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid)`

/** What is said of what will be made is added to what PostgreSQL gives by itself: the owner needs none of it. */
const DEFAULTS_SQL = `
SELECT CASE d.defaclobjtype WHEN 'r' THEN 'new tables' WHEN 'S' THEN 'new sequences' WHEN 'f' THEN 'new functions'
                            ELSE 'new types' END,
       NULL, NULL, NULL, pg_catalog.quote_ident(n.nspname::text), d.defaclrole, NULL, d.defaclacl
  FROM pg_catalog.pg_default_acl d JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace
 WHERE n.oid = $1::pg_catalog.oid AND pg_catalog.pg_get_userbyid(d.defaclrole) = CURRENT_USER`

const GRANTS_SQL = `
SELECT o.object, o.name, o.arguments, o."column", o.target,
       ARRAY(SELECT g.privilege_type FROM pg_catalog.aclexplode(pg_catalog.acldefault(o.type, o.owner)) g
              WHERE g.grantee = o.owner ORDER BY g.privilege_type COLLATE "C") AS owner,
       (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                 'to', CASE e.grantee WHEN '0' THEN '"public"'::json WHEN o.owner THEN '"owner"'::json
                            ELSE pg_catalog.json_build_object('role', pg_catalog.pg_get_userbyid(e.grantee)) END,
                 'privileges', COALESCE(e.privileges, '{}'), 'grantable', COALESCE(e.grantable, '{}')) ORDER BY e.place)
          FROM (
            SELECT g.grantee, pg_catalog.min(g.place) AS place,
                   pg_catalog.array_agg(g.privilege ORDER BY g.privilege COLLATE "C")
                     FILTER (WHERE NOT g.grantable) AS privileges,
                   pg_catalog.array_agg(g.privilege ORDER BY g.privilege COLLATE "C")
                     FILTER (WHERE g.grantable) AS grantable
              FROM pg_catalog.aclexplode(COALESCE(o.acl, pg_catalog.acldefault(o.type, o.owner)))
                   WITH ORDINALITY AS g (grantor, grantee, privilege, grantable, place)
             WHERE g.grantor = o.owner
             GROUP BY g.grantee
          ) e) AS grants
  FROM (${OBJECTS_SQL} UNION ALL ${DEFAULTS_SQL}) o
 ORDER BY o.object, o.name COLLATE "C", o.arguments COLLATE "C", o."column" COLLATE "C" NULLS FIRST`
