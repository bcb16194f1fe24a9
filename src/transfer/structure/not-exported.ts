import { catalogOid } from '../../database/catalog-oids.ts'
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

/** To whom somebody else than the owner granted something, of a row `g` of `aclexplode`. */
const GRANTED_SQL = `
  g.privilege_type || ' to ' || COALESCE(pg_catalog.pg_get_userbyid(NULLIF(g.grantee, '0'))::text, 'everybody')
  || ', granted by ' || pg_catalog.pg_get_userbyid(g.grantor)::text`

/** What others than their owners have granted on objects: only they could grant it again. @param prefix of the columns. */
const grantedByOthers = (catalog: string, alias: string, prefix: string, name: string): string =>
  `SELECT 'grant', ${name}, ${GRANTED_SQL}
     FROM pg_catalog.${catalog} ${alias} CROSS JOIN LATERAL pg_catalog.aclexplode(${alias}.${prefix}acl) g
    WHERE ${alias}.${prefix}namespace = $1::pg_catalog.oid AND g.grantor <> ${alias}.${prefix}owner`

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
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.oid = o.typelem AND e.typarray = o.oid)`,
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
  `SELECT 'tablespace', c.relname::text, 'is in ' || s.spcname::text
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
    WHERE ${ON_TABLE} AND c.relkind IN ('r', 'p', 'i', 'I', 'm')`,
  // A reader of the table reads their rows, too.
  `SELECT CASE WHEN child.relispartition THEN 'partitioned table' ELSE 'table' END, c.relname::text,
          CASE WHEN child.relispartition THEN 'its partition ' ELSE 'its child table ' END
          || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(child.relname)
          || ' is in another schema; the rows of that are not exported'
     FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class c ON c.oid = h.inhparent
     JOIN pg_catalog.pg_class child ON child.oid = h.inhrelid
     JOIN pg_catalog.pg_namespace n ON n.oid = child.relnamespace
    WHERE ${ON_TABLE} AND c.relkind IN ('r', 'p') AND child.relnamespace <> c.relnamespace`,
  `SELECT 'publication', p.pubname::text, 'of ' || c.relname::text
     FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel l ON l.prpubid = p.oid
     JOIN pg_catalog.pg_class c ON c.oid = l.prrelid
    WHERE ${ON_TABLE}`,
  `SELECT 'index statistics', c.relname::text, 'column ' || a.attnum::text || ' has the target ' || a.attstattarget::text
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    WHERE ${ON_TABLE} AND c.relkind IN ('i', 'I') AND a.attstattarget >= 0`,
  `SELECT 'subscription', s.subname::text, 'of ' || c.relname::text
     FROM pg_catalog.pg_subscription s JOIN pg_catalog.pg_subscription_rel l ON l.srsubid = s.oid
     JOIN pg_catalog.pg_class c ON c.oid = l.srrelid
    WHERE ${ON_TABLE}`,
  grantedByOthers('pg_class', 'c', 'rel', 'c.relname::text'),
  `SELECT 'grant', c.relname::text || '.' || a.attname::text, ${GRANTED_SQL}
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
    CROSS JOIN LATERAL pg_catalog.aclexplode(a.attacl) g
    WHERE ${ON_TABLE} AND g.grantor <> c.relowner`,
  grantedByOthers('pg_proc', 'p', 'pro', 'p.oid::pg_catalog.regprocedure::text'),
  grantedByOthers('pg_type', 't', 'typ', 't.typname::text'),
]

const IS_MEMBER_SQL = `
  EXISTS (SELECT FROM pg_catalog.pg_depend d
           WHERE d.classid = o.tableoid AND d.objid = o.oid AND d.deptype = 'e')`

/** Objects that the session's own login does not own: a superuser may make some in the schema. */
const OWNED_BY_OTHERS: readonly string[] = [
  ['pg_class', 'rel', `AND o.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')`],
  // Those of a range, which come with it, belong to PostgreSQL.
  [
    'pg_proc',
    'pro',
    `AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend i
                    WHERE i.classid = o.tableoid AND i.objid = o.oid AND i.deptype = 'i')`,
  ],
  ['pg_type', 'typ', `AND o.typtype IN ('d', 'e', 'r')`],
  ['pg_operator', 'opr', ''],
  ['pg_collation', 'coll', ''],
  ['pg_statistic_ext', 'stx', ''],
  ['pg_ts_dict', 'dict', ''],
  ['pg_ts_config', 'cfg', ''],
].map(
  ([catalog = '', prefix = '', where = '']) =>
    `SELECT 'owner', o.${prefix}name::text, 'belongs to ' || pg_catalog.pg_get_userbyid(o.${prefix}owner)::text
       FROM pg_catalog.${catalog} o
      WHERE o.${prefix}namespace = $1::pg_catalog.oid ${where}
        AND pg_catalog.pg_get_userbyid(o.${prefix}owner) <> CURRENT_USER AND NOT ${IS_MEMBER_SQL}`,
)

// Before PostgreSQL 15, there is no publication of a whole schema, nor a catalog of them.
const OTHERS_SQL = `
SELECT 'grant', 'the stage''s schema', ${GRANTED_SQL}
  FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) g
 WHERE n.oid = $1::pg_catalog.oid AND g.grantor <> n.nspowner
UNION ALL
SELECT 'default privileges', pg_catalog.pg_get_userbyid(a.defaclrole)::text,
       CASE a.defaclobjtype WHEN 'r' THEN 'for tables' WHEN 'S' THEN 'for sequences' WHEN 'f' THEN 'for functions'
                            WHEN 'T' THEN 'for types' END
  FROM pg_catalog.pg_default_acl a
 WHERE a.defaclnamespace = $1::pg_catalog.oid
   AND pg_catalog.pg_get_userbyid(a.defaclrole) <> CURRENT_USER
UNION ALL
SELECT 'event trigger', e.evtname::text, 'calls ' || p.proname::text
  FROM pg_catalog.pg_event_trigger e JOIN pg_catalog.pg_proc p ON p.oid = e.evtfoid
 WHERE p.pronamespace = $1::pg_catalog.oid
UNION ALL
SELECT 'cast', pg_catalog.format_type(k.castsource, NULL) || ' AS ' || pg_catalog.format_type(k.casttarget, NULL),
       'neither of its types is in the schema'
  FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_proc p ON p.oid = k.castfunc
 WHERE p.pronamespace = $1::pg_catalog.oid
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_type t
                    WHERE t.oid IN (k.castsource, k.casttarget) AND t.typnamespace = $1::pg_catalog.oid)
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                    WHERE d.classid = k.tableoid AND d.objid = k.oid AND d.deptype IN ('e', 'i'))
UNION ALL
SELECT 'publication', p.pubname::text, 'of the whole schema'
  FROM pg_catalog.pg_depend n
  JOIN pg_catalog.pg_depend d ON d.classid = n.classid AND d.objid = n.objid
  JOIN pg_catalog.pg_publication p ON d.refclassid = p.tableoid AND d.refobjid = p.oid
 WHERE n.classid = pg_catalog.to_regclass('pg_catalog.pg_publication_namespace')::pg_catalog.oid
   AND n.refclassid = ${catalogOid('pg_namespace')} AND n.refobjid = $1::pg_catalog.oid
UNION ALL
SELECT 'security label', pg_catalog.pg_describe_object(l.classoid, l.objoid, l.objsubid), l.provider
  FROM pg_catalog.pg_seclabel l
 WHERE (l.classoid, l.objoid) IN (
         SELECT ${catalogOid('pg_class')}, oid
           FROM pg_catalog.pg_class WHERE relnamespace = $1::pg_catalog.oid
         UNION ALL SELECT ${catalogOid('pg_type')}, oid
           FROM pg_catalog.pg_type WHERE typnamespace = $1::pg_catalog.oid
         UNION ALL SELECT ${catalogOid('pg_proc')}, oid
           FROM pg_catalog.pg_proc WHERE pronamespace = $1::pg_catalog.oid
         UNION ALL SELECT ${catalogOid('pg_namespace')}, $1::pg_catalog.oid)`

/** Comments on what has no line of its own. */
const COMMENTED: readonly string[] = [
  // NOT NULL constraints, which PostgreSQL has as objects of their own since version 18 (those of domains since 17), and
  // what a table has only because its partitioned table, or one that it inherits from, has it. Keys have lines.
  `SELECT k.tableoid, k.oid FROM pg_catalog.pg_constraint k
    WHERE k.connamespace = $1::pg_catalog.oid
      AND (k.contype = 'n' OR (k.contype = 'c' AND k.conrelid <> '0' AND NOT k.conislocal)
           OR (k.contype = 'f' AND k.conparentid <> '0'))`,
  `SELECT g.tableoid, g.oid FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
    WHERE c.relnamespace = $1::pg_catalog.oid AND g.tgparentid <> '0'`,
  `SELECT r.tableoid, r.oid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
    WHERE c.relnamespace = $1::pg_catalog.oid AND r.rulename = '_RETURN'`,
  `SELECT t.tableoid, t.oid FROM pg_catalog.pg_type t
    WHERE t.typnamespace = $1::pg_catalog.oid AND t.typtype = 'm'`,
]

const COMMENTS_SQL = `
SELECT 'comment', pg_catalog.pg_describe_object(d.classoid, d.objoid, d.objsubid), NULL
  FROM pg_catalog.pg_description d
  JOIN (${COMMENTED.join(' UNION ALL ')}) o (class, oid) ON d.classoid = o.class AND d.objoid = o.oid`

/** What `ALTER … DEPENDS ON EXTENSION` said of functions, triggers, indexes and materialized views. */
const DEPENDS_ON_EXTENSION_SQL = `
SELECT 'dependency', pg_catalog.pg_describe_object(d.classid, d.objid, 0), 'on extension ' || e.extname::text
  FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_extension e
    ON d.refclassid = ${catalogOid('pg_extension')} AND d.refobjid = e.oid
 WHERE d.deptype = 'x' AND (d.classid, d.objid) IN (
         SELECT c.tableoid, c.oid FROM pg_catalog.pg_class c WHERE ${ON_TABLE}
         UNION ALL SELECT p.tableoid, p.oid FROM pg_catalog.pg_proc p WHERE p.pronamespace = $1::pg_catalog.oid
         UNION ALL SELECT g.tableoid, g.oid FROM pg_catalog.pg_trigger g
                     JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid WHERE ${ON_TABLE})`

const NOT_EXPORTED_SQL = [
  EXTENSIONS_SQL,
  ...NAMED_OBJECTS.map(
    ({ from, kind, name, detail = 'NULL', where }) =>
      `SELECT ${kind}, ${name}, ${detail} FROM pg_catalog.${from} o
        WHERE ${where} AND NOT ${IS_MEMBER_SQL}`,
  ),
  ...TABLE_OBJECTS,
  ...OWNED_BY_OTHERS,
  OTHERS_SQL,
  COMMENTS_SQL,
  DEPENDS_ON_EXTENSION_SQL,
].join('\nUNION ALL\n')
