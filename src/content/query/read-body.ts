import { type Fault, invalidRequest } from '../../errors.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { CatalogColumn, CatalogTable } from './catalog.ts'
import type { NameList } from './parse-query.ts'
import { POSTGREST } from './postgrest-codes.ts'
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
  if (parsed === undefined) throw invalidRequest('the body is not valid JSON', [], POSTGREST.malformedBody)
  const isArray = Array.isArray(parsed)
  const rows: readonly unknown[] = isArray ? parsed : [parsed]
  const wrong = rows.findIndex((row) => !isObject(row))
  if (wrong !== -1) {
    const fault = { pointer: isArray ? `/${wrong}` : '', detail: 'is no object' }
    const problem = 'the body has to be a JSON object, or an array of JSON objects'
    throw invalidRequest(problem, [fault], POSTGREST.malformedBody)
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
 * @param uneven whether the objects may have different ones, which are then all of them together.
 * @throws {AppError} INVALID_REQUEST: unknown or generated columns, or objects that differ.
 */
export function writtenColumns(
  table: CatalogTable,
  body: Body,
  columns: NameList | null,
  uneven: boolean,
): readonly CatalogColumn[] {
  if (columns) return [...new Set(columns.names.map(({ name, position }) => listed(table, columns, name, position)))]
  const faults: Fault[] = []
  const found = new Map<string, CatalogColumn>()
  const first = Object.keys(body.rows[0] ?? {})
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
      faults.push({
        pointer: `/${index}`,
        detail: 'has other keys than the first object; name all in "columns", or say "Prefer: missing=default"',
      })
    }
    if (faults.length >= MAX_FAULTS) break
  }
  if (faults.length === 0) return [...found.values()]
  const isKnown = body.rows.every((row) => Object.keys(row).every((name) => table.columns.has(name)))
  const code = isKnown ? POSTGREST.malformedBody : POSTGREST.unknownColumnOfBody
  throw invalidRequest('the body does not fit the table', faults, code)
}

function listed(table: CatalogTable, { reader }: NameList, name: string, position: number): CatalogColumn {
  const column = table.columns.get(name)
  if (!column) {
    const problem = `"${table.name}" has no column "${name}"${suggest(name, table.columns.keys())}`
    throw reader.refused(problem, position, POSTGREST.unknownColumnOfBody)
  }
  const problem = notSettable(column)
  if (problem) throw reader.refused(`"${name}" ${problem}`, position, POSTGREST.generatedColumn)
  return column
}

function notSettable({ generated, identity }: CatalogColumn): string | undefined {
  if (generated) return 'is generated from other columns'
  return identity === 'always' ? 'is always numbered by the database' : undefined
}
