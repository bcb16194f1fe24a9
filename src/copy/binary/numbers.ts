import {
  closed,
  type Field,
  INVALID,
  isDigit,
  isWord,
  leftAlone,
  MINUS,
  numberEnd,
  POINT,
  QUOTE,
  type ReadField,
  toFiniteNumber,
  ZERO,
} from '../field.ts'
import { putBigInt64, putInt16, putInt32, putInt64 } from './put.ts'

/** So many digits, JavaScript's numbers hold without loss. */
const MAX_SAFE_DIGITS = 15

/** As many digits as a bigint can have. */
const MAX_BIGINT_DIGITS = 19

/** Longer numbers take the slow path. */
const MAX_NUMERIC_DIGITS = 400

const [MAX_BIGINT, MIN_BIGINT] = [2n ** 63n - 1n, -(2n ** 63n)]

const [POSITIVE, NEGATIVE] = [0x0000, 0x4000]

/** Reads an integer of so many bytes, and writes it with its length. */
export function readInteger(bytes: 2 | 4 | 8): ReadField {
  const limit = 2 ** (8 * bytes - 1)
  return (block, start, rows) => {
    const isNegative = block[start] === MINUS
    const first = isNegative ? start + 1 : start
    let at = first
    let size = 0
    while (isDigit(block[at])) size = size * 10 + ((block[at++] as number) - ZERO)
    const digits = at - first
    if (digits === 0 || (digits > 1 && block[first] === ZERO)) return INVALID
    putInt32(rows, bytes)
    if (digits > MAX_SAFE_DIGITS) {
      if (bytes < 8 || digits > MAX_BIGINT_DIGITS) return INVALID
      const value = BigInt(block.toString('latin1', start, at))
      if (value > MAX_BIGINT || value < MIN_BIGINT) return INVALID
      putBigInt64(rows, value)
      return at
    }
    if (size > limit || (size === limit && !isNegative)) return INVALID
    const value = isNegative ? -size : size
    if (bytes === 2) putInt16(rows, value)
    else if (bytes === 4) putInt32(rows, value)
    else putInt64(rows, value)
    return at
  }
}

const quoted =
  (read: ReadField): ReadField =>
  (block, start, rows, words) => {
    const end = read(block, start, rows, words)
    return end === INVALID ? INVALID : closed(block, end)
  }

/** A whole number that comes as a JSON number, or as a string of its digits. */
export function integerField(bytes: 2 | 4): Field {
  const read = readInteger(bytes)
  return { string: quoted(read), plain: read }
}

/** JSON numbers are not for it: other readers could lose digits. */
export const bigintField: Field = { string: quoted(readInteger(8)), plain: leftAlone }

const NOT_FINITE: readonly (readonly [Buffer, number])[] = [
  [Buffer.from('NaN"'), Number.NaN],
  [Buffer.from('Infinity"'), Number.POSITIVE_INFINITY],
  [Buffer.from('-Infinity"'), Number.NEGATIVE_INFINITY],
]

export const doubleField: Field = {
  string(block, start, rows) {
    const [text, value] = NOT_FINITE.find(([word]) => isWord(block, start, word)) ?? []
    if (text === undefined || value === undefined) return INVALID
    putInt32(rows, 8)
    rows.length = rows.bytes.writeDoubleBE(value, rows.length)
    return start + text.length
  },
  plain(block, start, rows) {
    const end = numberEnd(block, start)
    const value = toFiniteNumber(block.toString('latin1', start, end))
    if (value === undefined) return INVALID
    putInt32(rows, 8)
    rows.length = rows.bytes.writeDoubleBE(value, rows.length)
    return end
  },
}

/**
 * A decimal number, as digits to the base of 10,000. Leading and trailing zeros are PostgreSQL's to remove.
 *
 * @see `numeric_recv` in PostgreSQL's `src/backend/utils/adt/numeric.c`
 */
export const numericField: Field = {
  string(block, start, rows) {
    const isNegative = block[start] === MINUS
    const first = isNegative ? start + 1 : start
    let point = first
    while (isDigit(block[point])) point += 1
    let end = point
    if (block[point] === POINT) {
      end += 1
      while (isDigit(block[end])) end += 1
      if (end === point + 1) return INVALID
    }
    if (point === first || end - first > MAX_NUMERIC_DIGITS || block[end] !== QUOTE) return INVALID

    const whole = Math.ceil((point - first) / 4)
    const scale = Math.max(0, end - point - 1)
    const groups = whole + Math.ceil(scale / 4)
    putInt32(rows, 8 + 2 * groups)
    putInt16(rows, groups)
    putInt16(rows, whole - 1)
    putInt16(rows, isNegative ? NEGATIVE : POSITIVE)
    putInt16(rows, scale)
    for (let group = point - 4 * whole; group < point; group += 4)
      putInt16(rows, fourDigits(block, group, first, point))
    for (let group = point + 1; group < end; group += 4) putInt16(rows, fourDigits(block, group, group, end))
    return end + 1
  },
  plain: leftAlone,
}

/** The value of the four digits from `start` on; those before `first` and from `end` on are zeros. */
function fourDigits(block: Buffer, start: number, first: number, end: number): number {
  let value = 0
  for (let at = start; at < start + 4; at += 1) {
    value = value * 10 + (at >= first && at < end ? (block[at] as number) - ZERO : 0)
  }
  return value
}
