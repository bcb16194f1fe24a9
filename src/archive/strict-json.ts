import { isSpace } from '../lib/check-json.ts'
import { readCodePoint } from '../lib/json-escapes.ts'

/** Names of one object: no line has fifty. */
const MAX_KEYS = 1_000

export const UNSTORABLE = 'has text that PostgreSQL cannot store: the character U+0000, or half of a surrogate pair'

const [QUOTE, COLON, BACKSLASH, LETTER_U] = [0x22, 0x3a, 0x5c, 0x75]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Whether PostgreSQL can store the text as it is: it refuses U+0000, and half a surrogate pair becomes U+FFFD. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text)
}

/**
 * Finds what `JSON.parse` lets pass, or mends without telling: a key that an object has twice, and text that PostgreSQL
 * cannot store.
 *
 * @param json valid UTF-8 that `JSON.parse` accepts.
 * @returns what is wrong, for a message; undefined if nothing is.
 */
export function findJsonFault(json: Buffer): string | undefined {
  /** For each open object its keys, once it has one; for each open array, nothing. */
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < json.length; at += 1) {
    const token = json[at]
    if (token === OPENING_BRACE || token === OPENING_BRACKET) open.push(undefined)
    if (token === CLOSING_BRACE || token === CLOSING_BRACKET) open.pop()
    if (token !== QUOTE) continue

    const end = endOfString(json, at + 1)
    if (end === undefined) return UNSTORABLE
    if (isKey(json, end)) {
      const key: string = JSON.parse(json.toString('utf8', at, end))
      const keys = open.at(-1) ?? new Set()
      if (keys.has(key)) return 'has an object with the same key twice'
      keys.add(key)
      if (keys.size > MAX_KEYS) return `has an object with more than ${MAX_KEYS} keys`
      open[open.length - 1] = keys
    }
    at = end - 1
  }
  return undefined
}

/**
 * @param start behind the opening quote.
 * @returns the position behind the closing one; undefined where the string cannot be stored. What is in valid UTF-8
 *   has neither U+0000 nor half of a pair but by an escape.
 */
function endOfString(json: Buffer, start: number): number | undefined {
  for (let at = start; at < json.length; at += 1) {
    const byte = json[at]
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) continue
    at += 1
    if (json[at] !== LETTER_U) continue
    const character = readCodePoint(json, at + 1)
    if (character === undefined) return undefined
    at += character.length === 1 ? 4 : 10
  }
  return json.length
}

/** Whether the string that ends before `position` is an object's key. */
function isKey(json: Buffer, position: number): boolean {
  let next = position
  while (isSpace(json[next])) next += 1
  return json[next] === COLON
}
