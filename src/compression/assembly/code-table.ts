import { LENGTH_COUNTS, NEXT_CODES } from './memory'

const LONGEST: i32 = 15

/**
 * Makes the codes of which the lengths are known (RFC 1951, section 3.2.2).
 *
 * @param lengths a byte each. @param codes four bytes each: the code, its first bit the lowest, as it is written, and above its
 *   sixteen bits its length.
 */
export function makeCodes(lengths: usize, symbols: i32, codes: usize): void {
  memory.fill(LENGTH_COUNTS, 0, (LONGEST + 1) << 2)
  for (let symbol = 0; symbol < symbols; symbol++) {
    const counted = LENGTH_COUNTS + ((<usize>load<u8>(lengths + symbol)) << 2)
    store<u32>(counted, load<u32>(counted) + 1)
  }
  store<u32>(LENGTH_COUNTS, 0)
  let code: u32 = 0
  for (let length = 1; length <= LONGEST; length++) {
    code = (code + load<u32>(LENGTH_COUNTS + ((length - 1) << 2))) << 1
    store<u32>(NEXT_CODES + (length << 2), code)
  }
  for (let symbol = 0; symbol < symbols; symbol++) {
    const length: u32 = load<u8>(lengths + symbol)
    const next = NEXT_CODES + (length << 2)
    const own = length > 0 ? load<u32>(next) : 0
    if (length > 0) store<u32>(next, own + 1)
    store<u32>(codes + (symbol << 2), reversed(own, length) | (length << 16))
  }
}

function reversed(code: u32, length: u32): u32 {
  let turned: u32 = 0
  for (let bit: u32 = 0; bit < length; bit++) turned |= ((code >> bit) & 1) << (length - 1 - bit)
  return turned
}
