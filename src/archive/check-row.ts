import { parseJson } from '../lib/parse-json.ts'
import type { RowValue } from './lines.ts'
import { ROW_PARTS } from './pages.ts'
import type { RowColumn } from './row-encoder.ts'
import { isStorable, UNSTORABLE } from './strict-json.ts'
import { withoutModifier } from './type-names.ts'

/**
 * A row line that the encoder left is read without a schema: only the array between these bytes is parsed. One that is
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
 * Parses a row line that is written as Wharf writes it, without its newline.
 *
 * @returns undefined if it is another line, or not well written.
 */
export function parsePlainRow(line: Buffer): unknown {
  const last = line.length - 1
  const isRow = line[last] === CLOSING_BRACE && line.subarray(0, PREFIX.length).equals(PREFIX)
  return isRow ? parseJson(line.toString('utf8', PREFIX.length, last)) : undefined
}

/** By column, whether JavaScript's numbers hold all that one may be given. No array is written as a number. */
export const takesNumbers = (columns: readonly RowColumn[]): readonly boolean[] =>
  columns.map(({ type }) => !type.endsWith('[]') && !MORE_DIGITS_THAN_NUMBERS.has(withoutModifier(type)))

/** Checks the rows of one table. */
export class RowCheck {
  /** Throws where a value cannot be that of the column, which is told by its position in the row. */
  readonly checkValue: (column: number, value: unknown) => asserts value is RowValue
  /** Throws where a row is not one of the table's. */
  readonly checkRow: (row: unknown) => asserts row is RowValue[]
  /** Makes what is thrown where a row has another number of values. @param found how many. */
  readonly wrongCount: (found: string) => Error
  /** How many values a row has. */
  readonly columns: number

  /** @param fault makes what is thrown. */
  constructor(columns: readonly RowColumn[], fault: (detail: string) => Error) {
    const takesNumber = takesNumbers(columns)
    const valueFault = (column: number, detail: string): Error =>
      fault(`the value of column "${columns[column]?.name}" ${detail}`)

    this.columns = columns.length
    this.wrongCount = (found) => fault(`has ${found} values, but the table has ${columns.length} columns`)
    this.checkValue = (column, value) => {
      if (typeof value === 'string') {
        if (!isStorable(value)) throw valueFault(column, UNSTORABLE)
      } else if (typeof value === 'number') {
        if (!takesNumber[column]) throw valueFault(column, 'is a number, but must be a string, or digits could be lost')
        if (!Number.isFinite(value)) throw valueFault(column, 'is too large a number')
      } else if (value !== null && typeof value !== 'boolean') {
        throw valueFault(column, 'must be a boolean, a number, a string or null')
      }
    }
    this.checkRow = (row) => {
      if (!Array.isArray(row)) throw fault('a row must be an array')
      if (row.length !== columns.length) throw this.wrongCount(String(row.length))
      for (const [column, value] of row.entries()) this.checkValue(column, value)
    }
  }
}
