const [BACKSLASH, LETTER_U] = [0x5c, 0x75]
const [FIRST_HIGH_SURROGATE, FIRST_LOW_SURROGATE, LAST_LOW_SURROGATE] = [0xd800, 0xdc00, 0xdfff]

/** By byte, what it is as a hexadecimal digit; 16 for what is none. */
export const HEX_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) =>
  /^[\da-fA-F]$/.test(String.fromCharCode(byte)) ? Number.parseInt(String.fromCharCode(byte), 16) : 16,
)

/**
 * Reads the digits of a `\u` escape, and of the one after it where the two are one character.
 *
 * @param start behind the `u`.
 * @returns the character, of one escape or, where its length is 2, of two; undefined for what is none, or what
 *   PostgreSQL cannot store: U+0000, or half of a surrogate pair.
 */
export function readCodePoint(block: Buffer, start: number): string | undefined {
  const unit = hexUnit(block, start)
  if (unit === 0 || isLowSurrogate(unit)) return undefined
  if (unit < FIRST_HIGH_SURROGATE || unit > LAST_LOW_SURROGATE) return String.fromCharCode(unit)
  if (block[start + 4] !== BACKSLASH || block[start + 5] !== LETTER_U) return undefined
  const low = hexUnit(block, start + 6)
  return isLowSurrogate(low) ? String.fromCharCode(unit, low) : undefined
}

const isLowSurrogate = (unit: number): boolean => unit >= FIRST_LOW_SURROGATE && unit <= LAST_LOW_SURROGATE

/** @returns the value of four hexadecimal digits; 0 where one is none. */
function hexUnit(block: Buffer, start: number): number {
  let unit = 0
  for (let at = start; at < start + 4; at += 1) {
    const digit = HEX_DIGIT[block[at] ?? 0] ?? 16
    if (digit > 15) return 0
    unit = unit * 16 + digit
  }
  return unit
}
