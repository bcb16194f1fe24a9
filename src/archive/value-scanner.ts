import type { CopyBuffer } from './copy-buffer.ts'
import { escapeText, toNumberText } from './copy-text.ts'
import { copyPlain } from './plain-text.ts'

const [QUOTE, PLUS, MINUS, POINT, SLASH, ZERO, NINE, BACKSLASH] = [0x22, 0x2b, 0x2d, 0x2e, 0x2f, 0x30, 0x39, 0x5c]
const [CAPITAL_E, CAPITAL_N, LETTER_A, LETTER_B, LETTER_E, LETTER_F, LETTER_N, LETTER_R, LETTER_T, LETTER_U] = [
  0x45, 0x4e, 0x61, 0x62, 0x65, 0x66, 0x6e, 0x72, 0x74, 0x75,
]
/** Sets a letter's case. */
const LOWER_CASE = 0x20
export const WORDS = { null: Buffer.from('null'), true: Buffer.from('true'), false: Buffer.from('false') }
const [FIRST_HIGH_SURROGATE, FIRST_LOW_SURROGATE, LAST_LOW_SURROGATE] = [0xd800, 0xdc00, 0xdfff]
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** JavaScript writes whole numbers of up to this many digits as it read them. */
const MAX_SAFE_DIGITS = 15

/** More than any number takes when it is written by JavaScript. */
const MAX_NUMBER_BYTES = 32

/** In the place of a position, for what is no plain and good value. */
export const INVALID = -1

/**
 * Reads a string.
 *
 * @param block ends with a newline, at which every loop here ends.
 * @param start behind the opening quote. @param words the same block. @returns the position behind the closing quote.
 */
export function scanString(block: Buffer, start: number, text: CopyBuffer, words: DataView): number {
  const { bytes } = text
  for (let at = start; ; ) {
    at = copyPlain(words, at, text)
    const byte = block[at++]
    if (byte === QUOTE) return at
    if (byte !== BACKSLASH) return INVALID
    const escaped = block[at++] as number
    if (isSharedEscape(escaped)) {
      bytes[text.length++] = BACKSLASH
      bytes[text.length++] = escaped
    } else if (escaped === QUOTE || escaped === SLASH) {
      bytes[text.length++] = escaped
    } else if (escaped === LETTER_U) {
      const character = readCodePoint(block, at)
      if (character === undefined) return INVALID
      text.length += bytes.write(escapeText(character), text.length)
      at += character.length === 1 ? 4 : 10
    } else {
      return INVALID
    }
  }
}

/** Whether a character behind a backslash means the same in JSON and in COPY text. */
function isSharedEscape(byte: number): boolean {
  switch (byte) {
    case BACKSLASH:
    case LETTER_B:
    case LETTER_F:
    case LETTER_N:
    case LETTER_R:
    case LETTER_T:
      return true
    default:
      return false
  }
}

/**
 * Reads the digits of a `\u` escape, and of the one after it where the two are one character.
 *
 * @param start behind the `u`.
 * @returns the character, of one escape or, where its length is 2, of two; undefined for what is none, or cannot be
 *   stored.
 */
export function readCodePoint(block: Buffer, start: number): string | undefined {
  const unit = hexUnit(block, start)
  if (unit <= 0 || isLowSurrogate(unit)) return undefined
  if (unit < FIRST_HIGH_SURROGATE || unit > LAST_LOW_SURROGATE) return String.fromCharCode(unit)
  if (block[start + 4] !== BACKSLASH || block[start + 5] !== LETTER_U) return undefined
  const low = hexUnit(block, start + 6)
  return isLowSurrogate(low) ? String.fromCharCode(unit, low) : undefined
}

const isLowSurrogate = (unit: number): boolean => unit >= FIRST_LOW_SURROGATE && unit <= LAST_LOW_SURROGATE

/** @returns the value of four hexadecimal digits; `INVALID` where one is none. */
function hexUnit(block: Buffer, start: number): number {
  let unit = 0
  for (let at = start; at < start + 4; at += 1) {
    const digit = hexDigit(block[at] ?? 0)
    if (digit === INVALID) return INVALID
    unit = unit * 16 + digit
  }
  return unit
}

function hexDigit(byte: number): number {
  if (isDigit(byte)) return byte - ZERO
  const letter = byte | LOWER_CASE
  return letter >= LETTER_A && letter <= LETTER_F ? letter - LETTER_A + 10 : INVALID
}

/** Reads a value that is no string. @returns the position behind it. */
export function scanPlain(block: Buffer, start: number, takesNumber: boolean, text: CopyBuffer): number {
  const { bytes } = text
  const first = block[start]
  if (first === LETTER_N) {
    if (!isWord(block, start, WORDS.null)) return INVALID
    bytes[text.length++] = BACKSLASH
    bytes[text.length++] = CAPITAL_N
    return start + WORDS.null.length
  }
  if (first === LETTER_T || first === LETTER_F) {
    const word = first === LETTER_T ? WORDS.true : WORDS.false
    if (!isWord(block, start, word)) return INVALID
    bytes[text.length++] = first
    return start + word.length
  }
  return takesNumber ? scanNumber(block, start, text) : INVALID
}

export function isWord(block: Buffer, start: number, word: Buffer): boolean {
  for (let index = 0; index < word.length; index += 1) {
    if (block[start + index] !== word[index]) return false
  }
  return true
}

/** @returns the position behind the number. */
function scanNumber(block: Buffer, start: number, text: CopyBuffer): number {
  const firstDigit = block[start] === MINUS ? start + 1 : start
  let end = firstDigit
  while (isDigit(block[end] ?? 0)) end += 1
  const digits = end - firstDigit
  const isWhole = !isNumberPart(block[end] ?? 0)
  if (!isWhole || digits === 0 || digits > MAX_SAFE_DIGITS || block[firstDigit] === ZERO) {
    return scanAnyNumber(block, start, text)
  }
  const { bytes } = text
  let to = text.length
  for (let at = start; at < end; at += 1) bytes[to++] = block[at] ?? 0
  text.length = to
  return end
}

/** Reads a number that may be written otherwise than JavaScript writes it. @returns the position behind it. */
function scanAnyNumber(block: Buffer, start: number, text: CopyBuffer): number {
  const end = numberEnd(block, start)
  const value = toFiniteNumber(block.toString('latin1', start, end))
  if (value === undefined) return INVALID
  // What follows on it may need as much room as it has bytes.
  text.reserve(block.length - start + MAX_NUMBER_BYTES)
  text.append(toNumberText(value))
  return end
}

/** @returns the position behind all that could belong to a number. */
export function numberEnd(block: Buffer, start: number): number {
  let end = start
  while (isNumberPart(block[end] ?? 0)) end += 1
  return end
}

/** The number that is written so in JSON; undefined where it is none, or too large. */
export function toFiniteNumber(written: string): number | undefined {
  const value = JSON_NUMBER.test(written) ? Number(written) : Number.NaN
  return Number.isFinite(value) ? value : undefined
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE

/** Whether a byte can stand in a number, wherever. */
const isNumberPart = (byte: number): boolean =>
  isDigit(byte) || byte === POINT || byte === LETTER_E || byte === CAPITAL_E || byte === MINUS || byte === PLUS
