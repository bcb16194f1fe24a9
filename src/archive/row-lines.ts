import { parseJson } from '../lib/parse-json.ts'
import type { RowColumn } from './ledger.ts'
import type { RowValue } from './lines.ts'
import { ROW_PARTS } from './pages.ts'
import { isStorable, UNSTORABLE } from './strict-json.ts'

/**
 * A row line that `scanRows` left is read without a schema: only the array between these bytes is parsed. One that is
 * written otherwise, with spaces for instance, is read like any other line.
 */
const PREFIX = Buffer.from(ROW_PARTS.prefix)
const CLOSING_BRACE = 0x7d

/** Types that would take a number, digits and all, of which JavaScript has lost some. They are written as strings. */
const MORE_DIGITS_THAN_NUMBERS = new Set([
  'bigint',
  'numeric',
  'money',
  'text',
  'character',
  'character varying',
  'json',
  'jsonb',
  'xid8',
])

/**
 * Parses a row line that is written as Wharf writes it.
 *
 * @param end the position of the line's newline in `block`.
 * @returns undefined if it is another line, or not well written.
 */
export function parsePlainRow(block: Buffer, start: number, end: number): unknown {
  const last = end - 1
  if (last - start <= PREFIX.length || block[last] !== CLOSING_BRACE) return undefined
  for (let index = 0; index < PREFIX.length; index += 1) {
    if (block[start + index] !== PREFIX[index]) return undefined
  }
  return parseJson(block.toString('utf8', start + PREFIX.length, last))
}

/** By column, whether JavaScript's numbers hold all that one may be given: 1 or 0. */
export const takesNumbers = (columns: readonly RowColumn[]): Uint8Array =>
  Uint8Array.from(columns, ({ type }) => Number(!MORE_DIGITS_THAN_NUMBERS.has(withoutModifier(type))))

/** Throws where a value cannot be that of a column, which is told by its place in the row. */
export type ValueCheck = (column: number, value: unknown) => void

/** Throws where a row is not one of its table's. */
export type RowCheck = (row: unknown) => asserts row is RowValue[]

/** Makes the check of the values of one table; `fault` makes what it throws. */
export function valueCheck(columns: readonly RowColumn[], fault: (detail: string) => Error): ValueCheck {
  const takesNumber = takesNumbers(columns)

  const valueFault = (index: number, detail: string): Error =>
    fault(`the value of column "${columns[index]?.name}" ${detail}`)

  return (column, value) => {
    if (typeof value === 'string') {
      if (!isStorable(value)) throw valueFault(column, UNSTORABLE)
    } else if (typeof value === 'number') {
      if (!takesNumber[column]) throw valueFault(column, 'is a number, but must be a string, or digits could be lost')
      if (!Number.isFinite(value)) throw valueFault(column, 'is too large a number')
    } else if (value !== null && typeof value !== 'boolean') {
      throw valueFault(column, 'must be a boolean, a number, a string or null')
    }
  }
}

/** Makes the check of the rows of one table, of so many columns; `fault` makes what it throws. */
export function rowCheck(columns: number, checkValue: ValueCheck, fault: (detail: string) => Error): RowCheck {
  return (row) => {
    if (!Array.isArray(row)) throw fault('a row must be an array')
    if (row.length !== columns) throw fault(`has ${row.length} values, but the table has ${columns} columns`)
    for (let index = 0; index < row.length; index += 1) checkValue(index, row[index])
  }
}

/** `numeric(10,2)` → `numeric` */
function withoutModifier(type: string): string {
  const at = type.indexOf('(')
  return at < 0 ? type : type.slice(0, at)
}
