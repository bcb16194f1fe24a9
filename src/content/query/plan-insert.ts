import { quoteIdentifier } from '../../database/quoting.ts'
import { invalidRequest } from '../../errors.ts'
import type { CatalogColumn, CatalogTable, StageCatalog } from './catalog.ts'
import { findColumn } from './column-sql.ts'
import { LIMITS } from './limits.ts'
import { arrayLiteral } from './parameters.ts'
import type { ParsedQuery } from './parse-query.ts'
import type { InsertOptions, QueryParameters, WritePlan } from './plans.ts'
import { type Body, readBody, writtenColumns } from './read-body.ts'
import { definitions, finishWrite, prepareWrite, type Write } from './write.ts'

/**
 * Turns an insert into one statement, which gives one row (`WriteRow`).
 *
 * @param text JSON: an object, or an array of objects.
 * @throws {AppError} like `planRead`; CONFLICT where the table can't be written to, being a view.
 */
export function planInsert(
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  text: string,
  options: InsertOptions,
): WritePlan {
  const write = prepareWrite(catalog, tableName, query, options)
  if (write.target.conditions.length > 0) throw invalidRequest('an insert takes no filters')
  const body = readBody(text)
  const withDefaults = options.missing === 'default'
  const columns = writtenColumns(write.table, body, write.query.columns, withDefaults)
  const groups = withDefaults ? byColumnSet(body, columns) : [{ columns, positions: null }]
  const json = write.scope.parameters.of(body.text, 'pg_catalog.json')
  const inserts = groups.map((group) => {
    // A column that is not inserted is its default in EXCLUDED, so a row that is merged gets that as a new one would.
    const merged = write.query.columns ? columns : group.columns
    return `INSERT INTO ${write.name} AS ${write.target.alias}${insertSql(write, json, body, group)}${onConflict(write, options, merged)}`
  })
  return finishWrite(write, inserts, body, true)
}

/** Rows of an insert that set the same columns. */
interface Group {
  readonly columns: readonly CatalogColumn[]
  /** Which of the body's objects they are, counted from 1; null for all. */
  readonly positions: readonly number[] | null
}

/** So that a column that a row does not name gets its default, rows go into the table by the columns that they name. */
function byColumnSet({ rows }: Body, columns: readonly CatalogColumn[]): readonly Group[] {
  const groups = new Map<string, { columns: readonly CatalogColumn[]; positions: number[] }>()
  for (const [index, row] of rows.entries()) {
    const named = columns.filter(({ name }) => Object.hasOwn(row, name))
    const set = JSON.stringify(named.map(({ name }) => name))
    const group = groups.get(set)
    if (group) group.positions.push(index + 1)
    else groups.set(set, { columns: named, positions: [index + 1] })
  }
  if (groups.size > LIMITS.columnSets) {
    throw invalidRequest(
      `the objects name ${groups.size} different sets of columns; with "missing=default" at most ${LIMITS.columnSets} are taken`,
    )
  }
  return groups.size === 0 ? [{ columns, positions: null }] : [...groups.values()]
}

function insertSql({ scope }: Write, json: string, { isArray }: Body, { columns, positions }: Group): string {
  const array = isArray ? json : `pg_catalog.json_build_array(${json})`
  const objects = `pg_catalog.json_array_elements(${array}) WITH ORDINALITY AS object (content, ordinal)`
  const chosen = positions
    ? ` WHERE object.ordinal = ANY (${scope.parameters.of(arrayLiteral(positions.map(String)), 'pg_catalog._int8')})`
    : ''
  if (columns.length === 0) return ` SELECT FROM ${objects}${chosen}`
  const names = columns.map(({ name }) => quoteIdentifier(name))
  const record = `pg_catalog.json_to_record(object.content) AS given (${definitions(columns)})`
  const values = names.map((name) => `given.${name}`).join(', ')
  return ` (${names.join(', ')}) SELECT ${values} FROM ${objects} CROSS JOIN LATERAL ${record}${chosen}`
}

function onConflict({ table, query }: Write, options: InsertOptions, columns: readonly CatalogColumn[]): string {
  const { onDuplicate = 'fail' } = options
  if (onDuplicate === 'fail') return ''
  const key = conflictKey(table, query)
  const target = `(${key.map(quoteIdentifier).join(', ')})`
  if (onDuplicate === 'ignore' || columns.length === 0) return ` ON CONFLICT ${target} DO NOTHING`
  const set = columns.map(({ name }) => `${quoteIdentifier(name)} = EXCLUDED.${quoteIdentifier(name)}`)
  return ` ON CONFLICT ${target} DO UPDATE SET ${set.join(', ')}`
}

/** The columns by which a row is known to be there already: those of `on_conflict`, else the primary key. */
function conflictKey(table: CatalogTable, { onConflict: list }: ParsedQuery): readonly string[] {
  const known = table.uniqueKeys.map((key) => `(${key.join(', ')})`).join(', ') || 'none'
  if (!list) {
    if (table.primaryKey.length > 0) return table.primaryKey
    throw invalidRequest(
      `"${table.name}" has no primary key: say by "on_conflict" which columns are unique; there are ${known}`,
    )
  }
  const names = new Set(list.names.map(({ name, position }) => findColumn(table, name, list.reader, position).name))
  const key = table.uniqueKeys.find((unique) => unique.length === names.size && unique.every((name) => names.has(name)))
  if (!key) throw list.reader.refused(`these columns are not a unique key of "${table.name}"; there are ${known}`, 0)
  return key
}
