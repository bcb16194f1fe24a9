import {
  closed,
  type Field,
  INVALID,
  isDigit,
  leftAlone,
  MINUS,
  PLUS,
  POINT,
  type ReadField,
  SPACE,
  ZERO,
} from '../field.ts'
import { putBigInt64, putInt32, putInt64 } from './put.ts'

const COLON = 0x3a

const DAYS_OF_MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const DATE_BYTES = '2000-01-01'.length
const TIME_BYTES = '00:00:00'.length
const MICROSECOND_DIGITS = 6

/** Whatever is no number of two digits; any comparison with it is false. */
const NO_NUMBER = Number.NaN

function twoDigits(block: Buffer, at: number): number {
  const [tens, ones] = [block[at], block[at + 1]]
  return isDigit(tens) && isDigit(ones) ? ((tens as number) - ZERO) * 10 + ((ones as number) - ZERO) : NO_NUMBER
}

/** @returns days since 2000-01-01 of the date that stands as `2000-01-31`; undefined for what is none. */
function readDays(block: Buffer, start: number): number | undefined {
  const year = twoDigits(block, start) * 100 + twoDigits(block, start + 2)
  const month = twoDigits(block, start + 5)
  const day = twoDigits(block, start + 8)
  const isWritten = block[start + 4] === MINUS && block[start + 7] === MINUS
  const isDate = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)
  return isWritten && isDate ? daysSince2000(year, month, day) : undefined
}

function daysOf(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 && isLeap ? 29 : (DAYS_OF_MONTHS[month - 1] as number)
}

/** In the Gregorian calendar, carried on into the past. Years are counted from March, so that leap days come last. */
function daysSince2000(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1
  const marchMonth = (month + 9) % 12
  const days = Math.floor((153 * marchMonth + 2) / 5) + day - 1
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400)
  const DAYS_TO_2000 = 730_425
  return 365 * marchYear + leapDays + days - DAYS_TO_2000
}

/** A time of day, as it stands from `start` on: `12:00:00`, or `12:00:00.123456` with up to six digits. */
interface TimeOfDay {
  readonly seconds: number
  readonly microseconds: number
  /** The position behind it. */
  readonly end: number
}

function readTime(block: Buffer, start: number): TimeOfDay | undefined {
  const hour = twoDigits(block, start)
  const minute = twoDigits(block, start + 3)
  const second = twoDigits(block, start + 6)
  const isWritten = block[start + 2] === COLON && block[start + 5] === COLON
  if (!isWritten || !(hour <= 23 && minute <= 59 && second <= 59)) return undefined
  const seconds = (hour * 60 + minute) * 60 + second
  const point = start + TIME_BYTES
  if (block[point] !== POINT) return { seconds, microseconds: 0, end: point }
  let microseconds = 0
  let end = point + 1
  while (isDigit(block[end])) microseconds = microseconds * 10 + ((block[end++] as number) - ZERO)
  const digits = end - point - 1
  if (digits === 0 || digits > MICROSECOND_DIGITS) return undefined
  return { seconds, microseconds: microseconds * 10 ** (MICROSECOND_DIGITS - digits), end }
}

/** @param hasZone whether the text ends with the offset of UTC, in which archives have all their times. */
function readTimestamp(hasZone: boolean): ReadField {
  return (block, start, rows) => {
    const days = readDays(block, start)
    const time = readTime(block, start + DATE_BYTES + 1)
    if (days === undefined || time === undefined || block[start + DATE_BYTES] !== SPACE) return INVALID
    let { end } = time
    if (hasZone) {
      if (block[end] !== PLUS || block[end + 1] !== ZERO || block[end + 2] !== ZERO) return INVALID
      end += 3
    }
    const seconds = days * 86_400 + time.seconds
    const microseconds = seconds * 1_000_000 + time.microseconds
    putInt32(rows, 8)
    if (Number.isSafeInteger(microseconds)) putInt64(rows, microseconds)
    else putBigInt64(rows, BigInt(seconds) * 1_000_000n + BigInt(time.microseconds))
    return closed(block, end)
  }
}

/** `timestamp`: microseconds since 2000-01-01. */
export const timestampField: Field = { string: readTimestamp(false), plain: leftAlone }

/** `timestamptz`: the same, in UTC. */
export const timestamptzField: Field = { string: readTimestamp(true), plain: leftAlone }

/** `date`: days since 2000-01-01. */
export const dateField: Field = {
  string(block, start, rows) {
    const days = readDays(block, start)
    if (days === undefined) return INVALID
    putInt32(rows, 4)
    putInt32(rows, days)
    return closed(block, start + DATE_BYTES)
  },
  plain: leftAlone,
}

/** `time`: microseconds since midnight. */
export const timeField: Field = {
  string(block, start, rows) {
    const time = readTime(block, start)
    if (time === undefined) return INVALID
    putInt32(rows, 8)
    putInt64(rows, time.seconds * 1_000_000 + time.microseconds)
    return closed(block, time.end)
  },
  plain: leftAlone,
}
