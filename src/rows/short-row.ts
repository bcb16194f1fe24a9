import { hasMeaning } from '../copy/plain-text.ts'
import { escapeOf, PREFIX, roomFor, SUFFIX } from './row-text.ts'
import { BOOLEAN, isFiniteNumber, NUMBER, STRING } from './value-form.ts'

const WORD_BYTES = 4

/** So many bytes behind a row are read, too: four are copied at a time. */
export const SLACK_BYTES = WORD_BYTES

/** The first four bytes of a text, which may have fewer, as one number. */
const wordOf = (text: string | Buffer): number => {
  const bytes = Buffer.alloc(WORD_BYTES)
  Buffer.from(text).copy(bytes)
  return bytes.readInt32LE()
}

const [PREFIX_START, PREFIX_END] = [wordOf(PREFIX), wordOf(PREFIX.subarray(WORD_BYTES))]
const SUFFIX_WORD = wordOf(SUFFIX)
const [NULL, TRUE, FALSE_START, FALSE_END] = [wordOf('null'), wordOf('true'), wordOf('fals'), 'e'.charCodeAt(0)]
const SEPARATOR = Buffer.from(', ').readInt16LE()

/** What keeps, of a word with fewer bytes than four, those bytes, and makes spaces of the others. */
const [KEPT, SPACES] = [
  [0, 0xff, 0xffff, 0xffffff],
  [0, 0x20202000, 0x20200000, 0x20000000],
].map((masks) => Int32Array.from(masks)) as [Int32Array, Int32Array]

const [QUOTE, BACKSLASH, SPACE, LETTER_T] = [0x22, 0x5c, 0x20, 0x74]

/** How much longer a byte may become. */
const MAX_ESCAPE_BYTES = 6

/** How many bytes a line takes at most, with those that are written over. @param bytes of its values, with their lengths. */
export const shortRowRoom = (bytes: number, columns: number): number =>
  MAX_ESCAPE_BYTES * bytes + roomFor(columns) + SLACK_BYTES

/**
 * Writes one row that is short enough for as much room as it could take at most, four bytes at a time.
 *
 * @param forms as codes, by column. @param words memory with the values, each behind its length, and `SLACK_BYTES` behind the last.
 * @param start where they begin. @param copies where the line is written, which has `shortRowRoom`. @param begin where it begins there.
 * @returns where it ends.
 */
export function writeShortRow(
  forms: Uint8Array,
  words: DataView,
  start: number,
  copies: DataView,
  begin: number,
): number {
  copies.setInt32(begin, PREFIX_START, true)
  copies.setInt32(begin + WORD_BYTES, PREFIX_END, true)
  let to = begin + PREFIX.length
  let at = start
  for (let column = 0; column < forms.length; column += 1) {
    if (column > 0) {
      copies.setInt16(to, SEPARATOR, true)
      to += 2
    }
    const length = words.getInt32(at)
    at += 4
    if (length < 0) {
      copies.setInt32(to, NULL, true)
      to += 4
      continue
    }
    const form = forms[column]
    const after = at + length
    if (form === STRING) {
      copies.setUint8(to, QUOTE)
      to = writeText(words, at, after, copies, to + 1)
      copies.setUint8(to++, QUOTE)
    } else if (form === NUMBER && isFiniteNumber(words, at)) {
      to = copyWords(words, at, after, copies, to)
    } else if (form === BOOLEAN) {
      const isTrue = words.getUint8(at) === LETTER_T
      copies.setInt32(to, isTrue ? TRUE : FALSE_START, true)
      to += 4
      if (!isTrue) copies.setUint8(to++, FALSE_END)
    } else {
      copies.setUint8(to, QUOTE)
      to = copyWords(words, at, after, copies, to + 1)
      copies.setUint8(to++, QUOTE)
    }
    at = after
  }
  copies.setInt32(to, SUFFIX_WORD, true)
  return to + SUFFIX.length
}

/** @returns where it ends. */
function copyWords(words: DataView, start: number, end: number, copies: DataView, begin: number): number {
  for (let at = start, to = begin; at < end; at += WORD_BYTES, to += WORD_BYTES) {
    copies.setInt32(to, words.getInt32(at, true), true)
  }
  return begin + end - start
}

/** Writes what stands between quotes. @returns where it ends. */
function writeText(words: DataView, start: number, end: number, copies: DataView, begin: number): number {
  let to = begin
  for (let at = start; at < end; at += WORD_BYTES) {
    const left = end - at
    const word = words.getInt32(at, true)
    const bytes = left < WORD_BYTES ? (word & (KEPT[left] as number)) | (SPACES[left] as number) : word
    if (hasMeaning(bytes)) {
      to = escapeWord(bytes, Math.min(left, WORD_BYTES), copies, to)
      continue
    }
    copies.setInt32(to, bytes, true)
    to += left < WORD_BYTES ? left : WORD_BYTES
  }
  return to
}

/** Writes the first bytes of a word. @returns where they end. */
function escapeWord(word: number, count: number, copies: DataView, begin: number): number {
  let to = begin
  for (let shift = 0; shift < 8 * count; shift += 8) {
    const byte = (word >>> shift) & 0xff
    if (byte < SPACE) {
      const written = escapeOf(byte)
      for (let index = 0; index < written.length; index += 1) copies.setUint8(to++, written[index] as number)
      continue
    }
    if (byte === QUOTE || byte === BACKSLASH) copies.setUint8(to++, BACKSLASH)
    copies.setUint8(to++, byte)
  }
  return to
}
