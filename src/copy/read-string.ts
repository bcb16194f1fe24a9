import { readCodePoint } from '../lib/json-escapes.ts'
import { BACKSLASH, INVALID, QUOTE, type ReadField } from './field.ts'
import { copyPlain } from './plain-text.ts'

const LETTER_U = 0x75

/**
 * Reads JSON strings.
 *
 * @param escapes by the letter of an escape, what is written for it: one or two ASCII characters.
 * @param write what is written for a character that stands as its code.
 */
export function readString(escapes: Readonly<Record<string, string>>, write: (character: string) => string): ReadField {
  /** By letter, the first character and 256 times the second; 0 for no letter of an escape. */
  const written = new Uint16Array(256)
  for (const [letter, text] of Object.entries(escapes)) {
    written[letter.charCodeAt(0)] = text.charCodeAt(0) + 256 * (text.charCodeAt(1) || 0)
  }
  return (block, start, rows, words) => {
    const { bytes } = rows
    for (let at = start; ; ) {
      at = copyPlain(words, at, words.byteLength, rows)
      const byte = block[at++]
      if (byte === QUOTE) return at
      if (byte !== BACKSLASH) return INVALID
      const letter = block[at++] as number
      const escaped = written[letter] as number
      if (escaped > 0) {
        bytes[rows.length++] = escaped
        if (escaped > 255) bytes[rows.length++] = escaped >> 8
      } else if (letter === LETTER_U) {
        const character = readCodePoint(block, at)
        if (character === undefined) return INVALID
        rows.length += bytes.write(write(character), rows.length)
        at += character.length === 1 ? 4 : 10
      } else {
        return INVALID
      }
    }
  }
}
