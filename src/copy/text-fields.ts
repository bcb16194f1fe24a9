import type { RowValue } from '../archive/lines.ts'
import {
  type Field,
  INVALID,
  isDigit,
  isNumberPart,
  isWord,
  MINUS,
  numberEnd,
  type ReadField,
  toFiniteNumber,
  WORDS,
  ZERO,
} from './field.ts'
import { readString } from './read-string.ts'
import type { RowForm } from './scan-rows.ts'

/** The characters that mean something else in COPY's text format, or may, by what is written for them. */
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** Text as it stands in a field. */
export const escapeText = (text: string): string =>
  /[\\\b\f\n\r\t]/.test(text) ? text.replace(/[\\\b\f\n\r\t]/g, (character) => ESCAPES[character] ?? character) : text

/** A value that is no string, as it stands in a field. Numbers must be finite: PostgreSQL reads the same bits back. */
export function toPlainText(value: number | boolean | null): string {
  if (value === null) return '\\N'
  if (typeof value === 'boolean') return value ? 't' : 'f'
  return Object.is(value, -0) ? '-0' : String(value)
}

/** What is written for the escapes of JSON: most of them mean the same in both. */
const JSON_ESCAPES = { '"': '"', '\\': '\\\\', '/': '/', b: '\\b', f: '\\f', n: '\\n', r: '\\r', t: '\\t' }

const string = readString(JSON_ESCAPES, escapeText)

/**
 * A row in the text format of COPY, newline included.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export const toCopyText = (row: readonly RowValue[]): string =>
  `${row.map((value) => (typeof value === 'string' ? escapeText(value) : toPlainText(value))).join('\t')}\n`

const [TRUE, FALSE] = [toPlainText(true).charCodeAt(0), toPlainText(false).charCodeAt(0)]

const readBoolean: ReadField = (block, start, rows) => {
  const value = isWord(block, start, WORDS.true)
  if (!value && !isWord(block, start, WORDS.false)) return INVALID
  rows.bytes[rows.length++] = value ? TRUE : FALSE
  return start + (value ? WORDS.true : WORDS.false).length
}

/** JavaScript writes whole numbers of up to this many digits as it read them. */
const MAX_SAFE_DIGITS = 15

/** More than any number takes when it is written by JavaScript. */
const MAX_NUMBER_BYTES = 32

const readNumber: ReadField = (block, start, rows, words) => {
  const firstDigit = block[start] === MINUS ? start + 1 : start
  let end = firstDigit
  while (isDigit(block[end])) end += 1
  const digits = end - firstDigit
  if (isNumberPart(block[end]) || digits === 0 || digits > MAX_SAFE_DIGITS || block[firstDigit] === ZERO) {
    return readAnyNumber(block, start, rows, words)
  }
  const { bytes } = rows
  let to = rows.length
  for (let at = start; at < end; at += 1) bytes[to++] = block[at] ?? 0
  rows.length = to
  return end
}

/** Reads a number that JavaScript may write otherwise. */
const readAnyNumber: ReadField = (block, start, rows) => {
  const end = numberEnd(block, start)
  const value = toFiniteNumber(block.toString('latin1', start, end))
  if (value === undefined) return INVALID
  // What follows on it may need as much room as it has bytes.
  rows.reserve(block.length - start + MAX_NUMBER_BYTES)
  rows.append(toPlainText(value))
  return end
}

const readPlain: ReadField = (block, start, rows, words) =>
  isDigit(block[start]) || block[start] === MINUS
    ? readNumber(block, start, rows, words)
    : readBoolean(block, start, rows, words)

/** A column that JavaScript's numbers hold all values of. */
const numberField: Field = { string, plain: readPlain }

/** Any other: a number could have lost digits, so it is refused. */
const textField: Field = { string, plain: readBoolean }

const [TAB, NEWLINE, NULL] = [Buffer.from('\t'), Buffer.from('\n'), Buffer.from(toPlainText(null))]

/** How rows of a table are written in the text format. @param takesNumbers by column, whether a value may be a number. */
export const textForm = (takesNumbers: readonly boolean[]): RowForm => ({
  fields: takesNumbers.map((takesNumber) => (takesNumber ? numberField : textField)),
  before: Buffer.alloc(0),
  between: TAB,
  null: NULL,
  after: NEWLINE,
})
