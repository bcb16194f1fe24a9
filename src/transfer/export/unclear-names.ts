import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import type { NotExported } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'

interface NameColumn {
  readonly table: string
  readonly column: string
  /** `regclass` and its kin. */
  readonly type: string
  readonly is_array: boolean
}

/**
 * Counts the values of `regclass` and its kin that no import takes, in columns of these types, of domains over them, and of
 * arrays of these: an overloaded function as a `regproc`, or what PostgreSQL's own hides, is written with the stage's schema,
 * or is one of several of its name. Only tables with such columns are read.
 *
 * @param query asks as the project's own login, within the export's snapshot; its search path is the stage's.
 * @param tables those that are exported.
 */
export async function findUnclearNames(
  query: Query,
  schemaName: string,
  tables: readonly string[],
): Promise<NotExported[]> {
  const exported = new Set(tables)
  const found: NotExported[] = []
  for (const column of await query<NameColumn>(COLUMNS_SQL, [schemaName])) {
    if (!exported.has(column.table)) continue
    const [row] = await query<{ values: string; example: string }>(countSql(schemaName, column), [])
    const values = Number(row?.values ?? 0)
    if (values === 0) continue
    const detail =
      `${values} value${values === 1 ? '' : 's'} that no import takes, such as ${row?.example}, ` +
      'whose name alone does not say what it is'
    found.push({ kind: 'value', name: `${column.table}.${column.column}`, detail, rows: true })
  }
  return found
}

const NAMES = ['class', 'collation', 'config', 'dictionary', 'oper', 'operator', 'proc', 'procedure', 'type']
  .map((kind) => `'pg_catalog.reg${kind}'::pg_catalog.regtype`)
  .join(', ')

const COLUMNS_SQL = `
WITH RECURSIVE part (relation, number, type, is_array) AS (
  SELECT a.attrelid, a.attnum, a.atttypid, false
    FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
   WHERE n.nspname = $1::pg_catalog.name AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
   UNION ALL
  SELECT part.relation, part.number, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END,
         part.is_array OR t.typtype <> 'd'
    FROM part JOIN pg_catalog.pg_type t ON t.oid = part.type
   WHERE t.typtype = 'd' OR t.typcategory = 'A'
)
SELECT c.relname::text AS "table", a.attname::text AS "column", t.typname::text AS type, part.is_array
  FROM part JOIN pg_catalog.pg_class c ON c.oid = part.relation
  JOIN pg_catalog.pg_attribute a ON a.attrelid = part.relation AND a.attnum = part.number
  JOIN pg_catalog.pg_type t ON t.oid = part.type
 WHERE part.type IN (${NAMES})
 ORDER BY c.relname, a.attnum`

/** The types that have no function which looks for a name. */
const WITHOUT_SEARCH: ReadonlySet<string> = new Set(['regconfig', 'regdictionary'])

/** Numbers are of what is not there any more, and `-` is nothing: these are taken as they are. */
function countSql(schemaName: string, { table, column, type, is_array }: NameColumn): string {
  const value = `t.${quoteIdentifier(column)}`
  const each = is_array ? `pg_catalog.unnest(${value})` : value
  const hidden = `pg_catalog.strpos(named.name, ${quoteLiteral(`${quoteIdentifier(schemaName)}.`)}) OPERATOR(pg_catalog.>) 0`
  const notFound = `named.name IS NOT NULL AND CASE WHEN named.name OPERATOR(pg_catalog.~) '^([0-9]+|-)$' THEN false ELSE pg_catalog.to_${type}(named.name) IS NULL END`
  return `
    SELECT pg_catalog.count(*)::text AS values, pg_catalog.min(named.name) AS example
      FROM ONLY ${quoteQualified(schemaName, table)} t
     CROSS JOIN LATERAL (SELECT ${each} AS value) element
     CROSS JOIN LATERAL (SELECT element.value::pg_catalog.${type}::pg_catalog.text AS name) named
     WHERE ${WITHOUT_SEARCH.has(type) ? hidden : `(${hidden} OR (${notFound}))`}`
}
