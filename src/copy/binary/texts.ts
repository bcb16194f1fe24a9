import type { GrowingBuffer } from '../../lib/growing-buffer.ts'
import { HEX_DIGIT } from '../../lib/json-escapes.ts'
import {
  BACKSLASH,
  closed,
  type Field,
  INVALID,
  isWord,
  leftAlone,
  MINUS,
  QUOTE,
  type ReadField,
  WORDS,
} from '../field.ts'
import { readString } from '../read-string.ts'
import { putInt32, setInt32 } from './put.ts'

const LETTER_X = 0x78

/** The characters that have an escape of one letter, by that. */
const ESCAPED = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Writes a field whose length shows only at its end. */
function withLength(read: ReadField): ReadField {
  return (block, start, rows, words) => {
    const lengthAt = rows.length
    rows.length += 4
    const end = read(block, start, rows, words)
    setInt32(rows, lengthAt, rows.length - lengthAt - 4)
    return end
  }
}

const readText = readString(ESCAPED, (character) => character)

/** Types whose binary form is their text: `text`, `varchar`, `char(n)`, `json`, enums. */
export const textField: Field = { string: withLength(readText), plain: leftAlone }

/** `jsonb`: the version of the form, and the text. */
export const jsonbField: Field = {
  string: withLength((block, start, rows, words) => {
    rows.bytes[rows.length++] = 1
    return readText(block, start, rows, words)
  }),
  plain: leftAlone,
}

/** `bytea`, written in hexadecimal digits behind `\x`. */
export const byteaField: Field = {
  string: withLength((block, start, rows) => {
    if (block[start] !== BACKSLASH || block[start + 1] !== BACKSLASH || block[start + 2] !== LETTER_X) return INVALID
    let at = start + 3
    for (; block[at] !== QUOTE; at += 2) if (!putHexByte(rows, block, at)) return INVALID
    return closed(block, at)
  }),
  plain: leftAlone,
}

const UUID_BYTES = 16
/** Before which of its bytes a UUID has a hyphen. */
const HAS_HYPHEN = Uint8Array.from({ length: UUID_BYTES }, (_, byte) => Number([4, 6, 8, 10].includes(byte)))

/** Reads a UUID, and writes it with its length. */
export const readUuid: ReadField = (block, start, rows) => {
  putInt32(rows, UUID_BYTES)
  let at = start
  for (let byte = 0; byte < UUID_BYTES; byte += 1, at += 2) {
    if (HAS_HYPHEN[byte] === 1 && block[at++] !== MINUS) return INVALID
    if (!putHexByte(rows, block, at)) return INVALID
  }
  return at
}

export const uuidField: Field = {
  string: (block, start, rows, words) => closed(block, readUuid(block, start, rows, words)),
  plain: leftAlone,
}

/** @returns whether there are two digits at `at`. */
function putHexByte(rows: GrowingBuffer, block: Buffer, at: number): boolean {
  const high = HEX_DIGIT[block[at] as number] as number
  const low = high > 15 ? high : (HEX_DIGIT[block[at + 1] as number] as number)
  if (low > 15) return false
  rows.bytes[rows.length++] = (high << 4) | low
  return true
}

export const booleanField: Field = {
  string: leftAlone,
  plain(block, start, rows) {
    const value = isWord(block, start, WORDS.true)
    if (!value && !isWord(block, start, WORDS.false)) return INVALID
    putInt32(rows, 1)
    rows.bytes[rows.length++] = Number(value)
    return start + (value ? WORDS.true : WORDS.false).length
  },
}
