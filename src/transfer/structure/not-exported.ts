import type { NotExported } from './lines.ts'
import { compareText, type Query, withoutNulls } from './query.ts'

/**
 * Reads what stands in the schema, or hangs on its tables, that has no line of its own: base types, operators, rights,
 * publications, and so on. Members of an extension are not listed one by one, the extension is.
 */
export async function readNotExported(query: Query, schemaOid: string): Promise<NotExported[]> {
  const rows = await query<{ kind: string; name: string; detail: string | null }>(NOT_EXPORTED_SQL, [schemaOid])
  return rows.map(withoutNulls)
}

export const compareNotExported = (a: NotExported, b: NotExported): number =>
  compareText(a.kind, b.kind) || compareText(a.name, b.name) || compareText(a.detail ?? '', b.detail ?? '')

/** To whom something was granted, of a row `g` of `aclexplode`. */
const GRANTED_SQL = `
  g.privilege_type || ' to ' || COALESCE(pg_catalog.pg_get_userbyid(NULLIF(g.grantee, 0)), 'everybody')`

const EXTENSIONS_SQL = `
SELECT 'extension' AS kind, e.extname::text AS name, NULL::text AS detail
  FROM pg_catalog.pg_extension e
 WHERE e.extnamespace = $1::pg_catalog.oid`

/** Objects of a catalog, `o`, with a name in the schema: the kind, the name, a detail, and which rows. */
const NAMED_OBJECTS: readonly { from: string; kind: string; name: string; detail?: string; where: string }[] = [
  {
    from: 'pg_class',
    kind: `'foreign table'`,
    name: 'o.relname::text',
    detail: `'its rows are not exported either'`,
    where: `o.relnamespace = $1::pg_catalog.oid AND o.relkind = 'f'`,
  },
  {
    from: 'pg_type',
    kind: `CASE WHEN o.typisdefined THEN 'base type' ELSE 'shell type' END`,
    name: 'o.typname::text',
    where: `o.typnamespace = $1::pg_catalog.oid AND o.typtype IN ('b', 'p')
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.typarray = o.oid)`,
  },
  ...[
    ['pg_opclass', 'operator class', 'opc'],
    ['pg_opfamily', 'operator family', 'opf'],
    ['pg_conversion', 'conversion', 'con'],
    ['pg_ts_parser', 'text search parser', 'prs'],
    ['pg_ts_template', 'text search template', 'tmpl'],
  ].map(([from = '', kind = '', prefix = '']) => ({
    from,
    kind: `'${kind}'`,
    name: `o.${prefix}name::text`,
    where: `o.${prefix}namespace = $1::pg_catalog.oid`,
  })),
]

const ON_TABLE = 'c.relnamespace = $1::pg_catalog.oid'

/** What hangs on the schema's tables, each `c`. */
const TABLE_OBJECTS: readonly string[] = [
  `SELECT 'tablespace', c.relname::text, 'is in ' || s.spcname
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
    WHERE ${ON_TABLE} AND c.relkind IN ('r', 'p', 'i', 'I')`,
  `SELECT 'publication', p.pubname::text, 'of ' || c.relname
     FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel l ON l.prpubid = p.oid
     JOIN pg_catalog.pg_class c ON c.oid = l.prrelid
    WHERE ${ON_TABLE}`,
  `SELECT 'column options', c.relname || '.' || a.attname, pg_catalog.array_to_string(a.attoptions, ', ')
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    WHERE ${ON_TABLE} AND c.relkind = 'm' AND a.attoptions IS NOT NULL AND NOT a.attisdropped`,
  `SELECT 'index statistics', c.relname::text, 'column ' || a.attnum || ' has the target ' || a.attstattarget
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    WHERE ${ON_TABLE} AND c.relkind IN ('i', 'I') AND a.attstattarget >= 0`,
  `SELECT 'grant', c.relname::text, ${GRANTED_SQL}
     FROM pg_catalog.pg_class c CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) g
    WHERE ${ON_TABLE} AND c.relkind IN ('r', 'p', 'S') AND g.grantee <> c.relowner`,
  `SELECT 'grant', c.relname || '.' || a.attname, ${GRANTED_SQL}
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
    CROSS JOIN LATERAL pg_catalog.aclexplode(a.attacl) g
    WHERE ${ON_TABLE} AND c.relkind IN ('r', 'p') AND g.grantee <> c.relowner`,
]

const IS_MEMBER_SQL = `
  EXISTS (SELECT FROM pg_catalog.pg_depend d
           WHERE d.classid = o.tableoid AND d.objid = o.oid AND d.deptype = 'e')`

const OTHERS_SQL = `
SELECT 'grant', t.typname::text, ${GRANTED_SQL}
  FROM pg_catalog.pg_type t CROSS JOIN LATERAL pg_catalog.aclexplode(t.typacl) g
 WHERE t.typnamespace = $1::pg_catalog.oid AND g.grantee NOT IN (0, t.typowner)
UNION ALL
SELECT 'grant', 'the stage''s schema', ${GRANTED_SQL}
  FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) g
 WHERE n.oid = $1::pg_catalog.oid AND g.grantee <> n.nspowner
UNION ALL
SELECT 'default privileges', pg_catalog.pg_get_userbyid(a.defaclrole)::text,
       CASE a.defaclobjtype WHEN 'r' THEN 'for tables' WHEN 'S' THEN 'for sequences' WHEN 'f' THEN 'for functions'
                            WHEN 'T' THEN 'for types' END
  FROM pg_catalog.pg_default_acl a
 WHERE a.defaclnamespace = $1::pg_catalog.oid
UNION ALL
SELECT 'publication', p.pubname::text, 'of the whole schema'
  FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace n ON n.pnpubid = p.oid
 WHERE n.pnnspid = $1::pg_catalog.oid
UNION ALL
SELECT 'security label', pg_catalog.pg_describe_object(l.classoid, l.objoid, l.objsubid), l.provider
  FROM pg_catalog.pg_seclabel l
 WHERE l.objoid IN (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = $1::pg_catalog.oid
                    UNION ALL SELECT oid FROM pg_catalog.pg_type WHERE typnamespace = $1::pg_catalog.oid)`

// On NOT NULL constraints, which PostgreSQL has as objects of their own since version 18; those of domains since 17.
const COMMENTS_SQL = `
SELECT 'comment', pg_catalog.pg_describe_object(d.classoid, d.objoid, d.objsubid), NULL
  FROM pg_catalog.pg_description d
  JOIN pg_catalog.pg_constraint k
    ON d.classoid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objoid = k.oid
 WHERE k.connamespace = $1::pg_catalog.oid AND k.contype = 'n'`

const NOT_EXPORTED_SQL = [
  EXTENSIONS_SQL,
  ...NAMED_OBJECTS.map(
    ({ from, kind, name, detail = 'NULL', where }) =>
      `SELECT ${kind}, ${name}, ${detail} FROM pg_catalog.${from} o
        WHERE ${where} AND NOT ${IS_MEMBER_SQL}`,
  ),
  ...TABLE_OBJECTS,
  OTHERS_SQL,
  COMMENTS_SQL,
].join('\nUNION ALL\n')
