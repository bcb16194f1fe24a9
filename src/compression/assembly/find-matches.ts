import {
  COUNTS_END,
  DISTANCE_COUNTS,
  HASH_BITS,
  INPUT,
  LAST_SEEN,
  LENGTH_SYMBOLS,
  LITERAL_COUNTS,
  MAX_TOKENS,
  TOKENS,
} from './memory'
import { distanceSymbol, END_OF_BLOCK, MAX_DISTANCE, MAX_LENGTH, matchToken } from './symbols'

/** Three bytes as a match would take hardly fewer bits than as literals. */
const MIN_MATCH: usize = 4

/** No match begins in the last bytes, so that no hash is of bytes behind the input. */
const LITERAL_END_BYTES: usize = 16

/** 2^40 divided by the golden ratio, for Knuth's multiplicative hashing. */
const MULTIPLIER: u64 = 0x9e3779b97f

/** Where the last token ends. */
export let tokensEnd: usize = TOKENS

/** Forgets what was seen of another input. */
export function startMatching(): void {
  memory.fill(LAST_SEEN, 0, 2 << (<usize>HASH_BITS))
}

/** @returns where the last position is kept of five bytes with this hash: matches of five are found sooner than those of four. */
function hashAt(at: usize): usize {
  return LAST_SEEN + ((<usize>(((load<u64>(at) << 24) * MULTIPLIER) >> (64 - HASH_BITS))) << 1)
}

function count(counts: usize, symbol: usize): void {
  const at = counts + (symbol << 2)
  store<u32>(at, load<u32>(at) + 1)
}

/**
 * Makes tokens of the input from `at` on, as many as a block has, and counts their symbols. Bytes are compared with those that were
 * seen last with the same hash, and with no others.
 *
 * @param end of the input. @returns where the next block begins.
 */
export function findMatches(at: usize, end: usize): usize {
  memory.fill(LITERAL_COUNTS, 0, COUNTS_END - LITERAL_COUNTS)
  count(LITERAL_COUNTS, END_OF_BLOCK)
  const matchable: usize = end - INPUT > LITERAL_END_BYTES ? end - LITERAL_END_BYTES : INPUT
  let token = TOKENS
  while (at < matchable && token < TOKENS + (MAX_TOKENS << 2)) {
    const bytes = load<u32>(at)
    const seen = hashAt(at)
    const distance: usize = (at - <usize>load<u16>(seen)) & 0xffff
    store<u16>(seen, <u16>at)
    const earlier = at - distance
    // A distance of 0 becomes 2^32 - 1 here.
    if (distance - 1 < MAX_DISTANCE && load<u32>(earlier) === bytes) {
      const length = matchLength(at, earlier, min<usize>(MAX_LENGTH, end - at))
      count(LITERAL_COUNTS, load<u16>(LENGTH_SYMBOLS + (length << 3)))
      count(DISTANCE_COUNTS, distanceSymbol(<u32>distance - 1))
      store<u32>(token, matchToken(<u32>length, <u32>distance))
      const next = at + length
      store<u16>(hashAt(at + 1), <u16>(at + 1))
      store<u16>(hashAt(next - 1), <u16>(next - 1))
      at = next
    } else {
      const literal: usize = <usize>(bytes & 0xff)
      count(LITERAL_COUNTS, literal)
      store<u32>(token, <u32>literal)
      at++
    }
    token += 4
  }
  if (at >= matchable) {
    for (; at < end && token < TOKENS + (MAX_TOKENS << 2); at++, token += 4) {
      count(LITERAL_COUNTS, load<u8>(at))
      store<u32>(token, load<u8>(at))
    }
  }
  tokensEnd = token
  return at
}

/** @returns how many bytes are the same, four or more, at most `longest`. */
function matchLength(at: usize, earlier: usize, longest: usize): usize {
  for (let length = MIN_MATCH; length < longest; length += 8) {
    const different = load<u64>(at + length) ^ load<u64>(earlier + length)
    if (different !== 0) return min<usize>(length + <usize>(ctz(different) >> 3), longest)
  }
  return longest
}
