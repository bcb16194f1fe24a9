import type { GrowingBuffer } from '../../lib/growing-buffer.ts'
import { readCodePoint } from '../../lib/json-escapes.ts'
import { BACKSLASH, COMMA, closed, type Field, INVALID, isWord, leftAlone, QUOTE, type ReadField } from '../field.ts'
import { copyPlain } from '../plain-text.ts'
import { putInt32, setInt32 } from './put.ts'

const [OPENING_BRACE, CLOSING_BRACE, LETTER_B, LETTER_U, BACKSPACE] = [0x7b, 0x7d, 0x62, 0x75, 0x08]

const NULL = Buffer.from('NULL')
const IS_NULL = /^null$/i

/**
 * More than the rest of a row can take beyond its JSON: a table has at most 1,600 columns. An element takes more bytes
 * than its digits, so room is made as they come.
 */
const REST_OF_ROW = 32 * 1024

/**
 * Arrays of one dimension that begins at 1, as PostgreSQL writes them (`{a,"b c",NULL}`); the others are left alone.
 *
 * @param type object id of the type of the elements. @param element reads one, and writes it with its length.
 * @see `array_out` and `array_recv` in https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/arrayfuncs.c
 */
export const arrayField = (type: number, element: ReadField): Field => ({
  plain: leftAlone,
  string(block, start, rows, words) {
    if (block[start] !== OPENING_BRACE) return INVALID
    const isEmpty = block[start + 1] === CLOSING_BRACE
    rows.reserve(block.length - start + REST_OF_ROW)
    const header = rows.length
    for (const value of [0, isEmpty ? 0 : 1, 0, type]) putInt32(rows, value)
    let at = start + 1
    if (!isEmpty) {
      putInt32(rows, 0)
      putInt32(rows, 1)
      let count = 0
      do {
        rows.reserve(block.length - at + REST_OF_ROW)
        if (isWord(block, at, NULL) && endsElement(block[at + NULL.length])) {
          putInt32(rows, -1)
          setInt32(rows, header + HAS_NULLS, 1)
          at += NULL.length
        } else {
          at = element(block, at, rows, words)
        }
        if (at === INVALID || !endsElement(block[at])) return INVALID
        count += 1
      } while (block[at++] === COMMA)
      setInt32(rows, header + COUNT, count)
      at -= 1
    }
    setInt32(rows, header, rows.length - header - LENGTH_BYTES)
    rows.reserve(block.length - at + REST_OF_ROW)
    return closed(block, at + 1)
  },
})

/** Where in the header, behind its length, stand whether there are nulls, and how many elements. */
const [LENGTH_BYTES, HAS_NULLS, COUNT] = [4, 8, 16]

const endsElement = (byte: number | undefined): boolean => byte === COMMA || byte === CLOSING_BRACE

/** An element of text. */
export const textElement: ReadField = (block, start, rows, words) => {
  const lengthAt = rows.length
  rows.length += LENGTH_BYTES
  const isQuoted = block[start] === BACKSLASH && block[start + 1] === QUOTE
  const end = isQuoted ? readQuoted(block, start + 2, rows, words) : readBare(block, start, rows)
  setInt32(rows, lengthAt, rows.length - lengthAt - LENGTH_BYTES)
  return end
}

/** What ends an element without quotes, or does not stand in one. */
const IS_SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte <= 0x20 || [QUOTE, BACKSLASH, COMMA, OPENING_BRACE, CLOSING_BRACE].includes(byte)),
)

function readBare(block: Buffer, start: number, rows: GrowingBuffer): number {
  let at = start
  for (;;) {
    while (IS_SPECIAL[block[at] as number] === 0) rows.bytes[rows.length++] = block[at++] as number
    if (block[at] !== BACKSLASH) break
    // A control character that is no white space, escaped in JSON.
    const isBackspace = block[at + 1] === LETTER_B
    const code = isBackspace ? BACKSPACE : readCodePoint(block, at + 2)?.charCodeAt(0)
    const isEscape = isBackspace || block[at + 1] === LETTER_U
    if (!isEscape || code === undefined || !isQuietControl(code)) return INVALID
    rows.bytes[rows.length++] = code
    at += isBackspace ? 2 : 6
  }
  const isNull = at - start === NULL.length && IS_NULL.test(block.toString('latin1', start, at))
  return at === start || isNull ? INVALID : at
}

const isQuietControl = (code: number): boolean => code < 0x09 || (code > 0x0d && code < 0x20)

/** Of what is escaped in JSON, what stands for itself in an array. */
const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', '/': '/' }
const UNESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => ESCAPED[String.fromCharCode(byte)]?.charCodeAt(0) ?? 0)

function readQuoted(block: Buffer, start: number, rows: GrowingBuffer, words: DataView): number {
  for (let at = start; ; ) {
    at = copyPlain(words, at, words.byteLength, rows)
    if (block[at++] !== BACKSLASH) return INVALID
    const letter = block[at++] as number
    if (letter === QUOTE) return at
    if (letter === BACKSLASH) {
      // A backslash of the array's own: before a quote, or another backslash, which are escaped in JSON as well.
      const character = block[at + 1] as number
      if (block[at] !== BACKSLASH || (character !== QUOTE && character !== BACKSLASH)) return INVALID
      rows.bytes[rows.length++] = character
      at += 2
    } else if (letter === LETTER_U) {
      const character = readCodePoint(block, at)
      if (character === undefined || IS_QUOTE_OR_BACKSLASH.test(character)) return INVALID
      rows.length += rows.bytes.write(character, rows.length)
      at += character.length === 1 ? 4 : 10
    } else {
      const character = UNESCAPED[letter] as number
      if (character === 0) return INVALID
      rows.bytes[rows.length++] = character
    }
  }
}

/** Written so, they would mean what they mean in an array. */
const IS_QUOTE_OR_BACKSLASH = /["\\]/
