import type { ObjectKey } from './dependencies.ts'
import type { ColumnLine } from './lines.ts'
import type { Query } from './query.ts'
import type { ValueType } from './value-expressions.ts'

export interface ColumnRow {
  readonly table_oid: string
  readonly number: number
  readonly name: string
  readonly type: string
  readonly value_type: ValueType
  readonly nullable: boolean
  /** PostgreSQL 18: the column has a NOT NULL that the rows in it were never checked against. */
  readonly not_null_unchecked: boolean
  readonly default_key: ObjectKey | null
  /** The default, or the expression of a generated column. */
  readonly default: string | null
  readonly generated_kind: 'stored' | 'virtual' | null
  readonly identity: 'always' | 'by default' | null
  readonly collation: string | null
  /** Whether the collation is PostgreSQL's own and not the project's. */
  readonly collation_built_in: boolean
  readonly storage: ColumnLine['storage'] | null
  readonly compression: ColumnLine['compression'] | null
  readonly statistics: number | null
  readonly comment: string | null
}

/** Reads the columns of the schema's ordinary tables, in their order. */
export async function readColumns(query: Query, schemaOid: string): Promise<ColumnRow[]> {
  return query<ColumnRow>(COLUMNS_SQL, [schemaOid])
}

// The statistics target is -1 by default up to PostgreSQL 16, and NULL from 17.
const COLUMNS_SQL = `
SELECT a.attrelid::text AS table_oid, a.attnum::int4 AS number, a.attname::text AS name,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       pg_catalog.json_build_object(
         'name', base.typname, 'kind', base.typtype,
         'isArray', base.typcategory = 'A', 'isBuiltIn', base.oid < 16384,
         'hasOwnCast', EXISTS (
           SELECT FROM pg_catalog.pg_cast p
            WHERE p.castsource = base.oid AND p.oid >= 16384
              AND p.casttarget IN ('pg_catalog.text'::pg_catalog.regtype, 'pg_catalog.json'::pg_catalog.regtype))
       ) AS value_type,
       NOT a.attnotnull OR unchecked.found AS nullable,
       unchecked.found AS not_null_unchecked,
       'pg_attrdef:' || d.oid AS default_key,
       pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS default,
       CASE a.attgenerated WHEN 's' THEN 'stored' WHEN 'v' THEN 'virtual' END AS generated_kind,
       CASE a.attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' END AS identity,
       pg_catalog.quote_ident(l.collname::text) AS collation,
       COALESCE(l.collnamespace = 'pg_catalog'::pg_catalog.regnamespace, true) AS collation_built_in,
       CASE WHEN a.attstorage <> t.typstorage THEN
         CASE a.attstorage WHEN 'p' THEN 'plain' WHEN 'e' THEN 'external' WHEN 'm' THEN 'main' ELSE 'extended' END
       END AS storage,
       CASE a.attcompression WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4' END AS compression,
       NULLIF(a.attstattarget, -1)::int4 AS statistics,
       pg_catalog.col_description(a.attrelid, a.attnum) AS comment
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  CROSS JOIN LATERAL (
    WITH RECURSIVE chain AS (
      SELECT t.oid, t.typtype, t.typbasetype
      UNION ALL
      SELECT b.oid, b.typtype, b.typbasetype
        FROM chain JOIN pg_catalog.pg_type b ON b.oid = chain.typbasetype
       WHERE chain.typtype = 'd'
    )
    SELECT b.* FROM chain JOIN pg_catalog.pg_type b ON b.oid = chain.oid WHERE chain.typtype <> 'd'
  ) base
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint n
                    WHERE n.conrelid = a.attrelid AND n.contype = 'n' AND NOT n.convalidated
                      AND n.conkey[1] = a.attnum) AS found
  ) unchecked
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation AND a.attcollation <> t.typcollation
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attrelid, a.attnum`
