import {
  BACKSLASH,
  isDigit,
  LETTER_E,
  LETTER_T,
  MINUS,
  QUOTE,
  ROW_BYTES,
  ROW_END,
  ROW_START,
  SPACE,
  specialsOf,
  WORD_FALS,
  WORD_NULL,
  WORD_TRUE,
  ZERO,
} from './characters'
import { FORMS, INPUT, OUTPUT, OUTPUT_END } from './memory'

/** As `value-form.ts` numbers them. */
const NUMBER: u8 = 0
const BOOLEAN: u8 = 1
const STRING: u8 = 3

/** What `writeRows` returns for a message that is none: its lengths do not fit together. */
const MALFORMED: i32 = -1

/** A message has one byte for its kind and four for its length, which counts itself; then comes the number of values. */
const KIND_BYTES: usize = 1
const MESSAGE_HEADER: usize = 5
const COUNT_BYTES: usize = 2
const LENGTH_BYTES: usize = 4
const DATA_ROW: u8 = 0x44

/** How much a row can take: six times its own bytes, and for each column quotes and a comma, or `false`, or `null`. */
const MAX_ESCAPE_BYTES: usize = 6
const COLUMN_BYTES: usize = 8
const AROUND_BYTES: usize = 32

/** `]}` and a newline, and `, `, as numbers. */
const SUFFIX: u32 = 0x000a7d5d
const SUFFIX_BYTES: usize = 3
const SEPARATOR: u16 = 0x202c

/** How many rows the last call has written, and of which range. */
export let rows: i32 = 0
export let range: i32 = 0
/** How many bytes it has written from `OUTPUT` on. */
export let written: i32 = 0

/**
 * Writes lines of an archive out of messages with rows: what `json_build_array` writes of the values but the first, which is
 * the number of a range. Ends before a message that is not whole or no row, before a row of another range than the first,
 * and where there is no room for the next row.
 *
 * @param length how much input there is. @param columns how many have forms.
 * @returns how much of the input was taken, or `MALFORMED`.
 */
export function writeRows(length: i32, columns: i32): i32 {
  const end: usize = INPUT + length
  let at: usize = INPUT
  let to: usize = OUTPUT
  rows = 0
  while (at + MESSAGE_HEADER <= end && load<u8>(at) === DATA_ROW) {
    const bytes: usize = bswap<u32>(load<u32>(at + KIND_BYTES))
    if (bytes > <usize>(end - at - KIND_BYTES)) break
    const after: usize = at + KIND_BYTES + bytes
    const digits: usize = at + MESSAGE_HEADER + COUNT_BYTES + LENGTH_BYTES
    if (digits > after || bswap<u16>(load<u16>(at + MESSAGE_HEADER)) !== columns + 1) return MALFORMED
    const values: usize = digits + bswap<u32>(load<u32>(digits - LENGTH_BYTES))
    if (values < digits || values > after) return MALFORMED
    const itsRange = readRange(digits, values)
    if (rows === 0) range = itsRange
    else if (itsRange !== range) break
    if (MAX_ESCAPE_BYTES * bytes + COLUMN_BYTES * columns + AROUND_BYTES > OUTPUT_END - to) break
    to = writeRow(values, after, columns, to)
    if (to === 0) return MALFORMED
    rows++
    at = after
  }
  written = <i32>(to - OUTPUT)
  return <i32>(at - INPUT)
}

function readRange(start: usize, end: usize): i32 {
  let number: i32 = 0
  for (let at = start; at < end; at++) number = 10 * number + load<u8>(at) - ZERO
  return number
}

/** Writes the values between `start` and `end`, each behind its length. @returns where the line ends; 0 for lengths that are wrong. */
function writeRow(start: usize, end: usize, columns: i32, begin: usize): usize {
  store<u32>(begin, ROW_START)
  store<u32>(begin + 4, ROW_END)
  let to = begin + ROW_BYTES
  let at = start
  for (let column: i32 = 0; column < columns; column++) {
    if (column > 0) {
      store<u16>(to, SEPARATOR)
      to += 2
    }
    if (end - at < LENGTH_BYTES) return 0
    const length: i32 = bswap<i32>(load<i32>(at))
    at += LENGTH_BYTES
    if (length < 0) {
      store<u32>(to, WORD_NULL)
      to += 4
      continue
    }
    if (<usize>length > end - at) return 0
    const after: usize = at + length
    const form = load<u8>(FORMS + column)
    if (form === STRING) {
      store<u8>(to, QUOTE)
      to = writeText(at, after, to + 1)
      store<u8>(to++, QUOTE)
    } else if (form === NUMBER && isFiniteNumber(at)) {
      to = copyBytes(at, after, to)
    } else if (form === BOOLEAN) {
      const isTrue = load<u8>(at) === LETTER_T
      store<u32>(to, isTrue ? WORD_TRUE : WORD_FALS)
      to += 4
      if (!isTrue) store<u8>(to++, LETTER_E)
    } else {
      store<u8>(to, QUOTE)
      to = copyBytes(at, after, to + 1)
      store<u8>(to++, QUOTE)
    }
    at = after
  }
  if (at !== end) return 0
  store<u32>(to, SUFFIX)
  return to + SUFFIX_BYTES
}

/** Whether a number is one to JSON: `NaN`, `Infinity` and `-Infinity` are not. */
function isFiniteNumber(at: usize): bool {
  const byte = load<u8>(at)
  return isDigit(byte === MINUS ? load<u8>(at + 1) : byte)
}

/** @returns where it ends. */
function copyBytes(start: usize, end: usize, begin: usize): usize {
  let to = begin
  for (let at = start; at < end; at += 16, to += 16) v128.store(to, v128.load(at))
  return begin + (end - start)
}

/** Writes what stands between quotes, sixteen bytes at a time. @returns where it ends. */
function writeText(start: usize, end: usize, begin: usize): usize {
  let at = start
  let to = begin
  while (at < end) {
    const bytes = v128.load(at)
    v128.store(to, bytes)
    const left = end - at
    let escaped = specialsOf(bytes)
    if (left < 16) escaped &= (1 << (<i32>left)) - 1
    if (escaped === 0) {
      const count: usize = left < 16 ? left : 16
      at += count
      to += count
      continue
    }
    const plain: usize = ctz(escaped)
    at += plain
    to = writeEscape(load<u8>(at++), to + plain)
  }
  return to
}

/** @returns where it ends. */
function writeEscape(byte: u8, to: usize): usize {
  store<u8>(to, BACKSLASH)
  const letter = byte >= SPACE ? byte : letterOf(byte)
  if (letter > 0) {
    store<u8>(to + 1, letter)
    return to + 2
  }
  // `u00`, and two digits.
  store<u32>(to + 1, 0x00303075)
  store<u8>(to + 4, ZERO + (byte >> 4))
  const low = byte & 0xf
  store<u8>(to + 5, low < 10 ? ZERO + low : 0x57 + low)
  return to + 6
}

/** The letter of a control character's own escape; 0 for none. */
function letterOf(byte: u8): u8 {
  switch (byte) {
    case 0x08:
      return 0x62
    case 0x09:
      return 0x74
    case 0x0a:
      return 0x6e
    case 0x0c:
      return 0x66
    case 0x0d:
      return 0x72
    default:
      return 0
  }
}
