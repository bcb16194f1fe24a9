import type { RowValue } from '../../archive/lines.ts'

/** Whether a text has a character that means something else in COPY's text format. */
const SPECIAL = /[\\\n\r\t]/

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * Rows in the text format of COPY, one line each.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export function toCopyText(rows: readonly (readonly RowValue[])[]): Buffer {
  let text = ''
  for (const row of rows) {
    for (let index = 0; index < row.length; index += 1) {
      if (index > 0) text += '\t'
      text += toField(row[index] ?? null)
    }
    text += '\n'
  }
  return Buffer.from(text)
}

function toField(value: RowValue): string {
  if (value === null) return '\\N'
  if (typeof value === 'string') return SPECIAL.test(value) ? value.replace(/[\\\n\r\t]/g, escapeCharacter) : value
  if (typeof value === 'boolean') return value ? 't' : 'f'
  return Object.is(value, -0) ? '-0' : String(value)
}

const escapeCharacter = (character: string): string => ESCAPES[character] ?? character
