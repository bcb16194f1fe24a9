import {
  BACKSLASH,
  CAPITAL_N,
  CLOSING_BRACE,
  COMMA,
  LETTER_B,
  LETTER_U,
  OPENING_BRACE,
  QUOTE,
  SPACE,
} from './characters'
import { BIGINT_ARRAY, INTEGER_ARRAY, SMALLINT_ARRAY, UUID_ARRAY } from './forms'
import { INVALID, putInt32, setInt32, setOutput, to } from './output'
import { readUuid } from './read-bytes'
import { readInteger } from './read-numbers'
import { codePointAt, copyPlain, put1, putCodePoint, unescaped } from './read-strings'

const LENGTH_BYTES: usize = 4
/** Where in the header, behind its length, stand whether there are nulls, and how many elements. */
const HAS_NULLS: usize = 8
const COUNT: usize = 16

/** `NULL`. */
const WORD_NULL: u32 = 0x4c4c554e

/**
 * Reads an array of one dimension that begins at 1, as PostgreSQL writes them (`{a,"b c",NULL}`); the others are left alone.
 *
 * @param form of the array. @param type object id of the type of the elements. @returns the position behind it.
 * @see `array_out` and `array_recv` in https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/arrayfuncs.c
 */
export function readArray(start: usize, form: u8, type: i32): usize {
  if (load<u8>(start) !== OPENING_BRACE) return INVALID
  const isEmpty = load<u8>(start + 1) === CLOSING_BRACE
  const header = to
  putInt32(0)
  putInt32(isEmpty ? 0 : 1)
  putInt32(0)
  putInt32(type)
  let at = start + 1
  if (!isEmpty) {
    putInt32(0)
    putInt32(1)
    let count: i32 = 0
    while (true) {
      if (load<u32>(at) === WORD_NULL && endsElement(load<u8>(at + 4))) {
        putInt32(-1)
        setInt32(header + HAS_NULLS, 1)
        at += 4
      } else {
        at = readElement(at, form)
        if (at === INVALID || !endsElement(load<u8>(at))) return INVALID
      }
      count++
      if (load<u8>(at) !== COMMA) break
      at++
    }
    setInt32(header + COUNT, count)
  }
  setInt32(header, <i32>(to - header - LENGTH_BYTES))
  return at + 1
}

function endsElement(byte: u8): bool {
  return byte === COMMA || byte === CLOSING_BRACE
}

function readElement(at: usize, form: u8): usize {
  switch (form) {
    case SMALLINT_ARRAY:
      return readInteger(at, 2)
    case INTEGER_ARRAY:
      return readInteger(at, 4)
    case BIGINT_ARRAY:
      return readInteger(at, 8)
    case UUID_ARRAY:
      return readUuid(at)
    default:
      return readTextElement(at)
  }
}

function readTextElement(start: usize): usize {
  const lengthAt = to
  setOutput(to + LENGTH_BYTES)
  const isQuoted = load<u8>(start) === BACKSLASH && load<u8>(start + 1) === QUOTE
  const end = isQuoted ? readQuoted(start + 2) : readBare(start)
  setInt32(lengthAt, <i32>(to - lengthAt - LENGTH_BYTES))
  return end
}

/** Whether it ends an element without quotes, or does not stand in one. */
function isSpecial(byte: u8): bool {
  return (
    byte <= SPACE ||
    byte === QUOTE ||
    byte === BACKSLASH ||
    byte === COMMA ||
    byte === OPENING_BRACE ||
    byte === CLOSING_BRACE
  )
}

function readBare(start: usize): usize {
  let at = start
  while (true) {
    while (!isSpecial(load<u8>(at))) put1(load<u8>(at++))
    if (load<u8>(at) !== BACKSLASH) break
    // A control character that is no white space, escaped in JSON.
    const letter = load<u8>(at + 1)
    const isBackspace = letter === LETTER_B
    const code: u32 = isBackspace ? 0x08 : letter === LETTER_U ? codePointAt(at + 2) : 0
    if (!isQuietControl(code)) return INVALID
    put1(<u8>code)
    at += isBackspace ? 2 : 6
  }
  return at === start || (at - start === 4 && isNull(start)) ? INVALID : at
}

/** Whether it is NULL in letters of any size, which would have quotes where it is a text. */
function isNull(start: usize): bool {
  return (load<u8>(start) & 0xdf) === CAPITAL_N && (load<u32>(start) & 0xdfdfdfdf) === WORD_NULL
}

function isQuietControl(code: u32): bool {
  return code > 0 && (code < 0x09 || (code > 0x0d && code < 0x20))
}

function readQuoted(start: usize): usize {
  let at = start
  while (true) {
    at = copyPlain(at)
    if (load<u8>(at++) !== BACKSLASH) return INVALID
    const letter = load<u8>(at++)
    if (letter === QUOTE) return at
    if (letter === BACKSLASH) {
      // A backslash of the array's own: before a quote, or another backslash, which are escaped in JSON as well.
      const character = load<u8>(at + 1)
      if (load<u8>(at) !== BACKSLASH || (character !== QUOTE && character !== BACKSLASH)) return INVALID
      put1(character)
      at += 2
    } else if (letter === LETTER_U) {
      const point = codePointAt(at)
      // Written so, a quote or backslash would mean what it means in an array.
      if (point === 0 || point === QUOTE || point === BACKSLASH) return INVALID
      putCodePoint(point)
      at += point < 0x10000 ? 4 : 10
    } else {
      const character = unescaped(letter)
      if (character === 0) return INVALID
      put1(character)
    }
  }
}
