import type { ObjectKey } from './dependencies.ts'
import type { Query } from './query.ts'

/** What all kinds of type have in common. `visible` is false where a built-in type of the same name hides it. */
interface TypeRow {
  readonly key: ObjectKey
  readonly name: string
  readonly visible: boolean
  readonly comment: string | null
}

export interface EnumRow extends TypeRow {
  readonly values: string[]
}

export interface DomainRow extends TypeRow {
  readonly default_key: ObjectKey
  readonly type: string
  readonly nullable: boolean
  readonly default: string | null
  readonly collation: string | null
  readonly checks: readonly { key: ObjectKey; name: string; definition: string }[]
}

export interface CompositeRow extends TypeRow {
  readonly attributes: readonly { name: string; type: string; collation: string | null }[]
}

export interface RangeRow extends TypeRow {
  readonly subtype: string
  readonly operator_class: string | null
  readonly collation: string | null
  readonly difference: string | null
  readonly multirange: string
}

export interface TypeRows {
  readonly enums: readonly EnumRow[]
  readonly domains: readonly DomainRow[]
  readonly composites: readonly CompositeRow[]
  readonly ranges: readonly RangeRow[]
}

/** Reads the schema's enums, domains, standalone composite types and ranges. */
export async function readTypes(query: Query, schemaOid: string): Promise<TypeRows> {
  return {
    enums: await query<EnumRow>(ENUMS_SQL, [schemaOid]),
    domains: await query<DomainRow>(DOMAINS_SQL, [schemaOid]),
    composites: await query<CompositeRow>(COMPOSITES_SQL, [schemaOid]),
    ranges: await query<RangeRow>(RANGES_SQL, [schemaOid]),
  }
}

const COMMON_SQL = `
       'pg_type:' || t.oid AS key, t.typname::text AS name, pg_catalog.pg_type_is_visible(t.oid) AS visible,
       pg_catalog.obj_description(t.oid, 'pg_type') AS comment`

const ENUMS_SQL = `
SELECT ${COMMON_SQL},
       ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
         AS values
  FROM pg_catalog.pg_type t
 WHERE t.typnamespace = $1::pg_catalog.oid AND t.typtype = 'e'
 ORDER BY t.typname`

const DOMAINS_SQL = `
SELECT ${COMMON_SQL},
       'domain default:' || t.oid AS default_key,
       pg_catalog.format_type(t.typbasetype, t.typtypmod) AS type,
       NOT t.typnotnull AS nullable,
       pg_catalog.pg_get_expr(t.typdefaultbin, 0) AS default,
       pg_catalog.quote_ident(l.collname::text) AS collation,
       COALESCE((
         SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                  'key', 'pg_constraint:' || c.oid, 'name', c.conname,
                  'definition', pg_catalog.pg_get_constraintdef(c.oid)) ORDER BY c.conname)
           FROM pg_catalog.pg_constraint c
          WHERE c.contypid = t.oid AND c.contype = 'c'), '[]') AS checks
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_type base ON base.oid = t.typbasetype
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = t.typcollation AND t.typcollation <> base.typcollation
 WHERE t.typnamespace = $1::pg_catalog.oid AND t.typtype = 'd'
 ORDER BY t.typname`

const COMPOSITES_SQL = `
SELECT ${COMMON_SQL},
       COALESCE((
         SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                  'name', a.attname, 'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
                  'collation', pg_catalog.quote_ident(l.collname::text)) ORDER BY a.attnum)
           FROM pg_catalog.pg_attribute a
           JOIN pg_catalog.pg_type own ON own.oid = a.atttypid
           LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation AND a.attcollation <> own.typcollation
          WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped), '[]') AS attributes
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
 WHERE t.typnamespace = $1::pg_catalog.oid AND t.typtype = 'c' AND c.relkind = 'c'
 ORDER BY t.typname`

// A subtype's usual operator class and collation need no mention. A canonical function is the project's own in every
// case, since it takes the range itself: such a range depends on a function and is left out for that.
const RANGES_SQL = `
SELECT ${COMMON_SQL},
       pg_catalog.format_type(r.rngsubtype, NULL) AS subtype,
       CASE WHEN NOT o.opcdefault THEN pg_catalog.quote_ident(o.opcname::text) END AS operator_class,
       pg_catalog.quote_ident(l.collname::text) AS collation,
       pg_catalog.quote_ident(f.proname::text) AS difference,
       m.typname::text AS multirange
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid
  JOIN pg_catalog.pg_type sub ON sub.oid = r.rngsubtype
  JOIN pg_catalog.pg_type m ON m.oid = r.rngmultitypid
  JOIN pg_catalog.pg_opclass o ON o.oid = r.rngsubopc
  LEFT JOIN pg_catalog.pg_proc f ON f.oid = r.rngsubdiff
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = r.rngcollation AND r.rngcollation <> sub.typcollation
 WHERE t.typnamespace = $1::pg_catalog.oid
 ORDER BY t.typname`
