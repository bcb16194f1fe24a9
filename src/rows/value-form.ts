/**
 * How a column's values stand in a row of an archive: as JSON numbers, where they are finite; as `true` and `false`; or as
 * strings of the type's text output, which are `plain` where no character of any such text means anything else in a string of JSON.
 * NULL is `null` in each.
 */
export type ValueForm = 'number' | 'boolean' | 'plain' | 'string'

/** Forms as numbers, by which they are told apart for each value. */
export const [NUMBER, BOOLEAN, PLAIN, STRING] = [0, 1, 2, 3]

const CODES: Readonly<Record<ValueForm, number>> = { number: NUMBER, boolean: BOOLEAN, plain: PLAIN, string: STRING }

/** @param forms by column. */
export const codesOf = (forms: readonly ValueForm[]): Uint8Array => Uint8Array.from(forms, (form) => CODES[form])

const [MINUS, ZERO, NINE] = [0x2d, 0x30, 0x39]

/** Whether a number is one to JSON, and not NaN or infinite: `NaN`, `Infinity`, `-Infinity`. @param at where it begins. */
export function isFiniteNumber(words: DataView, at: number): boolean {
  const byte = words.getUint8(at)
  const first = byte === MINUS ? words.getUint8(at + 1) : byte
  return first >= ZERO && first <= NINE
}
