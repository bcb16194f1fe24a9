import { type CronExpression, CronExpressionParser } from 'cron-parser'
import { invalidRequest } from '../../errors.ts'
import { fromWallTime, isTimeZone, toWallTime } from '../../lib/zoned-time.ts'

/** When a schedule is due: cron fields, and the clocks that they speak of. */
export interface Timing {
  /**
   * Five fields (minute, hour, day of month, month, day of week), six with seconds before them, or `@daily` and the
   * like.
   */
  readonly cron: string
  /** IANA name. */
  readonly timezone: string
}

const MACROS: ReadonlySet<string> = new Set([
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@weekdays',
  '@weekends',
  '@daily',
  '@hourly',
])

const HOURS_OF_DAY = 24

/**
 * The first moment after `now` at which a schedule is due.
 *
 * An hour that is named is meant as the clocks show it: a time that they skip at the beginning of summer time counts as
 * the first moment after the gap, and one that they show twice at its end counts once, the first time. A schedule of
 * every hour goes on evenly through both.
 *
 * @throws {AppError} INVALID_REQUEST, saying what is wrong, where there is no such moment.
 */
export const nextRun = (timing: Timing, now: Date): Date => dueTimes(timing, now).next().value

/** The first `count` moments after `now`. @throws {AppError} as `nextRun`. */
export function nextRuns(timing: Timing, now: Date, count: number): Date[] {
  const times = dueTimes(timing, now)
  return Array.from({ length: count }, () => times.next().value)
}

function* dueTimes({ cron, timezone }: Timing, now: Date): Generator<Date, never, undefined> {
  assertTimeZone(timezone)
  const fields = fieldsOf(cron)
  // The fields are followed on the wall, as if its clocks were UTC's, which skip and repeat nothing.
  const wall = parse(fields, new Date(toWallTime(now, timezone)), 'UTC')
  if (isEveryHour(wall)) {
    const even = parse(fields, now, timezone)
    for (;;) yield nextOf(even, cron)
  }
  for (let last = now; ; ) {
    const due = fromWallTime(nextOf(wall, cron).getTime(), timezone)
    if (due <= last) continue
    yield due
    last = due
  }
}

function assertTimeZone(name: string): void {
  if (isTimeZone(name)) return
  const problem = `there is no time zone "${name}"; expected a name like "Europe/Berlin" or "UTC"`
  throw invalidRequest(problem, [{ pointer: '/timezone', detail: problem }])
}

/** The library also takes fewer fields, and random ones (`H`); both are more likely to be mistakes. */
function fieldsOf(cron: string): string {
  const fields = cron.trim().split(/\s+/)
  if (fields.length === 1 && MACROS.has(fields[0] ?? '')) return cron.trim()
  if (cron.trim().startsWith('@')) throw invalidCron(cron, `it must be one of ${[...MACROS].join(', ')}`)
  if (fields.length !== 5 && fields.length !== 6) {
    throw invalidCron(cron, `it has ${cron.trim() === '' ? 0 : fields.length} fields; expected ${FORM}`)
  }
  if (fields.some((field) => /^h\b/i.test(field))) throw invalidCron(cron, `"H" stands for no certain time`)
  return fields.join(' ')
}

const FORM =
  'minute, hour, day of month, month, day of week, such as "30 2 * * *", with seconds before them or without, or @daily'

/** The fields, and what may stand in each; seconds may be missing. */
const FIELDS = [
  { name: 'second', allowed: '0 to 59' },
  { name: 'minute', allowed: '0 to 59' },
  { name: 'hour', allowed: '0 to 23' },
  { name: 'day of month', allowed: '1 to 31, or L, the last' },
  { name: 'month', allowed: '1 to 12, or JAN to DEC' },
  { name: 'day of week', allowed: '0 to 7, of which 0 and 7 are Sunday, or SUN to SAT' },
] as const

function parse(cron: string, currentDate: Date, tz: string): CronExpression {
  try {
    return CronExpressionParser.parse(cron, { currentDate, tz })
  } catch {
    throw invalidCron(cron, problemOf(cron))
  }
}

/** Each field is tried alone, since the library does not say which of them it refused. */
function problemOf(cron: string): string {
  const given = cron.split(' ')
  const fields = FIELDS.slice(-given.length)
  for (const [index, { name, allowed }] of fields.entries()) {
    const alone = fields.map((_, other) => (other === index ? given[index] : '*')).join(' ')
    try {
      CronExpressionParser.parse(alone)
    } catch {
      return (
        `the ${name} "${given[index]}" must be ${allowed}; ` +
        'or of these a list (1,15), a range (1-5), steps (*/15), or * for all'
      )
    }
  }
  return 'it never comes: none of the months that it names has that day of month'
}

function nextOf(expression: CronExpression, cron: string): Date {
  try {
    return expression.next().toDate()
  } catch {
    // The library gives up after a number of steps; its message says only that.
    throw invalidCron(cron, 'it never comes')
  }
}

const isEveryHour = ({ fields }: CronExpression): boolean => fields.hour.values.length === HOURS_OF_DAY

function invalidCron(cron: string, problem: string): Error {
  const detail = `"${cron}" is no cron expression: ${problem}`
  return invalidRequest(detail, [{ pointer: '/cron', detail }])
}
