import type { GrowingBuffer } from '../lib/growing-buffer.ts'

const [SPACE, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c]

const WORD_BYTES = 4

/** The same byte four times. */
const fourTimes = (byte: number): number => (byte * 0x01010101) | 0

const SPACES = fourTimes(SPACE)
const QUOTES = fourTimes(QUOTE)
const BACKSLASHES = fourTimes(BACKSLASH)
const ONES = fourTimes(0x01)
const HIGH_BITS = fourTimes(0x80)

/**
 * Copies what stands for itself inside a JSON string, four bytes at a time: text is most of most archives.
 *
 * @param words a block of memory. @param end where to stop at the latest. @param rows has room for what is copied.
 * @returns the position of the first byte that means something else: a quote, a backslash, or a control character; `end`
 *   where there is none.
 */
export function copyPlain(words: DataView, start: number, end: number, rows: GrowingBuffer): number {
  const copies = rows.words
  const lastWord = end - WORD_BYTES
  let to = rows.length
  let at = start
  while (at <= lastWord) {
    const word = words.getInt32(at, true)
    if (hasMeaning(word)) break
    copies.setInt32(to, word, true)
    at += WORD_BYTES
    to += WORD_BYTES
  }
  for (; at < end; at += 1) {
    const byte = words.getUint8(at)
    if (!isPlain(byte)) break
    copies.setUint8(to++, byte)
  }
  rows.length = to
  return at
}

const isPlain = (byte: number): boolean => byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH

/**
 * Whether one of four bytes is not plain: no space or anything above, or a quote or backslash.
 *
 * A subtraction leaves the highest bit set in the lowest byte that is below what is subtracted, which is looked for;
 * what it borrows from the bytes above can only come after that.
 *
 * @see https://graphics.stanford.edu/~seander/bithacks.html, "Determine if a word has a byte less than n"
 */
export function hasMeaning(word: number): boolean {
  const quotes = word ^ QUOTES
  const backslashes = word ^ BACKSLASHES
  const found = ((word - SPACES) & ~word) | ((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes)
  return (found & HIGH_BITS) !== 0
}
