import { quoteIdentifier, quoteQualified } from '../../../database/quoting.ts'
import { commentOn, storageParameters } from '../clauses.ts'
import { jsonObject } from '../query.ts'
import { IS_OWN_SQL, type ObjectKind, type ObjectLineOf, type ObjectRow } from './object-kind.ts'

type ViewLine = ObjectLineOf<'view'>

/** SQL for a list of the columns of a relation `o` that has no rows of its own. */
export const columnsSql = (properties: Readonly<Record<string, string>>): string => `COALESCE((
         SELECT pg_catalog.json_agg(${jsonObject(properties)} ORDER BY a.attnum)
           FROM pg_catalog.pg_attribute a
           JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
           LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation AND a.attcollation <> t.typcollation
           LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
          WHERE a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]')`

/** Of a view, or a materialized view. */
export const COLUMN = {
  name: 'a.attname',
  comment: 'pg_catalog.col_description(a.attrelid, a.attnum)',
}

const VIEW_COLUMN = { ...COLUMN, default: 'pg_catalog.pg_get_expr(d.adbin, d.adrelid)' }

const TYPED_COLUMNS_SQL = columnsSql({
  ...VIEW_COLUMN,
  type: 'pg_catalog.format_type(a.atttypid, a.atttypmod)',
  collation: 'pg_catalog.quote_ident(l.collname::text)',
})

/** The columns of a view with their types: what it can be made of for now. */
export const typedColumns = (
  row: ObjectRow<'view'> & { readonly typed_columns?: unknown },
): ViewLine['columns'] | null => (row.typed_columns ?? null) as ViewLine['columns'] | null

/** The query of a view, without the semicolon at its end. */
export const QUERY_SQL = `pg_catalog.rtrim(pg_catalog.pg_get_viewdef(o.oid), ';')`

/** `name (columns) WITH (options) AS query`. */
export function viewClauses({ name, columns, options = [], definition }: Omit<ViewLine, 'checkOption'>): string {
  const names = columns.map((column) => quoteIdentifier(column.name))
  const list = names.length === 0 ? '' : ` (${names.join(', ')})`
  const parameters = options.length === 0 ? '' : ` WITH (${storageParameters(options)})`
  return `${quoteIdentifier(name)}${list}${parameters} AS ${definition}`
}

export const viewColumnComments = ({ name, columns }: Pick<ViewLine, 'name' | 'columns'>): readonly string[] =>
  columns.flatMap((column) => commentOn(`COLUMN ${quoteQualified(name, column.name)}`, column.comment))

const isInTwoSteps = ({ columns }: ViewLine): boolean =>
  columns.length > 0 && columns.every(({ type }) => type !== undefined)

/** The first step of a view that is made in two: its columns, without rows. */
export function createColumns(line: ViewLine): readonly string[] {
  if (!isInTwoSteps(line)) return []
  const nulls = line.columns.map(({ name, type, collation }) => {
    const collate = collation === undefined ? '' : ` COLLATE ${collation}`
    return `NULL::${type}${collate} AS ${quoteIdentifier(name)}`
  })
  return [`CREATE VIEW ${quoteIdentifier(line.name)} AS SELECT ${nulls.join(', ')}`]
}

const LINE_SQL = jsonObject({
  name: 'o.relname',
  columns: columnsSql(VIEW_COLUMN),
  definition: QUERY_SQL,
  options: `(SELECT pg_catalog.array_agg(p) FROM pg_catalog.unnest(o.reloptions) p WHERE p NOT LIKE 'check_option=%')`,
  checkOption: `(SELECT pg_catalog.substr(p, 14) FROM pg_catalog.unnest(o.reloptions) p WHERE p LIKE 'check_option=%')`,
  comment: `pg_catalog.obj_description(o.oid, 'pg_class')`,
})

export const VIEW: ObjectKind<'view'> = {
  noun: 'view',
  sql: `
SELECT 'pg_class:' || o.oid::text AS key, o.relname::text AS name, NULL AS blocker, ${LINE_SQL} AS line,
       ${TYPED_COLUMNS_SQL} AS typed_columns
  FROM pg_catalog.pg_class o
 WHERE o.relnamespace = $1::pg_catalog.oid AND o.relkind = 'v' AND ${IS_OWN_SQL}
 ORDER BY o.relname`,
  nameOf: ({ name }) => name,
  create: (line) => {
    const check = line.checkOption === undefined ? '' : ` WITH ${line.checkOption.toUpperCase()} CHECK OPTION`
    const defaults = line.columns.flatMap(({ name, default: expression }) =>
      expression === undefined ? [] : [`ALTER COLUMN ${quoteIdentifier(name)} SET DEFAULT ${expression}`],
    )
    return [
      `CREATE ${isInTwoSteps(line) ? 'OR REPLACE ' : ''}VIEW ${viewClauses(line)}${check}`,
      ...defaults.map((change) => `ALTER VIEW ${quoteIdentifier(line.name)} ${change}`),
      ...commentOn(`VIEW ${quoteIdentifier(line.name)}`, line.comment),
      ...viewColumnComments(line),
    ]
  },
  drop: ({ name }) => `DROP VIEW IF EXISTS ${quoteIdentifier(name)} CASCADE`,
}
