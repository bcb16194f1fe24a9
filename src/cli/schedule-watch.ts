import { wrongUse } from '../errors.ts'
import type { CommandContext } from './environment.ts'
import { readSecretUrl } from './read-secret-url.ts'
import type { Schedule } from './schedule-text.ts'
import { toCount } from './to-count.ts'

/** Who hears of a schedule, and of what. */
export interface WatchOptions {
  readonly alarmAge?: string
  readonly alarmShrink?: string
  readonly ping?: string
  readonly pingStart?: boolean
  readonly pingFail?: boolean
}

type Alarms = Schedule['alarms']

/** The alarms of a schedule that is to be made. @throws {AppError} WRONG_USE */
export const newAlarms = (options: WatchOptions): { readonly alarms?: Alarms } =>
  options.alarmAge === undefined && options.alarmShrink === undefined ? {} : { alarms: changedAlarms({}, options) }

/** The alarms of a schedule as the options change them; "none" takes one away. @throws {AppError} WRONG_USE */
export function changedAlarms(alarms: Alarms, { alarmAge, alarmShrink }: WatchOptions): Alarms {
  const maxAgeHours = alarmAge === undefined ? alarms.maxAgeHours : toHours(alarmAge)
  const shrinkPercent = alarmShrink === undefined ? alarms.shrinkPercent : toPercent(alarmShrink)
  return { ...(maxAgeHours !== undefined && { maxAgeHours }), ...(shrinkPercent !== undefined && { shrinkPercent }) }
}

const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 7 * 24 }

function toHours(text: string): number | undefined {
  if (text === 'none') return undefined
  const [, number, unit = ''] = /^([1-9]\d{0,4})([hdw])$/.exec(text) ?? []
  if (number === undefined) throw wrongUse('--alarm-age must be a number of hours, days or weeks, like 36h, 3d or 2w')
  return Number(number) * (HOURS[unit] ?? 1)
}

function toPercent(text: string): number | undefined {
  if (text === 'none') return undefined
  const percent = toCount('--alarm-shrink', text)
  if (percent !== undefined && percent > 99) throw wrongUse('--alarm-shrink must be a percentage from 1 to 99')
  return percent
}

/** The ping that a schedule is to have, as the field of a request; nothing where none is named. @throws {AppError} WRONG_USE */
export async function readPing(
  context: CommandContext,
  { ping, pingStart = false, pingFail = false }: WatchOptions,
): Promise<{ readonly ping?: object | null }> {
  if (ping === undefined && (pingStart || pingFail))
    throw wrongUse('--ping-start and --ping-fail need the URL of --ping')
  if (ping === undefined) return {}
  if (ping === 'none') return { ping: null }
  return { ping: { url: await readSecretUrl(context, ping), start: pingStart, fail: pingFail } }
}
