import type { RowValue } from './lines.ts'

/** Whether a text has a character that means something else in COPY's text format, or may. */
const SPECIAL = /[\\\b\f\n\r\t]/

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/**
 * A row in the text format of COPY, newline included.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export function toCopyText(row: readonly RowValue[]): string {
  return `${row.map(toField).join('\t')}\n`
}

function toField(value: RowValue): string {
  if (value === null) return '\\N'
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'boolean') return value ? 't' : 'f'
  return toNumberText(value)
}

/** Text as it stands in a field. */
export const escapeText = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[\\\b\f\n\r\t]/g, escapeCharacter) : text

/** A finite number as PostgreSQL reads it back to the same bits. */
export const toNumberText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))

const escapeCharacter = (character: string): string => ESCAPES[character] ?? character
