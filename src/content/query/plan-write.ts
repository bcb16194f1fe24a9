import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import { conflict, type Fault, invalidRequest } from '../../errors.ts'
import { bodySql } from './body-sql.ts'
import type { CatalogColumn, CatalogTable, StageCatalog } from './catalog.ts'
import { findColumn } from './column-sql.ts'
import { LIMITS } from './limits.ts'
import { arrayLiteral, Parameters } from './parameters.ts'
import { type ParsedQuery, parseQuery } from './parse-query.ts'
import { findTable } from './plan-read.ts'
import type { InsertOptions, QueryParameters, WriteOptions, WritePlan } from './plans.ts'
import { type Body, locateInBody, readBody, writtenColumns } from './read-body.ts'
import { type Scope, selectSql, whereSql } from './select-sql.ts'
import { buildTree, findPresence, type TableNode } from './tree.ts'

/** What a write is planned with. */
interface Write {
  readonly scope: Scope
  readonly query: ParsedQuery
  /** The table, with the conditions on the rows that are written. */
  readonly target: TableNode
  /** The rows written, as `select` wants to see them. */
  readonly seen: TableNode
  readonly table: CatalogTable
  /** As SQL names it. */
  readonly name: string
  readonly options: WriteOptions
}

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
  const write = prepare(catalog, tableName, query, options)
  if (write.target.conditions.length > 0) throw invalidRequest('an insert takes no filters')
  const body = readBody(text)
  const withDefaults = options.missing === 'default'
  const columns = writtenColumns(write.table, body, write.query.columns, withDefaults)
  const groups = withDefaults ? byColumnSet(body, columns) : [{ columns, places: null }]
  const json = write.scope.parameters.of(body.text, 'pg_catalog.json')
  const inserts = groups.map(
    (group) =>
      `INSERT INTO ${write.name} AS ${write.target.alias}${insertSql(write, json, body, group)}${onConflict(write, options, group.columns)}`,
  )
  return finish(write, inserts, body, true)
}

/** Like `planInsert`; the body is one object: the columns to change. */
export function planUpdate(
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  text: string,
  options: WriteOptions,
): WritePlan {
  const write = prepare(catalog, tableName, query, options)
  const body = readBody(text)
  if (body.rows.length !== 1) throw invalidRequest('the body has to be one object: the columns to change')
  const columns = writtenColumns(write.table, body, write.query.columns, false)
  if (columns.length === 0) throw invalidRequest('the body names no column to change')
  const { scope, target, name } = write
  const json = scope.parameters.of(body.text, 'pg_catalog.json')
  const set = columns.map((column) => `${quoteIdentifier(column.name)} = given.${quoteIdentifier(column.name)}`)
  const given = body.isArray ? `pg_catalog.json_to_recordset(${json})` : `pg_catalog.json_to_record(${json})`
  const sql =
    `UPDATE ${name} AS ${target.alias} SET ${set.join(', ')} FROM ${given} AS given (${definitions(columns)})` +
    whereSql(scope, target, {})
  return finish(write, [sql], body, target.conditions.length > 0)
}

/** Like `planInsert`, without a body. */
export function planDelete(
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  options: WriteOptions,
): WritePlan {
  const write = prepare(catalog, tableName, query, options)
  const { scope, target, name } = write
  const sql = `DELETE FROM ${name} AS ${target.alias}${whereSql(scope, target, {})}`
  return finish(write, [sql], null, target.conditions.length > 0)
}

function prepare(catalog: StageCatalog, tableName: string, parameters: QueryParameters, options: WriteOptions): Write {
  const table = findTable(catalog, tableName)
  if (table.kind !== 'table') throw conflict(`"${table.name}" is a ${table.kind}; rows are written to tables only`)
  const query = parseQuery(parameters)
  const seen = buildTree(catalog, table, query)
  if (seen.limit !== null || seen.offset > 0) {
    throw invalidRequest('a write takes no "limit" and no "offset"; say by filters which rows it is for')
  }
  if (seen.conditions.some((each) => each.kind === 'filter' && findPresence(seen, each))) {
    throw invalidRequest('a write takes no filters on whether there is an embedded row')
  }
  return {
    scope: { catalog, parameters: new Parameters() },
    query,
    table,
    target: { ...seen, embeddings: [] },
    // What was written need not meet the conditions any more.
    seen: { ...seen, conditions: [] },
    name: quoteQualified(catalog.schemaName, table.name),
    options,
  }
}

/** Puts the statements that write together with what is to be seen of the rows written. */
function finish(write: Write, writing: readonly string[], body: Body | null, filtered: boolean): WritePlan {
  const { scope, table, options, seen } = write
  const { parameters } = scope
  const returning = [...table.columns.keys()].map((column) => `${seen.alias}.${quoteIdentifier(column)}`).join(', ')
  const parts = writing.map((sql, index) => `written_${index} AS (${sql} RETURNING ${returning || 'NULL'})`)
  const all = writing.map((_, index) => `SELECT * FROM written_${index}`).join(' UNION ALL ')
  const rows = '(SELECT pg_catalog.count(*) FROM written)::pg_catalog.float8'
  const key = options.return === 'headers-only' ? keySql(table) : 'NULL::pg_catalog.text'
  const page =
    options.return === 'representation'
      ? bodySql(selectSql(scope, seen, { from: 'written' }), options, parameters)
      : 'SELECT NULL::pg_catalog.text AS body'
  const text =
    `WITH ${parts.join(', ')}, written AS (${all}) ` +
    `SELECT answer.body, ${rows} AS rows, ${key} AS key FROM (${page}) AS answer`
  const locate = (value: string): readonly Fault[] => [
    ...parameters.locate(value),
    ...(body ? locateInBody(body, value) : []),
  ]
  return { statement: { text, values: parameters.values }, locate, filtered }
}

/** The key of the row written, as JSON, with its values as text; NULL where it is not exactly one row. */
function keySql({ primaryKey }: CatalogTable): string {
  if (primaryKey.length === 0) return 'NULL::pg_catalog.text'
  const columns = primaryKey.map(
    (name) => `written.${quoteIdentifier(name)}::pg_catalog.text AS ${quoteIdentifier(name)}`,
  )
  const key = `(SELECT ${columns.join(', ')} FROM written) AS key`
  return `CASE WHEN (SELECT pg_catalog.count(*) FROM written) = 1 THEN (SELECT pg_catalog.row_to_json(key.*)::pg_catalog.text FROM ${key}) END`
}

/** Rows of an insert that set the same columns. */
interface Group {
  readonly columns: readonly CatalogColumn[]
  /** Which of the body's objects they are, counted from 1; null for all. */
  readonly places: readonly number[] | null
}

/** So that a column that a row does not name gets its default, rows go into the table by the columns that they name. */
function byColumnSet({ rows }: Body, columns: readonly CatalogColumn[]): readonly Group[] {
  const groups = new Map<string, { columns: readonly CatalogColumn[]; places: number[] }>()
  for (const [index, row] of rows.entries()) {
    const named = columns.filter(({ name }) => Object.hasOwn(row, name))
    const set = JSON.stringify(named.map(({ name }) => name))
    const group = groups.get(set)
    if (group) group.places.push(index + 1)
    else groups.set(set, { columns: named, places: [index + 1] })
  }
  if (groups.size > LIMITS.columnSets) {
    throw invalidRequest(
      `the objects name ${groups.size} different sets of columns; with "missing=default" at most ${LIMITS.columnSets} are taken`,
    )
  }
  return groups.size === 0 ? [{ columns, places: null }] : [...groups.values()]
}

function insertSql({ scope }: Write, json: string, { isArray }: Body, { columns, places }: Group): string {
  const array = isArray ? json : `pg_catalog.json_build_array(${json})`
  const objects = `pg_catalog.json_array_elements(${array}) WITH ORDINALITY AS object (content, place)`
  const chosen = places
    ? ` WHERE object.place = ANY (${scope.parameters.of(arrayLiteral(places.map(String)), 'pg_catalog._int8')})`
    : ''
  if (columns.length === 0) return ` SELECT FROM ${objects}${chosen}`
  const names = columns.map(({ name }) => quoteIdentifier(name))
  const record = `pg_catalog.json_to_record(object.content) AS given (${definitions(columns)})`
  const values = names.map((name) => `given.${name}`).join(', ')
  return ` (${names.join(', ')}) SELECT ${values} FROM ${objects} CROSS JOIN LATERAL ${record}${chosen}`
}

const definitions = (columns: readonly CatalogColumn[]): string =>
  columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type.sql}`).join(', ')

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
