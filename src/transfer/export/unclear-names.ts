import { innerTypes, OBJECT_NAME_TYPES_SQL } from '../../database/object-name-types.ts'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import type { NotExported } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'
import { describeColumns } from './describe-columns.ts'

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
  const columns = await query<NameColumn>(COLUMNS_SQL, [schemaName])
  return describeColumns(columns, tables, async (column) => {
    const [row] = await query<{ values: string; example: string }>(countSql(schemaName, column), [])
    const values = Number(row?.values ?? 0)
    if (values === 0) return undefined
    const detail =
      `${values} value${values === 1 ? '' : 's'} that no import takes, such as ${row?.example}, ` +
      'whose name alone does not say what it is'
    return { kind: 'value', detail, rows: true }
  })
}

const COLUMNS_SQL = `
WITH RECURSIVE ${innerTypes(`
  c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name) AND c.relkind = 'r'`)}
SELECT c.relname::text AS "table", a.attname::text AS "column", t.typname::text AS type, inner_type.is_array
  FROM inner_type JOIN pg_catalog.pg_class c ON c.oid = inner_type.relation
  JOIN pg_catalog.pg_attribute a ON a.attrelid = inner_type.relation AND a.attnum = inner_type.number
  JOIN pg_catalog.pg_type t ON t.oid = inner_type.oid
 WHERE inner_type.oid IN (${OBJECT_NAME_TYPES_SQL})
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
