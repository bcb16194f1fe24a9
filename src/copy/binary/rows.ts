import type { OwnTypes, RowColumn } from '../../archive/row-encoder.ts'
import { unquoted, withoutModifier } from '../../archive/type-names.ts'
import type { Field } from '../field.ts'
import type { RowForm } from '../scan-rows.ts'
import { arrayField, textElement } from './arrays.ts'
import { bigintField, doubleField, integerField, numericField, readInteger } from './numbers.ts'
import { booleanField, byteaField, jsonbField, readUuid, textField, uuidField } from './texts.ts'
import { dateField, timeField, timestampField, timestamptzField } from './times.ts'

/**
 * The fields of COPY's binary format, a length and what the type's `recv` function takes, by the name of the type without
 * its modifier. What is missing here is given to PostgreSQL as text.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"
 */
const FIELDS: ReadonlyMap<string, Field> = new Map([
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
  // With the object ids of their elements' types, which are the same in every database.
  ['smallint[]', arrayField(21, readInteger(2))],
  ['integer[]', arrayField(23, readInteger(4))],
  ['bigint[]', arrayField(20, readInteger(8))],
  ['text[]', arrayField(25, textElement)],
  ['character varying[]', arrayField(1043, textElement)],
  ['uuid[]', arrayField(2950, readUuid)],
])

/** @returns undefined for a table that has no columns, or one whose values are better given as text. */
export function binaryFields(columns: readonly RowColumn[], own: OwnTypes): readonly Field[] | undefined {
  // Where a stage names a type of its own like one of PostgreSQL's, a name does not say which of them is meant.
  if (columns.length === 0 || [...FIELDS.keys()].some((name) => own.all.has(name))) return undefined
  const fields = columns.flatMap(({ type }) => {
    const field = own.enums.has(unquoted(type)) ? textField : FIELDS.get(withoutModifier(type))
    return field ? [field] : []
  })
  return fields.length === columns.length ? fields : undefined
}

/** How rows of these fields are written: each with their number first, and each field with its length. */
export function binaryForm(fields: readonly Field[]): RowForm {
  const before = Buffer.alloc(2)
  before.writeInt16BE(fields.length)
  return { fields, before, between: NOTHING, null: NULL_LENGTH, after: NOTHING }
}

const NOTHING = Buffer.alloc(0)
const NULL_LENGTH = Buffer.from([0xff, 0xff, 0xff, 0xff])

/** What stands before all rows: a signature, no flags, and no more. */
export const BINARY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

/** What stands after them, where the number of a row's fields would. */
export const BINARY_TRAILER = Buffer.from([0xff, 0xff])
