/** Characters of ASCII that mean something, as their bytes. */
export const NEWLINE: u8 = 0x0a
export const SPACE: u8 = 0x20
export const QUOTE: u8 = 0x22
export const PLUS: u8 = 0x2b
export const COMMA: u8 = 0x2c
export const MINUS: u8 = 0x2d
export const POINT: u8 = 0x2e
export const SLASH: u8 = 0x2f
export const ZERO: u8 = 0x30
export const COLON: u8 = 0x3a
export const CAPITAL_N: u8 = 0x4e
export const BACKSLASH: u8 = 0x5c
export const LETTER_B: u8 = 0x62
export const LETTER_E: u8 = 0x65
export const LETTER_F: u8 = 0x66
export const LETTER_N: u8 = 0x6e
export const LETTER_R: u8 = 0x72
export const LETTER_T: u8 = 0x74
export const LETTER_U: u8 = 0x75
export const LETTER_X: u8 = 0x78
export const OPENING_BRACE: u8 = 0x7b
export const CLOSING_BRACE: u8 = 0x7d

/** `null`, `true` and `fals`, as numbers. */
export const WORD_NULL: u32 = 0x6c6c756e
export const WORD_TRUE: u32 = 0x65757274
export const WORD_FALS: u32 = 0x736c6166

/** `{"row":[`, as two numbers. */
export const ROW_START: u32 = 0x6f72227b
export const ROW_END: u32 = 0x5b3a2277
export const ROW_BYTES: usize = 8

/** Which of sixteen bytes mean something else than themselves in a string of JSON: a bit each. */
export function specialsOf(bytes: v128): i32 {
  return i8x16.bitmask(
    v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH))),
      i8x16.lt_u(bytes, i8x16.splat(SPACE)),
    ),
  )
}

export function isDigit(byte: u8): bool {
  return <u8>(byte - ZERO) <= 9
}

/** @returns what a hexadecimal digit stands for; 16 or more for what is none. */
export function hexOf(byte: u8): u32 {
  const digit: u32 = <u8>(byte - ZERO)
  if (digit <= 9) return digit
  const letter: u32 = <u8>((byte | 0x20) - 0x61)
  return letter <= 5 ? letter + 10 : 16
}
