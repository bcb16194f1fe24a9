import { quoteIdentifier } from '../../database/quoting.ts'
import type { ValueForm } from '../../rows/value-form.ts'

/** What decides how a column's values are written: its type or, where that is a domain, the type that it is over. */
export interface ValueType {
  /** The name in the catalog, e.g. `int8`. */
  readonly name: string
  readonly isArray: boolean
  /** Whether PostgreSQL itself brings it. */
  readonly isBuiltIn: boolean
}

/** Types whose values JSON has as numbers, but for those that are not finite: JavaScript's own hold each of them. */
const NUMBERS: ReadonlySet<string> = new Set(['int2', 'int4', 'float4', 'float8'])

/** Types whose text has nothing but digits, letters, signs and spaces. */
const PLAIN: ReadonlySet<string> = new Set([
  'int8',
  'numeric',
  'oid',
  'uuid',
  'date',
  'time',
  'timetz',
  'timestamp',
  'timestamptz',
  'interval',
])

/** How an archive has a column's values: as JSON's own numbers and booleans, or as strings of the type's text output. */
export function valueForm({ name, isArray, isBuiltIn }: ValueType): ValueForm {
  if (isArray || !isBuiltIn) return 'string'
  if (NUMBERS.has(name)) return 'number'
  if (PLAIN.has(name)) return 'plain'
  return name === 'bool' ? 'boolean' : 'string'
}

/** The SQL expression whose text output is a column's archive value. */
export function valueExpression({ name, type }: { readonly name: string; readonly type: ValueType }): string {
  // The text output of xml loses the encoding in the declaration; the cast keeps every character.
  const isXml = type.isBuiltIn && !type.isArray && type.name === 'xml'
  return `${quoteIdentifier(name)}${isXml ? '::pg_catalog.text' : ''}`
}
