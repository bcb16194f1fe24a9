import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import { conflict, type Fault, invalidRequest } from '../../errors.ts'
import { bodySql } from './body-sql.ts'
import type { CatalogColumn, CatalogTable, ProjectFunction, StageCatalog, WriteKind } from './catalog.ts'
import { callSql } from './column-sql.ts'
import { Parameters } from './parameters.ts'
import { type ParsedQuery, parseQuery } from './parse-query.ts'
import { findTable } from './plan-read.ts'
import type { QueryParameters, WriteOptions, WritePlan } from './plans.ts'
import { type Body, locateInBody } from './read-body.ts'
import type { Scope } from './rows-sql.ts'
import { selectSql } from './select-sql.ts'
import { buildTree, findPresence, type TableNode } from './tree.ts'

/** What a write is planned with. */
export interface Write {
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

/** @throws {AppError} like `planInsert`. */
export function prepareWrite(
  kinds: readonly WriteKind[],
  catalog: StageCatalog,
  tableName: string,
  parameters: QueryParameters,
  options: WriteOptions,
): Write {
  const table = findTable(catalog, tableName)
  const impossible = kinds.find((kind) => !table.writable.has(kind))
  if (impossible) throw conflict(`"${table.name}" is a ${table.kind} that takes no ${impossible.toUpperCase()}`)
  const query = parseQuery(parameters)
  const seen = buildTree(catalog, table, query)
  if (seen.conditions.some((each) => each.kind === 'filter' && findPresence(seen, each))) {
    throw invalidRequest('a write takes no filters on whether there is an embedded row')
  }
  return {
    scope: { catalog, parameters: new Parameters(), kept: false },
    query,
    table,
    target: { ...seen, embeddings: [] },
    // What was written need not meet the conditions any more.
    seen: { ...seen, conditions: [] },
    name: quoteQualified(catalog.schemaName, table.name),
    options,
  }
}

/** What is to be known of the statements that write, beside their SQL. */
interface Writing {
  readonly body: Body | null
  readonly filtered: boolean
  /** What becomes of rows that are there already, where rows are matched with them. */
  readonly onDuplicate?: 'merge' | 'ignore'
}

/** Puts the statements that write, if any, together with what is to be seen of the rows written. */
export function finishWrite(write: Write, writing: readonly string[], of: Writing): WritePlan {
  const { body, filtered, onDuplicate } = of
  const { scope, table, name, options, seen } = write
  const { parameters } = scope
  const returning = [...table.columns.keys()].map((column) => `${seen.alias}.${quoteIdentifier(column)}`).join(', ')
  const parts = writing.map((sql, index) => `written_${index} AS (${sql} RETURNING ${returning || 'NULL'}), `)
  const nothing = `SELECT ${returning} FROM ${name} AS ${seen.alias} WHERE false`
  const all = writing.map((_, index) => `SELECT * FROM written_${index}`).join(' UNION ALL ') || nothing
  const rows = '(SELECT pg_catalog.count(*) FROM written)::pg_catalog.float8'
  const key = options.return === 'headers-only' ? keySql(table) : 'NULL::pg_catalog.text'
  const page =
    options.return === 'representation'
      ? bodySql(selectSql(scope, seen, { from: 'written' }), options, scope)
      : 'SELECT NULL::pg_catalog.text AS body'
  const text =
    `WITH ${parts.join('')}written AS (${all}) ` +
    `SELECT answer.body, ${rows} AS rows, ${onDuplicate === 'merge' ? MERGED : '0'}::pg_catalog.float8 AS merged, ${key} AS key FROM (${page}) AS answer`
  const locate = (value: string): readonly Fault[] => [
    ...parameters.locate(value),
    ...(body ? locateInBody(body, value) : []),
  ]
  return {
    statement: { text, values: parameters.values },
    locate,
    filtered,
    matches: onDuplicate !== undefined,
    isView: table.kind !== 'table',
  }
}

const COUNTED = "COALESCE(NULLIF(pg_catalog.current_setting('wharf.merged', true), ''), '0')::pg_catalog.int8"

/**
 * A condition of `DO UPDATE` that is always true, and counts the rows that were there: nothing else tells them apart, neither in
 * views nor in partitioned tables. The count ends with the transaction.
 */
export const COUNT_MERGED = `pg_catalog.set_config('wharf.merged', (${COUNTED} OPERATOR(pg_catalog.+) 1)::pg_catalog.text, true) IS NOT NULL`

/** That count, once all rows have been written. */
const MERGED = `(SELECT CASE WHEN pg_catalog.count(*) IS NOT NULL THEN ${COUNTED} END FROM written)`

/** The key of the row written, as JSON, with its values as text; NULL where it is not exactly one row. */
function keySql({ primaryKey }: CatalogTable): string {
  if (primaryKey.length === 0) return 'NULL::pg_catalog.text'
  const columns = primaryKey.map(
    (name) => `written.${quoteIdentifier(name)}::pg_catalog.text AS ${quoteIdentifier(name)}`,
  )
  const key = `(SELECT ${columns.join(', ')} FROM written) AS key`
  return `CASE WHEN (SELECT pg_catalog.count(*) FROM written) = 1 THEN (SELECT pg_catalog.row_to_json(key.*)::pg_catalog.text FROM ${key}) END`
}

/**
 * An item of a FROM list, `given`: columns as JSON gives them, those of a domain that has a cast for that through it.
 *
 * @param records a call that makes records of JSON, whose columns these are.
 */
export function givenSql(scope: Scope, records: string, columns: readonly CatalogColumn[]): string {
  const fromJson = ({ type }: CatalogColumn): ProjectFunction | undefined => type.representation.fromJson
  const definitions = columns
    .map((column) => `${quoteIdentifier(column.name)} ${fromJson(column) ? 'pg_catalog.json' : column.type.sql}`)
    .join(', ')
  if (!columns.some(fromJson)) return `${records} AS given (${definitions})`
  const values = columns.map((column) => {
    const name = quoteIdentifier(column.name)
    const read = fromJson(column)
    return read ? `${callSql(scope, read, `body.${name}`)} AS ${name}` : `body.${name}`
  })
  return `(SELECT ${values.join(', ')} FROM ${records} AS body (${definitions})) AS given`
}
