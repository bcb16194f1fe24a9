import type { RowValue } from '../archive/lines.ts'
import { numberText } from '../lib/number-text.ts'
import { READ_FORMS, type RowForm } from './read-forms.ts'

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
  return numberText(value)
}

/**
 * A row in the text format of COPY, newline included.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export const toCopyText = (row: readonly RowValue[]): string =>
  `${row.map((value) => (typeof value === 'string' ? escapeText(value) : toPlainText(value))).join('\t')}\n`

/** How rows of a table are read into the text format. @param takesNumbers by column, whether a value may be a number. */
export const textForm = (takesNumbers: readonly boolean[]): RowForm => ({
  forms: Uint8Array.from(takesNumbers, (takes) => (takes ? READ_FORMS.numberAsText : READ_FORMS.text)),
  isBinary: false,
})
