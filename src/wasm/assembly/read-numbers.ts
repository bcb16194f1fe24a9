import { isDigit, LETTER_E, MINUS, PLUS, POINT, QUOTE, ZERO } from './characters'
import { INVALID, putInt16, putInt32, putInt64, putInteger, setOutput, to } from './output'

/** Reads a number as JavaScript does, from where one of JSON is written. */
declare function toNumber(start: usize, end: usize): f64

/** The same, and writes it at `target` as JavaScript writes it. @returns how many bytes that took. */
declare function rewriteNumber(start: usize, end: usize, target: usize): i32

/** So many digits, a double holds without loss; JavaScript writes whole numbers of so many as it read them. */
const MAX_SAFE_DIGITS: i32 = 15

/** So many digits, an integer of 64 bits holds without loss. */
const MAX_INTEGER_DIGITS: i32 = 19

/** As many digits as a bigint can have. */
const MAX_BIGINT_DIGITS: i32 = 19

/** Longer numbers are left alone. */
const MAX_NUMERIC_DIGITS: usize = 400

/** The largest power of ten up to which all are doubles, and these. */
const POWERS_OF_TEN: StaticArray<f64> = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
]

/** Reads an integer of so many bytes, and writes it with its length. */
export function readInteger(start: usize, bytes: i32): usize {
  const isNegative = load<u8>(start) === MINUS
  const first = isNegative ? start + 1 : start
  let at = first
  let size: u64 = 0
  while (isDigit(load<u8>(at))) size = size * 10 + load<u8>(at++) - ZERO
  const digits = <i32>(at - first)
  if (digits === 0 || digits > MAX_BIGINT_DIGITS || (digits > 1 && load<u8>(first) === ZERO)) return INVALID
  const limit: u64 = 1 << (8 * <u64>bytes - 1)
  if (size > limit || (size === limit && !isNegative)) return INVALID
  putInteger(bytes, isNegative ? -(<i64>size) : <i64>size)
  return at
}

/** Where a number of JSON ends, of which all is read that could belong to one; `INVALID` for what is no number. */
function numberEnd(start: usize): usize {
  let at = load<u8>(start) === MINUS ? start + 1 : start
  const first = at
  while (isDigit(load<u8>(at))) at++
  if (at === first || (at - first > 1 && load<u8>(first) === ZERO)) return INVALID
  if (load<u8>(at) === POINT) {
    const point = at++
    while (isDigit(load<u8>(at))) at++
    if (at === point + 1) return INVALID
  }
  if ((load<u8>(at) | 0x20) === LETTER_E) {
    at++
    if (load<u8>(at) === PLUS || load<u8>(at) === MINUS) at++
    const exponent = at
    while (isDigit(load<u8>(at))) at++
    if (at === exponent) return INVALID
  }
  return isNumberPart(load<u8>(at)) ? INVALID : at
}

function isNumberPart(byte: u8): bool {
  return isDigit(byte) || byte === POINT || byte === MINUS || byte === PLUS || (byte | 0x20) === LETTER_E
}

/** Reads a number for a column that JavaScript's numbers hold all values of, and writes it as text. */
export function readNumberAsText(start: usize): usize {
  const first = load<u8>(start) === MINUS ? start + 1 : start
  let at = first
  while (isDigit(load<u8>(at))) at++
  const digits = <i32>(at - first)
  const isPlain = digits > 0 && digits <= MAX_SAFE_DIGITS && load<u8>(first) !== ZERO && !isNumberPart(load<u8>(at))
  if (isPlain) {
    v128.store(to, v128.load(start))
    setOutput(to + (at - start))
    return at
  }
  const end = numberEnd(start)
  if (end === INVALID || abs(toNumber(start, end)) === Infinity) return INVALID
  setOutput(to + rewriteNumber(start, end, to))
  return end
}

/** Reads a number of JSON as a `double precision`. */
export function readDouble(start: usize): usize {
  const end = numberEnd(start)
  if (end === INVALID) return INVALID
  const value = doubleAt(start, end)
  if (abs(value) === Infinity) return INVALID
  putDouble(value)
  return end
}

/**
 * The nearest double. Of few digits it is a quotient of two numbers that are doubles.
 *
 * @see Clinger, "How to Read Floating Point Numbers Accurately", 1990
 */
function doubleAt(start: usize, end: usize): f64 {
  const isNegative = load<u8>(start) === MINUS
  let size: u64 = 0
  let digits: i32 = 0
  let scale: i32 = 0
  let isFraction = false
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const byte = load<u8>(at)
    if (byte === POINT) {
      isFraction = true
      continue
    }
    if (!isDigit(byte) || ++digits > MAX_INTEGER_DIGITS) return toNumber(start, end)
    size = size * 10 + byte - ZERO
    if (isFraction) scale++
  }
  const power = unchecked(POWERS_OF_TEN[scale])
  const value = digits > MAX_SAFE_DIGITS ? nearestQuotient(size, power) : <f64>size / power
  if (value < 0) return toNumber(start, end)
  return isNegative ? -value : value
}

/**
 * The double nearest to the quotient of an integer and a power of ten; -1 where the quotient is so near to the middle of two that it
 * takes more digits to tell.
 *
 * The quotient is the sum of a double and what its division left over, divided once more: only that is rounded, by less than a
 * part in 2 to the 51.
 *
 * @see Dekker, "A Floating-Point Technique for Extending the Available Precision", 1971
 */
function nearestQuotient(size: u64, power: f64): f64 {
  const high = <f64>size
  const low = <f64>(<i64>(size - <u64>high))
  const quotient = high / power
  const product = quotient * power
  const remainder = high - product - productError(quotient, power, product) + low
  const rest = remainder / power
  const least = quotient + rest * (1 - REST_ERROR)
  return least === quotient + rest * (1 + REST_ERROR) ? least : -1
}

/** More than what the rest of a quotient is off by, as a part of it: 2 to the -50. */
const REST_ERROR: f64 = 8.881784197001252e-16

/** Cuts a double in two of 26 bits when multiplied: 2 to the 27, and 1. */
const SPLITTER: f64 = 134217729

/** How much more the product of two doubles is than the double nearest to it, exactly. */
function productError(one: f64, other: f64, product: f64): f64 {
  const oneHigh = highBits(one)
  const otherHigh = highBits(other)
  const oneLow = one - oneHigh
  const otherLow = other - otherHigh
  return oneHigh * otherHigh - product + oneHigh * otherLow + oneLow * otherHigh + oneLow * otherLow
}

function highBits(value: f64): f64 {
  const cut = SPLITTER * value
  return cut - (cut - value)
}

function putDouble(value: f64): void {
  putInt32(8)
  putInt64(reinterpret<i64>(value))
}

/** Reads `NaN`, `Infinity` or `-Infinity`, up to their closing quote, as a `double precision`. */
export function readNotFinite(start: usize): usize {
  const isNegative = load<u8>(start) === MINUS
  const at = isNegative ? start + 1 : start
  if (!isNegative && load<u32>(at) === 0x224e614e) {
    putInt32(8)
    putInt64(0x7ff8000000000000)
    return at + 4
  }
  // `Infi` and `nity`.
  if (load<u32>(at) !== 0x69666e49 || load<u32>(at + 4) !== 0x7974696e || load<u8>(at + 8) !== QUOTE) return INVALID
  putDouble(isNegative ? -Infinity : Infinity)
  return at + 9
}

/**
 * Reads a decimal number up to its closing quote, and writes it as digits to the base of 10,000. Leading and trailing zeros are
 * PostgreSQL's to remove.
 *
 * @see `numeric_recv` in PostgreSQL's `src/backend/utils/adt/numeric.c`
 */
export function readNumeric(start: usize): usize {
  const isNegative = load<u8>(start) === MINUS
  const first = isNegative ? start + 1 : start
  let point = first
  while (isDigit(load<u8>(point))) point++
  let end = point
  if (load<u8>(point) === POINT) {
    end++
    while (isDigit(load<u8>(end))) end++
    if (end === point + 1) return INVALID
  }
  if (point === first || end - first > MAX_NUMERIC_DIGITS || load<u8>(end) !== QUOTE) return INVALID
  const whole = <i32>((point - first + 3) >> 2)
  const scale = end > point ? <i32>(end - point - 1) : 0
  const groups = whole + ((scale + 3) >> 2)
  putInt32(8 + 2 * groups)
  putInt16(groups)
  putInt16(whole - 1)
  putInt16(isNegative ? 0x4000 : 0)
  putInt16(scale)
  for (let group = point - 4 * whole; group < point; group += 4) putInt16(fourDigits(group, first, point))
  for (let group = point + 1; group < end; group += 4) putInt16(fourDigits(group, group, end))
  return end + 1
}

/** The value of the four digits from `start` on; those before `first` and from `end` on are zeros. */
function fourDigits(start: usize, first: usize, end: usize): i32 {
  let value: i32 = 0
  for (let at = start; at < start + 4; at++) value = value * 10 + (at >= first && at < end ? load<u8>(at) - ZERO : 0)
  return value
}
