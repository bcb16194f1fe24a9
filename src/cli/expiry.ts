import { wrongUse } from '../errors.ts'

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

const EXPECTED =
  'expected a duration like 90m, 12h, 30d or 4w, a date like 2030-01-31, or a time like 2030-01-31T12:00:00Z'

/**
 * Reads when something ends: a duration from now, or a moment. A date means its first moment in UTC.
 *
 * @throws {AppError} WRONG_USE where it is neither, or has passed.
 */
export function parseExpiry(text: string, now: Date): Date {
  const expiry = parseDuration(text, now) ?? parseMoment(text)
  if (!expiry || Number.isNaN(expiry.getTime())) throw wrongUse(`--expires "${text}" is not understood: ${EXPECTED}`)
  if (expiry <= now) throw wrongUse(`--expires "${text}" has passed already: ${EXPECTED}`)
  return expiry
}

function parseDuration(text: string, now: Date): Date | undefined {
  const [, amount, unit] = /^(\d+)([mhdw])$/.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  return new Date(now.getTime() + Number(amount) * (UNIT_MS[unit] ?? Number.NaN))
}

/** A time needs its zone: without one it would mean something else on every machine. */
function parseMoment(text: string): Date | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text)
  if (!match?.[1] || !isCalendarDate(match[1])) return undefined
  return new Date(text)
}

/** `Date` takes 31 June for 1 July. */
function isCalendarDate(date: string): boolean {
  const parsed = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date)
}
