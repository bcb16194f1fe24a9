import type { OwnTypes, RowColumn } from '../../archive/row-encoder.ts'
import { unquoted, withoutModifier } from '../../archive/type-names.ts'
import { READ_FORMS, type ReadForm, type RowForm } from '../read-forms.ts'

/**
 * What is read into COPY's binary format, in which a field is a length and what the type's `recv` function takes, by the name of the
 * type without its modifier. What is missing here is given to PostgreSQL as text.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"
 */
const FIELDS: ReadonlyMap<string, ReadForm> = new Map([
  ['smallint', READ_FORMS.smallint],
  ['integer', READ_FORMS.integer],
  ['bigint', READ_FORMS.bigint],
  ['double precision', READ_FORMS.double],
  ['numeric', READ_FORMS.numeric],
  ['boolean', READ_FORMS.boolean],
  ['text', READ_FORMS.string],
  ['character varying', READ_FORMS.string],
  ['character', READ_FORMS.string],
  ['json', READ_FORMS.string],
  ['jsonb', READ_FORMS.jsonb],
  ['uuid', READ_FORMS.uuid],
  ['bytea', READ_FORMS.bytea],
  ['date', READ_FORMS.date],
  ['time without time zone', READ_FORMS.time],
  ['timestamp without time zone', READ_FORMS.timestamp],
  ['timestamp with time zone', READ_FORMS.timestamptz],
  ['smallint[]', READ_FORMS.smallintArray],
  ['integer[]', READ_FORMS.integerArray],
  ['bigint[]', READ_FORMS.bigintArray],
  ['text[]', READ_FORMS.textArray],
  ['character varying[]', READ_FORMS.varcharArray],
  ['uuid[]', READ_FORMS.uuidArray],
])

/** @returns undefined for a table that has no columns, or one whose values are better given as text. */
export function binaryFields(columns: readonly RowColumn[], own: OwnTypes): readonly ReadForm[] | undefined {
  // Where a stage names a type of its own like one of PostgreSQL's, a name does not say which of them is meant.
  if (columns.length === 0 || [...FIELDS.keys()].some((name) => own.all.has(name))) return undefined
  const fields = columns.flatMap(({ type }) => {
    const field = own.enums.has(unquoted(type)) ? READ_FORMS.string : FIELDS.get(withoutModifier(type))
    return field === undefined ? [] : [field]
  })
  return fields.length === columns.length ? fields : undefined
}

/** How rows of these forms are read. */
export const binaryForm = (forms: readonly ReadForm[]): RowForm => ({ forms: Uint8Array.from(forms), isBinary: true })

/** What stands before all rows: a signature, no flags, and no more. */
export const BINARY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

/** What stands after them, where the number of a row's fields would. */
export const BINARY_TRAILER = Buffer.from([0xff, 0xff])
