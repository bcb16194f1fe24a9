import type { OwnTypes, RowColumn } from '../ledger.ts'
import type { ScanRow } from '../row-scanner.ts'
import { INVALID, isWord, WORDS } from '../value-scanner.ts'
import { type BinaryField, MAX_EXCESS_BYTES, putInt16, putInt32, QUOTE } from './field.ts'
import { bigintField, doubleField, integerField, numericField } from './numbers.ts'
import { booleanField, byteaField, jsonbField, textField, uuidField } from './texts.ts'
import { dateField, timeField, timestampField, timestamptzField } from './times.ts'

/** By the name of the type, without its modifier. What is missing here is given to PostgreSQL as text. */
const FIELDS: ReadonlyMap<string, BinaryField> = new Map([
  ['smallint', integerField(2)],
  ['integer', integerField(4)],
  ['bigint', bigintField],
  ['double precision', doubleField],
  ['numeric', numericField],
  ['boolean', booleanField],
  ['text', textField],
  ['character varying', textField],
  ['character', textField],
  ['json', textField],
  ['jsonb', jsonbField],
  ['uuid', uuidField],
  ['bytea', byteaField],
  ['date', dateField],
  ['time without time zone', timeField],
  ['timestamp without time zone', timestampField],
  ['timestamp with time zone', timestamptzField],
])

/** @returns undefined for a table that has no columns, or one whose values are better given as text. */
export function binaryFields(columns: readonly RowColumn[], own: OwnTypes): readonly BinaryField[] | undefined {
  // Where a stage names a type of its own like one of PostgreSQL's, a name does not say which of them is meant.
  if (columns.length === 0 || [...FIELDS.keys()].some((name) => own.all.has(name))) return undefined
  const fields = columns.flatMap(({ type }) => {
    const field = own.enums.has(unquoted(type)) ? textField : FIELDS.get(withoutModifier(type))
    return field ? [field] : []
  })
  return fields.length === columns.length ? fields : undefined
}

/** `timestamp(3) with time zone` → `timestamp with time zone` */
const withoutModifier = (type: string): string => type.replace(/\([^()]*\)/, '')

const unquoted = (type: string): string => (type.startsWith('"') ? type.slice(1, -1).replaceAll('""', '"') : type)

/** How much longer a row of so many columns may be than its line. */
export const maxRowExcess = (columns: number): number => 2 + columns * MAX_EXCESS_BYTES

const [SPACE, COMMA] = [0x20, 0x2c]
const NULL_LENGTH = -1

/** Reads the values of rows and writes them as COPY's binary format has them. */
export function scanBinaryValues(fields: readonly BinaryField[]): ScanRow {
  return (block, start, rows, words) => {
    putInt16(rows, fields.length)
    let at = start
    for (let column = 0; column < fields.length; column += 1) {
      if (column > 0) {
        if (block[at] !== COMMA) return INVALID
        at += 1
      }
      while (block[at] === SPACE) at += 1
      const field = fields[column] as BinaryField
      if (block[at] === QUOTE) {
        at = field.string(block, at + 1, rows, words)
      } else if (isWord(block, at, WORDS.null)) {
        putInt32(rows, NULL_LENGTH)
        at += WORDS.null.length
      } else {
        at = field.plain(block, at, rows, words)
      }
      if (at === INVALID) return INVALID
      while (block[at] === SPACE) at += 1
    }
    return at
  }
}

/** What stands before all rows: a signature, no flags, and no more. */
export const BINARY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

/** What stands after them, where the number of a row's fields would. */
export const BINARY_TRAILER = Buffer.from([0xff, 0xff])
