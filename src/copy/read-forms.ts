/** How the values of a column are read from lines, as `wasm/assembly/forms.ts` numbers it: in COPY's text format the first two. */
export const READ_FORMS = {
  /** A column that JavaScript's numbers hold all values of. */
  numberAsText: 0,
  /** Any other: a number could have lost digits, so it is refused. */
  text: 1,
  smallint: 2,
  integer: 3,
  bigint: 4,
  double: 5,
  numeric: 6,
  boolean: 7,
  /** Types whose binary form is their text. */
  string: 8,
  jsonb: 9,
  uuid: 10,
  bytea: 11,
  date: 12,
  time: 13,
  timestamp: 14,
  timestamptz: 15,
  smallintArray: 16,
  integerArray: 17,
  bigintArray: 18,
  textArray: 19,
  varcharArray: 20,
  uuidArray: 21,
} as const

export type ReadForm = (typeof READ_FORMS)[keyof typeof READ_FORMS]

/** How the rows of a table are read. */
export interface RowForm {
  /** By column. */
  readonly forms: Uint8Array
  /** Whether they are written in COPY's binary format. */
  readonly isBinary: boolean
}
