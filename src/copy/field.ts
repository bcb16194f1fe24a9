import type { GrowingBuffer } from '../lib/growing-buffer.ts'

/**
 * Reads a value of a JSON row and writes it as a field of COPY.
 *
 * Only what PostgreSQL itself writes is read; any other value is left to the slow path or to the type's input function.
 *
 * @param block ends with a newline, at which every loop here ends.
 * @param start of the value; of a string, behind its opening quote.
 * @param rows has room for the value, and for `MAX_EXCESS_BYTES` more.
 * @param words the same block, for reading several bytes at once.
 * @returns the position behind the value, closing quote included; `INVALID` for what is left alone.
 */
export type ReadField = (block: Buffer, start: number, rows: GrowingBuffer, words: DataView) => number

/** How the fields of a column are made, but for null. */
export interface Field {
  /** From a JSON string. */
  readonly string: ReadField
  /** From a JSON number, `true` or `false`. */
  readonly plain: ReadField
}

/** Instead of a position, for a value that is left alone. */
export const INVALID = -1

/** How much longer a field may be than its JSON value. */
export const MAX_EXCESS_BYTES = 16

export const leftAlone: ReadField = () => INVALID

export const [SPACE, QUOTE, PLUS, COMMA, MINUS, POINT, ZERO, NINE, BACKSLASH] = [
  0x20, 0x22, 0x2b, 0x2c, 0x2d, 0x2e, 0x30, 0x39, 0x5c,
] as const

export const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE

export const WORDS = { null: Buffer.from('null'), true: Buffer.from('true'), false: Buffer.from('false') }

export function isWord(block: Buffer, start: number, word: Buffer): boolean {
  for (let index = 0; index < word.length; index += 1) {
    if (block[start + index] !== word[index]) return false
  }
  return true
}

/** @returns the position behind the closing quote, which must be at `at`. */
export const closed = (block: Buffer, at: number): number => (block[at] === QUOTE ? at + 1 : INVALID)

const [CAPITAL_E, LETTER_E] = [0x45, 0x65]
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** @returns the position behind all that could belong to a number. */
export function numberEnd(block: Buffer, start: number): number {
  let end = start
  while (isNumberPart(block[end])) end += 1
  return end
}

/** Whether a byte can stand anywhere in a number. */
export const isNumberPart = (byte: number | undefined): boolean =>
  isDigit(byte) || byte === POINT || byte === LETTER_E || byte === CAPITAL_E || byte === MINUS || byte === PLUS

/** The number that is written so in JSON; undefined where it is none, or too large. */
export function toFiniteNumber(written: string): number | undefined {
  const value = JSON_NUMBER.test(written) ? Number(written) : Number.NaN
  return Number.isFinite(value) ? value : undefined
}
