import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import type { NotExported } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'
import { describeColumns } from './describe-columns.ts'

/**
 * Counts the large objects that columns of type `oid`, and of domains over it such as `lo`, refer to: an archive has the
 * references, and not what they refer to. A database without large objects is asked one short question.
 *
 * @param query asks as the project's own login, within the export's snapshot.
 * @param tables those that are exported.
 */
export async function findLargeObjects(
  query: Query,
  schemaName: string,
  tables: readonly string[],
): Promise<NotExported[]> {
  const columns = await query<{ table: string; column: string }>(COLUMNS_SQL, [schemaName])
  return describeColumns(columns, tables, async ({ table, column }) => {
    const [row] = await query<{ objects: string }>(countSql(schemaName, table, column), [])
    const objects = Number(row?.objects ?? 0)
    if (objects === 0) return undefined
    return {
      kind: 'large object',
      detail: `${objects} large object${objects === 1 ? '' : 's'} that the column refers to`,
    }
  })
}

/**
 * Those of the login itself, or of an operator. Others are of other projects: anybody can make one with any number, and
 * must not keep others from exporting by that.
 */
const OWN_SQL = `
  m.lomowner IN (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user OR r.rolsuper)`

const COLUMNS_SQL = `
WITH RECURSIVE referring AS (
  SELECT 'pg_catalog.oid'::pg_catalog.regtype::pg_catalog.oid AS type
   UNION ALL
  SELECT t.oid FROM pg_catalog.pg_type t JOIN referring ON t.typbasetype = referring.type
   WHERE t.typtype = 'd'
)
SELECT c.relname::text AS "table", a.attname::text AS "column"
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
 WHERE n.nspname = $1::pg_catalog.name AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
   AND a.atttypid IN (SELECT type FROM referring)
   AND EXISTS (SELECT FROM pg_catalog.pg_largeobject_metadata m WHERE ${OWN_SQL})
 ORDER BY c.relname, a.attnum`

/** PostgreSQL counts, with files of its own where memory does not do. */
const countSql = (schemaName: string, table: string, column: string): string => `
SELECT pg_catalog.count(*)::text AS objects
  FROM pg_catalog.pg_largeobject_metadata m
 WHERE ${OWN_SQL}
   AND EXISTS (SELECT FROM ONLY ${quoteQualified(schemaName, table)} t
                WHERE t.${quoteIdentifier(column)}::pg_catalog.oid OPERATOR(pg_catalog.=) m.oid)`
