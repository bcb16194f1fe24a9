import type { CopyBuffer } from '../copy-buffer.ts'
import { copyPlain } from '../plain-text.ts'
import { INVALID, isWord, readCodePoint, WORDS } from '../value-scanner.ts'
import {
  BACKSLASH,
  type BinaryField,
  closed,
  leftAlone,
  MINUS,
  putInt32,
  QUOTE,
  type ReadField,
  setInt32,
} from './field.ts'

const [LETTER_U, LETTER_X] = [0x75, 0x78]

/** What the character behind a backslash stands for; 0 where it does not stand for a character by itself. */
const ESCAPED = new Uint8Array(256)
for (const [letter, byte] of Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r' })) {
  ESCAPED[letter.charCodeAt(0)] = byte.charCodeAt(0)
}
ESCAPED['t'.charCodeAt(0)] = '\t'.charCodeAt(0)

/** By byte, what it is as a hexadecimal digit; 16 for what is none. */
const HEX_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) =>
  /^[\da-fA-F]$/.test(String.fromCharCode(byte)) ? Number.parseInt(String.fromCharCode(byte), 16) : 16,
)

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

const readText: ReadField = (block, start, rows, words) => {
  const { bytes } = rows
  for (let at = start; ; ) {
    at = copyPlain(words, at, rows)
    const byte = block[at++]
    if (byte === QUOTE) return at
    if (byte !== BACKSLASH) return INVALID
    const letter = block[at++] as number
    const escaped = ESCAPED[letter] as number
    if (escaped > 0) {
      bytes[rows.length++] = escaped
    } else if (letter === LETTER_U) {
      const character = readCodePoint(block, at)
      if (character === undefined) return INVALID
      rows.length += bytes.write(character, rows.length)
      at += character.length === 1 ? 4 : 10
    } else {
      return INVALID
    }
  }
}

/** Types whose binary form is their text: `text`, `varchar`, `char(n)`, `json`, enums. */
export const textField: BinaryField = { string: withLength(readText), plain: leftAlone }

/** `jsonb`: the version of the form, and the text. */
export const jsonbField: BinaryField = {
  string: withLength((block, start, rows, words) => {
    rows.bytes[rows.length++] = 1
    return readText(block, start, rows, words)
  }),
  plain: leftAlone,
}

/** `bytea`, written in hexadecimal digits behind `\x`. */
export const byteaField: BinaryField = {
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

export const uuidField: BinaryField = {
  string(block, start, rows) {
    putInt32(rows, UUID_BYTES)
    let at = start
    for (let byte = 0; byte < UUID_BYTES; byte += 1, at += 2) {
      if (HAS_HYPHEN[byte] === 1 && block[at++] !== MINUS) return INVALID
      if (!putHexByte(rows, block, at)) return INVALID
    }
    return closed(block, at)
  },
  plain: leftAlone,
}

/** @returns whether there are two digits at `at`. */
function putHexByte(rows: CopyBuffer, block: Buffer, at: number): boolean {
  const high = HEX_DIGIT[block[at] as number] as number
  const low = high > 15 ? high : (HEX_DIGIT[block[at + 1] as number] as number)
  if (low > 15) return false
  rows.bytes[rows.length++] = (high << 4) | low
  return true
}

export const booleanField: BinaryField = {
  string: leftAlone,
  plain(block, start, rows) {
    const value = isWord(block, start, WORDS.true)
    if (!value && !isWord(block, start, WORDS.false)) return INVALID
    putInt32(rows, 1)
    rows.bytes[rows.length++] = Number(value)
    return start + (value ? WORDS.true : WORDS.false).length
  },
}
