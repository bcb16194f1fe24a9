import { COLON, isDigit, MINUS, PLUS, POINT, QUOTE, SPACE, ZERO } from './characters'
import { INVALID, putInt32, putInt64 } from './output'

const DATE_BYTES: usize = 10
const TIME_BYTES: usize = 8
const MICROSECOND_DIGITS: i32 = 6

/** Instead of a number, for what is none: below or above all that is asked of one. */
const NO_NUMBER: i32 = -10_000

const NO_DAYS: i32 = i32.MIN_VALUE
const NO_TIME: i64 = -1

function twoDigits(at: usize): i32 {
  const tens = load<u8>(at)
  const ones = load<u8>(at + 1)
  return isDigit(tens) && isDigit(ones) ? (tens - ZERO) * 10 + (ones - ZERO) : NO_NUMBER
}

/** @returns days since 2000-01-01 of the date that stands as `2000-01-31`; `NO_DAYS` for what is none. */
function daysAt(start: usize): i32 {
  const century = twoDigits(start)
  const yearOfCentury = twoDigits(start + 2)
  const month = twoDigits(start + 5)
  const day = twoDigits(start + 8)
  if (load<u8>(start + 4) !== MINUS || load<u8>(start + 7) !== MINUS) return NO_DAYS
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return NO_DAYS
  const year = 100 * century + yearOfCentury
  return year >= 1 && day <= daysOf(year, month) ? daysSince2000(year, month, day) : NO_DAYS
}

function daysOf(year: i32, month: i32): i32 {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** In the Gregorian calendar, carried on into the past. Years are counted from March, so that leap days come last. */
function daysSince2000(year: i32, month: i32, day: i32): i32 {
  const marchYear = month > 2 ? year : year - 1
  const marchMonth = (month + 9) % 12
  const days = (153 * marchMonth + 2) / 5 + day - 1
  const leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
  const DAYS_TO_2000 = 730_425
  return 365 * marchYear + leapDays + days - DAYS_TO_2000
}

/** Where the time ends that was read last. */
let timeEnd: usize = 0

/** @returns microseconds since midnight of `12:00:00`, or `12:00:00.123456` with up to six digits; `NO_TIME` for what is none. */
function timeAt(start: usize): i64 {
  const hour = twoDigits(start)
  const minute = twoDigits(start + 3)
  const second = twoDigits(start + 6)
  if (load<u8>(start + 2) !== COLON || load<u8>(start + 5) !== COLON) return NO_TIME
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return NO_TIME
  const seconds = <i64>((hour * 60 + minute) * 60 + second)
  timeEnd = start + TIME_BYTES
  if (load<u8>(timeEnd) !== POINT) return seconds * 1_000_000
  let microseconds: i32 = 0
  let digits: i32 = 0
  for (timeEnd++; isDigit(load<u8>(timeEnd)); timeEnd++) {
    if (++digits > MICROSECOND_DIGITS) return NO_TIME
    microseconds = microseconds * 10 + load<u8>(timeEnd) - ZERO
  }
  if (digits === 0) return NO_TIME
  for (; digits < MICROSECOND_DIGITS; digits++) microseconds *= 10
  return seconds * 1_000_000 + microseconds
}

/** `date`: days since 2000-01-01. @returns the position behind it. */
export function readDate(start: usize): usize {
  const days = daysAt(start)
  if (days === NO_DAYS) return INVALID
  putInt32(4)
  putInt32(days)
  return start + DATE_BYTES
}

/** `time`: microseconds since midnight. @returns the position behind it. */
export function readTime(start: usize): usize {
  const microseconds = timeAt(start)
  if (microseconds === NO_TIME) return INVALID
  putInt32(8)
  putInt64(microseconds)
  return timeEnd
}

/**
 * `timestamp`, or `timestamptz`: microseconds since 2000-01-01, of the latter in UTC.
 *
 * @param hasZone whether the text ends with the offset of UTC, in which archives have all their times. @returns the position behind it.
 */
export function readTimestamp(start: usize, hasZone: bool): usize {
  const days = daysAt(start)
  if (days === NO_DAYS || load<u8>(start + DATE_BYTES) !== SPACE) return INVALID
  const microseconds = timeAt(start + DATE_BYTES + 1)
  if (microseconds === NO_TIME) return INVALID
  let end = timeEnd
  if (hasZone) {
    if (load<u8>(end) !== PLUS || load<u8>(end + 1) !== ZERO || load<u8>(end + 2) !== ZERO) return INVALID
    end += 3
  }
  if (load<u8>(end) !== QUOTE) return INVALID
  putInt32(8)
  putInt64(<i64>days * 86_400_000_000 + microseconds)
  return end
}
