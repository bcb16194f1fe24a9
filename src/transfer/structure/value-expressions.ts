import { quoteIdentifier } from '../../database/quoting.ts'

/** What decides how a column's values are written: its type or, where that is a domain, the type that it is over. */
export interface ValueType {
  /** The name in the catalog, e.g. `int8`. */
  readonly name: string
  /** `pg_type.typtype`: `b`ase, `c`omposite, `e`num, `r`ange, `m`ultirange. */
  readonly kind: string
  readonly isArray: boolean
  /** Whether PostgreSQL itself brings it. */
  readonly isBuiltIn: boolean
  /** Whether somebody defined a cast from it to text or json. */
  readonly hasOwnCast: boolean
}

/** Types for which `json_build_array` writes something other than a string of the type's text output. */
const JSON_FORM_OF_THEIR_OWN: ReadonlySet<string> = new Set([
  'int8',
  'numeric',
  'date',
  'timestamp',
  'timestamptz',
  'json',
  'jsonb',
])

/**
 * The SQL expression that, as an argument of `json_build_array`, gives a column's archive value. The numbers and
 * booleans that the format wants as such, and all types that become a string of their text output by themselves, are
 * given as they are; the rest as text.
 */
export function valueExpression(column: { readonly name: string; readonly type: ValueType }): string {
  const { type } = column
  const name = quoteIdentifier(column.name)
  if (isWrittenAsWanted(type) && type.isBuiltIn) return name
  // format() asks the type itself, whatever casts there are. (`IS NULL` would also be true of a row of NULLs.)
  if (type.hasOwnCast) return `CASE WHEN ${name} IS DISTINCT FROM NULL THEN pg_catalog.format('%s', ${name}) END`
  return isWrittenAsWanted(type) ? name : `${name}::pg_catalog.text`
}

/** Whether `json_build_array` by itself gives what the format asks for, unless somebody's cast gets in its way. */
function isWrittenAsWanted({ name, kind, isArray, isBuiltIn }: ValueType): boolean {
  if (isArray || kind === 'c') return false
  // The text output of xml loses the encoding in the declaration; the cast keeps every character.
  return !(isBuiltIn && (JSON_FORM_OF_THEIR_OWN.has(name) || name === 'xml'))
}
