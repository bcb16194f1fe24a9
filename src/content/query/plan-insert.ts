import { quoteIdentifier } from '../../database/quoting.ts'
import { invalidRequest, MethodNotAllowed } from '../../errors.ts'
import type { CatalogColumn, CatalogTable, StageCatalog } from './catalog.ts'
import { findColumn } from './column-sql.ts'
import { conditionSql } from './filter-sql.ts'
import { LIMITS } from './limits.ts'
import { arrayLiteral } from './parameters.ts'
import type { Condition, Filter } from './parse-filter.ts'
import type { ParsedQuery } from './parse-query.ts'
import type { InsertOptions, QueryParameters, WriteOptions, WritePlan } from './plans.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import { type Body, readBody, writtenColumns } from './read-body.ts'
import { COUNT_MERGED, finishWrite, givenSql, prepareWrite, type Write } from './write.ts'

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
  const kinds = options.onDuplicate === 'merge' ? (['insert', 'update'] as const) : (['insert'] as const)
  const write = prepareWrite(kinds, catalog, tableName, query, options)
  if (write.target.conditions.length > 0) throw invalidRequest('an insert takes no filters')
  const body = readBody(text)
  const withDefaults = options.missing === 'default'
  const columns = writtenColumns(write.table, body, write.query.columns, { kind: 'insert', uneven: withDefaults })
  const groups = withDefaults ? byColumnSet(body, columns) : [{ columns, positions: null }]
  const json = write.scope.parameters.of(body.text, 'pg_catalog.json')
  const duplicates = duplicatesOf(write, options)
  const inserts = groups.map((group) => {
    // A column that is not inserted is its default in EXCLUDED, so a row that is merged gets that as a new one would.
    const merged = write.query.columns ? columns : group.columns
    return `INSERT INTO ${write.name} AS ${write.target.alias}${insertSql(write, json, body, group)}${onConflict(duplicates, merged)}`
  })
  return finishWrite(write, inserts, { body, filtered: true, ...(duplicates && { onDuplicate: duplicates.what }) })
}

/**
 * Like `planInsert`, of the row that has the key that the filters name, in the place of one that is there. Of several rows of a
 * body, it is the one with that key.
 *
 * @throws {AppError} like `planInsert`; INVALID_REQUEST where the filters are anything but each column of the primary
 * key with `eq`.
 */
export function planPut(
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  text: string,
  options: WriteOptions,
): WritePlan {
  const write = prepareWrite(['insert', 'update'], catalog, tableName, query, options)
  const { table, scope, target } = write
  if (write.seen.limit !== null || write.seen.offset !== 0)
    throw invalidRequest(
      'PUT takes no "limit" and no "offset"',
      [],
      POSTGREST.putWithLimit,
      POSTGREST_SAYS.putWithLimit,
    )
  assertNamesKey(write)
  const body = readBody(text)
  const columns = writtenColumns(table, body, write.query.columns, { kind: 'insert', uneven: false })
  if (!table.primaryKey.every((name) => columns.some((column) => column.name === name))) {
    throw invalidRequest(`the body has to have the primary key, ${table.primaryKey.join(', ')}, as the filters do`)
  }
  const given = { ...scope, table, alias: 'given', presence: () => null }
  const named = target.conditions.map((condition) => conditionSql(given, condition)).join(' AND ')
  const json = scope.parameters.of(body.text, 'pg_catalog.json')
  const rows = insertSql(write, json, body, { columns, positions: null })
  const merging = onConflict({ key: table.primaryKey, what: 'merge' }, columns)
  const sql = `INSERT INTO ${write.name} AS ${target.alias}${rows} WHERE ${named}${merging}`
  return finishWrite(write, [sql], { body, filtered: true, onDuplicate: 'merge' })
}

/** What may be asked for where filters do not name one row by its primary key. */
const METHODS_OF_MANY_ROWS = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'

function assertNamesKey({ table, target }: Write): void {
  const named = target.conditions.flatMap((each) => (isPlainEqual(each) ? [each.field.name] : []))
  const isKey =
    named.length === table.primaryKey.length &&
    named.length === target.conditions.length &&
    named.length > 0 &&
    table.primaryKey.every((name) => named.includes(name))
  if (isKey) return
  const key = table.primaryKey.map((name) => `${name}=eq.…`).join('&')
  const message =
    key === ''
      ? `"${table.name}" has no primary key, by which a row could be put`
      : `PUT needs the primary key as its filters, and nothing else: ${key}`
  throw new MethodNotAllowed(message, METHODS_OF_MANY_ROWS, {
    postgrestCode: POSTGREST.putWithoutKey,
    postgrest: POSTGREST_SAYS.putWithoutKey,
  })
}

const isPlainEqual = (each: Condition): each is Filter =>
  each.kind === 'filter' &&
  each.operator.name === 'eq' &&
  each.quantifier === null &&
  !each.negated &&
  each.field.path.length === 0

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
  const record = givenSql(scope, 'pg_catalog.json_to_record(object.content)', columns)
  const values = names.map((name) => `given.${name}`).join(', ')
  return ` (${names.join(', ')}) SELECT ${values} FROM ${objects} CROSS JOIN LATERAL ${record}${chosen}`
}

/** By which columns rows are matched with those that are there, and what becomes of these. */
interface Duplicates {
  readonly key: readonly string[]
  readonly what: 'merge' | 'ignore'
}

/** @returns null where every row is a new one: there is no key by which it could be there, or it may not be. */
function duplicatesOf({ table, query }: Write, { onDuplicate = 'fail' }: InsertOptions): Duplicates | null {
  if (onDuplicate === 'fail' || (!query.onConflict && table.primaryKey.length === 0)) return null
  return { key: conflictKey(table, query), what: onDuplicate }
}

function onConflict(duplicates: Duplicates | null, columns: readonly CatalogColumn[]): string {
  if (duplicates === null) return ''
  const target = `(${duplicates.key.map(quoteIdentifier).join(', ')})`
  if (duplicates.what === 'ignore' || columns.length === 0) return ` ON CONFLICT ${target} DO NOTHING`
  const set = columns.map(({ name }) => `${quoteIdentifier(name)} = EXCLUDED.${quoteIdentifier(name)}`)
  return ` ON CONFLICT ${target} DO UPDATE SET ${set.join(', ')} WHERE ${COUNT_MERGED}`
}

/** The columns by which a row is known to be there already: those of `on_conflict`, else the primary key. */
function conflictKey(table: CatalogTable, { onConflict: list }: ParsedQuery): readonly string[] {
  if (!list) return table.primaryKey
  const names = new Set(list.names.map(({ name, position }) => findColumn(table, name, list.reader, position).name))
  // Of which keys a view shows the columns only PostgreSQL knows.
  if (table.kind === 'view') return [...names]
  const key = table.uniqueKeys.find((unique) => unique.length === names.size && unique.every((name) => names.has(name)))
  if (key) return key
  const known = table.uniqueKeys.map((unique) => `(${unique.join(', ')})`).join(', ') || 'none'
  throw list.reader.refused(`these columns are not a unique key of "${table.name}"; there are ${known}`, 0)
}
