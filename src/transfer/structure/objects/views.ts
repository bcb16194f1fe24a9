import { quoteIdentifier, quoteQualified } from '../../../database/quoting.ts'
import { commentOn, storageParameters } from '../clauses.ts'
import { jsonObject } from '../query.ts'
import { IS_OWN_SQL, type ObjectKind, type ObjectLineOf } from './object-kind.ts'

type ViewLine = ObjectLineOf<'view'>

/** The columns of a relation `o` that has no rows of its own. */
export const VIEW_COLUMNS_SQL = `COALESCE((
         SELECT pg_catalog.json_agg(${jsonObject({
           name: 'a.attname',
           default: 'pg_catalog.pg_get_expr(d.adbin, d.adrelid)',
           comment: 'pg_catalog.col_description(a.attrelid, a.attnum)',
         })} ORDER BY a.attnum)
           FROM pg_catalog.pg_attribute a
           LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
          WHERE a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]')`

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

const LINE_SQL = jsonObject({
  name: 'o.relname',
  columns: VIEW_COLUMNS_SQL,
  definition: QUERY_SQL,
  options: `NULLIF(ARRAY(SELECT p FROM pg_catalog.unnest(o.reloptions) p WHERE p NOT LIKE 'check_option=%'), '{}')`,
  checkOption: `(SELECT pg_catalog.substr(p, 14) FROM pg_catalog.unnest(o.reloptions) p WHERE p LIKE 'check_option=%')`,
  comment: `pg_catalog.obj_description(o.oid, 'pg_class')`,
})

export const VIEW: ObjectKind<'view'> = {
  noun: 'view',
  sql: `
SELECT 'pg_class:' || o.oid AS key, o.relname::text AS name, NULL AS blocker, ${LINE_SQL} AS line
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
      `CREATE VIEW ${viewClauses(line)}${check}`,
      ...defaults.map((change) => `ALTER VIEW ${quoteIdentifier(line.name)} ${change}`),
      ...commentOn(`VIEW ${quoteIdentifier(line.name)}`, line.comment),
      ...viewColumnComments(line),
    ]
  },
  drop: ({ name }) => `DROP VIEW IF EXISTS ${quoteIdentifier(name)} CASCADE`,
}
