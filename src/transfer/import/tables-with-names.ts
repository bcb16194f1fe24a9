import { OBJECT_NAME_TYPES_SQL } from '../../database/object-name-types.ts'
import type { Query } from '../structure/query.ts'

/**
 * The tables of a schema that have columns whose values name objects (`regclass` and its kin, arrays and domains of these,
 * and row types and ranges with such values in them). What they name may be made after the rows: an index, a view, a
 * function over the row type of a table.
 */
export async function tablesWithNames(query: Query, schemaName: string): Promise<ReadonlySet<string>> {
  const found = await query<{ name: string }>(TABLES_SQL, [schemaName])
  return new Set(found.map(({ name }) => name))
}

const TABLES_SQL = `
WITH RECURSIVE part (relation, type) AS (
  SELECT c.oid, a.atttypid
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
   WHERE c.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1))::pg_catalog.oid AND c.relkind = 'r'
     AND a.attnum > 0 AND NOT a.attisdropped
   UNION
  SELECT part.relation, inner_type.oid
    FROM part JOIN pg_catalog.pg_type t ON t.oid = part.type
   CROSS JOIN LATERAL (
     VALUES (t.typbasetype), (t.typelem)
      UNION ALL
     SELECT rngsubtype FROM pg_catalog.pg_range WHERE t.oid IN (rngtypid, rngmultitypid)
      UNION ALL
     SELECT atttypid FROM pg_catalog.pg_attribute WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped
   ) inner_type (oid)
   WHERE inner_type.oid <> '0'
)
SELECT DISTINCT c.relname::text AS name
  FROM part JOIN pg_catalog.pg_class c ON c.oid = part.relation
 WHERE part.type IN (${OBJECT_NAME_TYPES_SQL})`
