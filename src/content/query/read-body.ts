import { type Fault, invalidRequest, type PostgrestError } from '../../errors.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { CatalogColumn, CatalogTable } from './catalog.ts'
import type { NameList } from './parse-query.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import { suggest } from './suggest.ts'

/** What a write was given. Its text goes to PostgreSQL as it is: numbers keep their digits. */
export interface Body {
  readonly text: string
  readonly isArray: boolean
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

/** @throws {AppError} INVALID_REQUEST where it is neither an object nor an array of objects. */
export function readBody(text: string): Body {
  const parsed = parseJson(text)
  if (parsed === undefined) {
    throw invalidRequest('the body is not valid JSON', [], POSTGREST.malformedBody, POSTGREST_SAYS.malformedJson)
  }
  const isArray = Array.isArray(parsed)
  const rows: readonly unknown[] = isArray ? parsed : [parsed]
  const wrong = rows.findIndex((row) => !isObject(row))
  if (wrong !== -1) {
    const fault = { pointer: isArray ? `/${wrong}` : '', detail: 'is no object' }
    const problem = 'the body has to be a JSON object, or an array of JSON objects'
    throw invalidRequest(problem, [fault], POSTGREST.malformedBody, isArray ? POSTGREST_SAYS.unevenKeys : undefined)
  }
  return { text, isArray, rows: rows.filter(isObject) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Where in the body there is a value that PostgreSQL refuses, by its text. */
export function locateInBody({ rows, isArray }: Body, value: string): readonly Fault[] {
  const faults: Fault[] = []
  for (const [index, row] of rows.entries()) {
    for (const [name, given] of Object.entries(row)) {
      const text = typeof given === 'object' ? JSON.stringify(given) : String(given)
      if (text === value) faults.push({ pointer: pointer(isArray, index, name), detail: `is not a value of "${name}"` })
    }
  }
  return faults.slice(0, MAX_FAULTS)
}

const MAX_FAULTS = 20

const pointer = (isArray: boolean, index: number, name: string): string =>
  `${isArray ? `/${index}` : ''}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/**
 * The columns that a write sets: those of `columns`, or those that the body's objects have.
 *
 * @param how what is done with them, and whether the objects may have different ones, which are then all of them together.
 * @throws {AppError} INVALID_REQUEST: unknown or generated columns, or objects that differ.
 */
export function writtenColumns(
  table: CatalogTable,
  body: Body,
  columns: NameList | null,
  { kind, uneven }: { readonly kind: 'insert' | 'update'; readonly uneven: boolean },
): readonly CatalogColumn[] {
  if (columns) {
    return [...new Set(columns.names.map(({ name, position }) => listed(table, columns, name, position, kind)))]
  }
  const faults: Fault[] = []
  const found = new Map<string, CatalogColumn>()
  const first = Object.keys(body.rows[0] ?? {})
  let isUneven = false
  for (const [index, row] of body.rows.entries()) {
    const names = Object.keys(row)
    for (const name of names) {
      const column = table.columns.get(name)
      const problem = column
        ? notSettable(column)
        : `is no column of "${table.name}"${suggest(name, table.columns.keys())}`
      if (problem) faults.push({ pointer: pointer(body.isArray, index, name), detail: problem })
      if (column) found.set(name, column)
    }
    if (!uneven && (names.length !== first.length || first.some((name) => !Object.hasOwn(row, name)))) {
      isUneven = true
      faults.push({
        pointer: `/${index}`,
        detail: 'has other keys than the first object; name all in "columns", or say "Prefer: missing=default"',
      })
    }
    if (faults.length >= MAX_FAULTS) break
  }
  if (faults.length === 0) return [...found.values()]
  throw invalidRequest('the body does not fit the table', faults, ...inPostgrestsWords(table, body, isUneven, kind))
}

/** The code and the words of the first thing that PostgREST objects to: first the keys, then the columns. */
function inPostgrestsWords(
  table: CatalogTable,
  { rows }: Body,
  isUneven: boolean,
  kind: 'insert' | 'update',
): [code: string, words: PostgrestError | undefined] {
  if (isUneven) return [POSTGREST.malformedBody, POSTGREST_SAYS.unevenKeys]
  const names = rows.flatMap((row) => Object.keys(row))
  const unknown = names.find((name) => !table.columns.has(name))
  if (unknown !== undefined) {
    return [POSTGREST.unknownColumnOfBody, POSTGREST_SAYS.unknownColumnOfBody(table.name, unknown.slice(0, 200))]
  }
  const [generated] = names.flatMap((name) => table.columns.get(name) ?? []).filter((column) => notSettable(column))
  return [POSTGREST.generatedColumn, generated && POSTGREST_SAYS.generatedColumn(generated, kind)]
}

function listed(
  table: CatalogTable,
  { reader }: NameList,
  name: string,
  position: number,
  kind: 'insert' | 'update',
): CatalogColumn {
  const column = table.columns.get(name)
  if (!column) {
    const problem = `"${table.name}" has no column "${name}"${suggest(name, table.columns.keys())}`
    const words = POSTGREST_SAYS.unknownColumnOfBody(table.name, name.slice(0, 200))
    throw reader.refused(problem, position, POSTGREST.unknownColumnOfBody, words)
  }
  const problem = notSettable(column)
  if (problem) {
    const words = POSTGREST_SAYS.generatedColumn(column, kind)
    throw reader.refused(`"${name}" ${problem}`, position, POSTGREST.generatedColumn, words)
  }
  return column
}

function notSettable({ generated, identity }: CatalogColumn): string | undefined {
  if (generated) return 'is generated from other columns'
  return identity === 'always' ? 'is always numbered by the database' : undefined
}
