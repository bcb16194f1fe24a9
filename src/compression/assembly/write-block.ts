import { bitCount, bits, endByte, putBits, setBits, to } from './bits'
import { findCodeLengths } from './code-lengths'
import { makeCodes } from './code-table'
import { tokensEnd } from './find-matches'
import {
  CODE_LENGTHS,
  DISTANCE_CODES,
  DISTANCE_COUNTS,
  LENGTH_CODES,
  LENGTH_SYMBOLS,
  LITERAL_CODES,
  LITERAL_COUNTS,
  TOKENS,
} from './memory'
import {
  DISTANCE_SYMBOLS,
  distanceExtraBits,
  distanceSymbol,
  END_OF_BLOCK,
  FIRST_LENGTH_SYMBOL,
  LITERAL_SYMBOLS,
  lengthExtraBits,
  MAX_LENGTH,
  MIN_LENGTH,
} from './symbols'
import { measureCodes, writeCodes } from './write-codes'

/** The types of blocks (RFC 1951, section 3.2.3). */
const STORED: u64 = 0
const OWN_CODES: u64 = 2

const LONGEST_CODE: i32 = 15
/** How many bytes a stored block has at most. */
const MAX_STORED_BYTES: usize = 0xffff
/** At most: 3 bits, up to 7 to the next byte, and its length twice. */
const STORED_HEADER_BITS: u32 = 3 + 7 + 32
/** Of one with codes of its own, without the codes. */
const OWN_HEADER_BITS: u32 = 3 + 5 + 5

/**
 * Writes the tokens of the input from `start` to `end` as a block: stored, where codes do not make it shorter. Where that is more than a
 * stored block can have, a third of the tokens are matches, so that codes always do.
 */
export function writeBlock(start: usize, end: usize, isLast: bool): void {
  findCodeLengths(LITERAL_COUNTS, LITERAL_SYMBOLS, CODE_LENGTHS, LONGEST_CODE)
  let literals = LITERAL_SYMBOLS
  while (load<u8>(CODE_LENGTHS + literals - 1) === 0) literals--
  const distanceLengths: usize = CODE_LENGTHS + literals
  findCodeLengths(DISTANCE_COUNTS, DISTANCE_SYMBOLS, distanceLengths, LONGEST_CODE)
  let distances = DISTANCE_SYMBOLS
  while (load<u8>(distanceLengths + distances - 1) === 0) distances--
  const taken =
    OWN_HEADER_BITS + measureCodes(CODE_LENGTHS, literals + distances) + measureTokens(literals, distanceLengths)
  if (end - start <= MAX_STORED_BYTES && STORED_HEADER_BITS + ((<u32>(end - start)) << 3) <= taken) {
    storeBlock(start, end, isLast)
    return
  }
  putBits(isLast ? 1 : 0, 1)
  putBits(OWN_CODES, 2)
  putBits(literals - 257, 5)
  putBits(distances - 1, 5)
  writeCodes()
  makeCodes(CODE_LENGTHS, literals, LITERAL_CODES)
  makeCodes(distanceLengths, distances, DISTANCE_CODES)
  writeTokens()
}

/** @returns how many bits the tokens take, with the end of the block. */
function measureTokens(literals: i32, distanceLengths: usize): u32 {
  let taken: u32 = 0
  for (let symbol = 0; symbol < literals; symbol++) {
    const extraBits: u32 = symbol < <i32>FIRST_LENGTH_SYMBOL ? 0 : lengthExtraBits(symbol)
    taken += load<u32>(LITERAL_COUNTS + (symbol << 2)) * (<u32>load<u8>(CODE_LENGTHS + symbol) + extraBits)
  }
  for (let symbol = 0; symbol < DISTANCE_SYMBOLS; symbol++) {
    const each: u32 = <u32>load<u8>(distanceLengths + symbol) + distanceExtraBits(symbol)
    taken += load<u32>(DISTANCE_COUNTS + (symbol << 2)) * each
  }
  return taken
}

/** Writes a stored block (RFC 1951, section 3.2.4). */
function storeBlock(start: usize, end: usize, isLast: bool): void {
  putBits(isLast ? 1 : 0, 1)
  putBits(STORED, 2)
  endByte()
  const length: u64 = <u64>(end - start)
  putBits(length, 16)
  putBits(~length & 0xffff, 16)
  memory.copy(to, start, end - start)
  setBits(to + (end - start), 0, 0)
}

function writeTokens(): void {
  joinLengthCodes()
  // This loop takes most of the time of a block: local variables stay in registers.
  let at = to
  let pending = bits
  let count = bitCount
  for (let next = TOKENS; next < tokensEnd; next += 4) {
    const token = load<u32>(next)
    if (<i32>token >= 0) {
      const code = load<u32>(LITERAL_CODES + (token << 2))
      pending |= (<u64>(code & 0xffff)) << count
      count += <u64>(code >> 16)
      if (count < 32) continue
    } else {
      // A match has up to 48 bits: 15 and 5 extra ones for its length, 15 and 13 for its distance.
      if (count >= 16) {
        store<u64>(at, pending)
        at += <usize>(count >> 3)
        pending >>= count & ~7
        count &= 7
      }
      const length = LENGTH_CODES + ((<usize>((token >> 16) & 0x1ff)) << 3)
      pending |= (<u64>load<u32>(length)) << count
      count += <u64>load<u32>(length, 4)
      const lessOne = token & 0xffff
      const symbol = distanceSymbol(lessOne)
      const code = load<u32>(DISTANCE_CODES + (symbol << 2))
      pending |= (<u64>(code & 0xffff)) << count
      count += <u64>(code >> 16)
      const extraBits = distanceExtraBits(symbol)
      pending |= (<u64>(lessOne & ((1 << extraBits) - 1))) << count
      count += <u64>extraBits
    }
    store<u64>(at, pending)
    at += <usize>(count >> 3)
    pending >>= count & ~7
    count &= 7
  }
  setBits(at, pending, count)
  const code = load<u32>(LITERAL_CODES + (END_OF_BLOCK << 2))
  putBits(code & 0xffff, code >> 16)
}

/** Of each length of a match: the code of its symbol, with its extra bits (4 bytes), and how many bits that is (4 bytes). */
function joinLengthCodes(): void {
  for (let length = MIN_LENGTH; length <= MAX_LENGTH; length++) {
    const listed = LENGTH_SYMBOLS + ((<usize>length) << 3)
    const code = load<u32>(LITERAL_CODES + ((<usize>load<u16>(listed)) << 2))
    const codeBits = code >> 16
    const joined = LENGTH_CODES + ((<usize>length) << 3)
    store<u32>(joined, (code & 0xffff) | (load<u32>(listed, 4) << codeBits))
    store<u32>(joined, codeBits + load<u16>(listed, 2), 4)
  }
}
