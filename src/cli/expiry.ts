import { wrongUse } from '../errors.ts'
import { parseMoment } from './moment.ts'

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
