import { AppError, invalidRequest } from '../errors.ts'
import { POSTGREST, POSTGREST_SAYS } from './query/index.ts'

/** Media types of what a write or a call may be given, beside JSON. */
export const OTHER_BODY_TYPES = ['text/csv', 'application/x-www-form-urlencoded'] as const

/** A short table says the names of its columns once, and its JSON says them for each row. */
const MAX_JSON_LENGTH = 64 * 1024 * 1024

/**
 * What a write was given, as JSON: the lines of a CSV file as an array of objects, a form as one object, with texts as values, which
 * PostgreSQL reads as it reads them in SQL. In CSV, `NULL` without quotes is NULL.
 *
 * @param contentType the header; JSON where there is none.
 * @throws {AppError} INVALID_REQUEST for malformed CSV; BODY_TOO_LARGE.
 */
export function jsonTextOf(text: string, contentType: string | undefined): string {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase()
  if (mediaType === 'text/csv') return csvToJson(text)
  if (mediaType === 'application/x-www-form-urlencoded') {
    return JSON.stringify(Object.fromEntries(new URLSearchParams(text)))
  }
  return text
}

function csvToJson(text: string): string {
  let names: readonly string[] | undefined
  const rows: string[] = []
  let length = 0
  for (const fields of csvRecords(text)) {
    if (names === undefined) {
      names = fields.map((name) => JSON.stringify(name ?? 'NULL'))
      if (new Set(names).size < names.length) throw invalidRequest('the first line of the CSV names a column twice')
      continue
    }
    if (fields.length !== names.length) {
      throw invalidRequest(
        `record ${rows.length + 1} of the CSV has ${fields.length} fields, and the line of names has ${names.length}`,
        [{ pointer: `/${rows.length}`, detail: 'has another number of fields than the line of names' }],
        POSTGREST.malformedBody,
        POSTGREST_SAYS.unevenLines,
      )
    }
    const row = `{${names.map((name, index) => `${name}:${JSON.stringify(fields[index])}`).join(',')}}`
    length += row.length
    if (length > MAX_JSON_LENGTH) throw new AppError('BODY_TOO_LARGE', 'the CSV has too many rows; send them in parts')
    rows.push(row)
  }
  if (names === undefined) throw invalidRequest('the CSV is empty: its first line has to name the columns')
  return `[${rows.join(',')}]`
}

/**
 * The records of CSV text, each with its fields; null is `NULL` without quotes. Lines that are empty count for nothing.
 *
 * @see RFC 4180
 */
function* csvRecords(text: string): Generator<readonly (string | null)[]> {
  const field = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|\r|$)/y
  let fields: (string | null)[] = []
  for (let position = 0; position < text.length || fields.length > 0; ) {
    field.lastIndex = position
    const found = field.exec(text)
    if (!found)
      throw invalidRequest(
        `the CSV is malformed at character ${position + 1}: a quote that is not closed, or inside of a field`,
      )
    const [whole, quoted, plain = '', end] = found
    position += whole.length
    fields.push(quoted === undefined ? (plain === 'NULL' ? null : plain) : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    if (fields.length > 1 || fields[0] !== '' || quoted !== undefined) yield fields
    fields = []
  }
}
