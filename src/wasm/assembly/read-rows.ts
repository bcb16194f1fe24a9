import {
  BACKSLASH,
  COMMA,
  isDigit,
  LETTER_E,
  MINUS,
  NEWLINE,
  QUOTE,
  ROW_BYTES,
  ROW_END,
  ROW_START,
  SPACE,
  WORD_FALS,
  WORD_NULL,
  WORD_TRUE,
} from './characters'
import * as form from './forms'
import { FORMS, INPUT, OUTPUT, OUTPUT_END } from './memory'
import { INVALID, putInt16, putInt32, setInt32, setOutput, to } from './output'
import { readArray } from './read-arrays'
import { readBytea, readUuid } from './read-bytes'
import { readDouble, readInteger, readNotFinite, readNumberAsText, readNumeric } from './read-numbers'
import { put1, readString } from './read-strings'
import { readDate, readTime, readTimestamp } from './read-times'

/** How much a row can take: an element of an array six times its own bytes, a field in all as much as this beside them. */
const MAX_GROWTH: usize = 6
const COLUMN_BYTES: usize = 48
const AROUND_BYTES: usize = 64

/** What stands behind the values: `]}` and a newline. */
const CLOSING: u32 = 0x0a7d5d
const CLOSING_BYTES: usize = 3

/** How many rows the last call has read, and how many bytes it has written for them from `OUTPUT` on. */
export let rowsRead: i32 = 0
export let bytesWritten: i32 = 0
/** Whether it ended for want of room. */
export let isFull: bool = false

/**
 * Reads lines with rows as Wharf writes them, and writes what COPY reads, until one that is anything else, or too long, or has
 * no end in the input, or for which there is no room.
 *
 * Only values are read that PostgreSQL writes itself.
 *
 * @param length how much input there is, of valid UTF-8. @param columns how many have forms. @param isBinary whether COPY reads its
 *   binary format. @param maxLineBytes the longest line that is read, without its newline.
 * @returns how much of the input was read.
 */
export function readRows(length: i32, columns: i32, isBinary: bool, maxLineBytes: i32): i32 {
  const end: usize = INPUT + length
  let at: usize = INPUT
  setOutput(OUTPUT)
  rowsRead = 0
  isFull = false
  while (at + ROW_BYTES < end && load<u32>(at) === ROW_START && load<u32>(at + 4) === ROW_END) {
    const newline = newlineFrom(at, end)
    if (newline === end || newline - at > <usize>maxLineBytes) break
    if (MAX_GROWTH * (newline - at) + COLUMN_BYTES * columns + AROUND_BYTES > OUTPUT_END - to) {
      isFull = true
      break
    }
    const rowStart = to
    const next = readRow(at + ROW_BYTES, columns, isBinary)
    if (next === INVALID) {
      setOutput(rowStart)
      break
    }
    rowsRead++
    at = next
  }
  bytesWritten = <i32>(to - OUTPUT)
  return <i32>(at - INPUT)
}

/** @returns the position of the next newline; `end` where there is none. */
function newlineFrom(start: usize, end: usize): usize {
  for (let at = start; at < end; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(NEWLINE)))
    if (found !== 0) return min(at + ctz(found), end)
  }
  return end
}

/** Reads the values of a row, from behind the opening bracket. @returns where the next line begins. */
function readRow(start: usize, columns: i32, isBinary: bool): usize {
  let at = start
  if (isBinary) putInt16(columns)
  for (let column: i32 = 0; column < columns; column++) {
    if (column > 0) {
      if (load<u8>(at) !== COMMA) return INVALID
      at++
      if (!isBinary) put1(0x09)
    }
    while (load<u8>(at) === SPACE) at++
    const code = load<u8>(FORMS + column)
    if (load<u8>(at) === QUOTE) {
      at = readQuoted(at + 1, code)
    } else if (load<u32>(at) === WORD_NULL) {
      putNull(isBinary)
      at += 4
    } else {
      at = readPlain(at, code)
    }
    if (at === INVALID) return INVALID
    while (load<u8>(at) === SPACE) at++
  }
  if (!isBinary) put1(NEWLINE)
  return (load<u32>(at) & 0xffffff) === CLOSING ? at + CLOSING_BYTES : INVALID
}

function putNull(isBinary: bool): void {
  if (isBinary) {
    putInt32(-1)
    return
  }
  put1(BACKSLASH)
  put1(0x4e)
}

/** Reads a string from behind its opening quote. @returns the position behind the closing one. */
function readQuoted(start: usize, code: u8): usize {
  switch (code) {
    case form.NUMBER_AS_TEXT:
    case form.TEXT:
      return readString(start, true)
    case form.STRING:
    case form.JSONB:
      return readText(start, code === form.JSONB)
    case form.DOUBLE:
      return readNotFinite(start)
    case form.NUMERIC:
      return readNumeric(start)
    default: {
      const end = readClosed(start, code)
      return end !== INVALID && load<u8>(end) === QUOTE ? end + 1 : INVALID
    }
  }
}

/** Reads what a closing quote has to follow. @returns the position of that. */
function readClosed(start: usize, code: u8): usize {
  switch (code) {
    case form.SMALLINT:
      return readInteger(start, 2)
    case form.INTEGER:
      return readInteger(start, 4)
    case form.BIGINT:
      return readInteger(start, 8)
    case form.UUID:
      return readUuid(start)
    case form.BYTEA:
      return readBytea(start)
    case form.DATE:
      return readDate(start)
    case form.TIME:
      return readTime(start)
    case form.TIMESTAMP:
      return readTimestamp(start, false)
    case form.TIMESTAMPTZ:
      return readTimestamp(start, true)
    // With the object ids of their elements' types, which are the same in every database.
    case form.SMALLINT_ARRAY:
      return readArray(start, code, 21)
    case form.INTEGER_ARRAY:
      return readArray(start, code, 23)
    case form.BIGINT_ARRAY:
      return readArray(start, code, 20)
    case form.TEXT_ARRAY:
      return readArray(start, code, 25)
    case form.VARCHAR_ARRAY:
      return readArray(start, code, 1043)
    case form.UUID_ARRAY:
      return readArray(start, code, 2950)
    default:
      return INVALID
  }
}

/** Reads a text, and writes it with its length; as `jsonb`, behind the version of its form. */
function readText(start: usize, isJsonb: bool): usize {
  const lengthAt = to
  setOutput(to + 4)
  if (isJsonb) put1(1)
  const end = readString(start, false)
  setInt32(lengthAt, <i32>(to - lengthAt - 4))
  return end
}

/** Reads a number, `true` or `false`. @returns the position behind it. */
function readPlain(start: usize, code: u8): usize {
  switch (code) {
    case form.NUMBER_AS_TEXT:
      if (isDigit(load<u8>(start)) || load<u8>(start) === MINUS) return readNumberAsText(start)
      return readBoolean(start, false)
    case form.TEXT:
      return readBoolean(start, false)
    case form.BOOLEAN:
      return readBoolean(start, true)
    case form.SMALLINT:
      return readInteger(start, 2)
    case form.INTEGER:
      return readInteger(start, 4)
    case form.DOUBLE:
      return readDouble(start)
    default:
      return INVALID
  }
}

function readBoolean(start: usize, isBinary: bool): usize {
  const word = load<u32>(start)
  const isTrue = word === WORD_TRUE
  if (!isTrue && (word !== WORD_FALS || load<u8>(start + 4) !== LETTER_E)) return INVALID
  if (isBinary) {
    putInt32(1)
    put1(isTrue ? 1 : 0)
  } else {
    put1(isTrue ? 0x74 : 0x66)
  }
  return start + (isTrue ? 4 : 5)
}
