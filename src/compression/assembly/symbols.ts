import { LENGTH_SYMBOLS } from './memory'

/*
 * What a block is made of: literals (0 to 255), its end (256), and matches, each a length and a distance with extra bits behind
 * its symbol (RFC 1951, section 3.2.5).
 */

export const END_OF_BLOCK: usize = 256
export const LITERAL_SYMBOLS: i32 = 286
export const DISTANCE_SYMBOLS: i32 = 30

export const MIN_LENGTH: u32 = 3
export const MAX_LENGTH: u32 = 258
export const MAX_DISTANCE: usize = 32768

export const FIRST_LENGTH_SYMBOL: u32 = 257
const LAST_LENGTH_SYMBOL: u32 = 285

/** Marks a token as a match; others are the byte of a literal. */
export const MATCH: u32 = 0x80000000

export function matchToken(length: u32, distance: u32): u32 {
  return MATCH | (length << 16) | (distance - 1)
}

/** Fills the table of lengths: of each its symbol (2 bytes), how many extra bits it has (2 bytes), and which (4 bytes). */
export function listLengths(): void {
  let length = MIN_LENGTH
  for (let symbol = FIRST_LENGTH_SYMBOL; symbol < LAST_LENGTH_SYMBOL; symbol++) {
    const extraBits = lengthExtraBits(symbol)
    for (let extra: u32 = 0; extra < 1 << extraBits; extra++) listLength(length++, symbol, extraBits, extra)
  }
  // The longest has a symbol of its own, though the one before it could say it, too.
  listLength(MAX_LENGTH, LAST_LENGTH_SYMBOL, 0, 0)
}

function listLength(length: u32, symbol: u32, extraBits: u32, extra: u32): void {
  const at = LENGTH_SYMBOLS + ((<usize>length) << 3)
  store<u16>(at, <u16>symbol)
  store<u16>(at, <u16>extraBits, 2)
  store<u32>(at, extra, 4)
}

/** @returns how many extra bits the symbol of a length has. */
export function lengthExtraBits(symbol: u32): u32 {
  return symbol < 265 || symbol === LAST_LENGTH_SYMBOL ? 0 : (symbol - 261) >> 2
}

/** @returns the symbol of a distance. */
export function distanceSymbol(lessOne: u32): u32 {
  if (lessOne < 4) return lessOne
  const highest: u32 = 31 - clz(lessOne)
  return (highest << 1) + ((lessOne >> (highest - 1)) & 1)
}

/** @returns how many extra bits the symbol of a distance has: they are the lowest bits of the distance less one. */
export function distanceExtraBits(symbol: u32): u32 {
  return symbol < 4 ? 0 : (symbol >> 1) - 1
}
