/** The clock on a wall, as milliseconds: what `Date.UTC` gives for the year, the day, the hour that it shows. */
export type WallTime = number

const HOUR = 3_600_000
/** Needs no format, the first of which takes 10 ms: each start asks when backups of Wharf itself are due. */
const UTC = 'UTC'
const formats = new Map<string, Intl.DateTimeFormat>()

/** Whether this Node knows a time zone by this name (IANA: `Europe/Berlin`, `UTC`). */
export function isTimeZone(name: string): boolean {
  if (name === UTC) return true
  try {
    return formatOf(name) !== undefined
  } catch {
    // The only error there is: a RangeError that the name is unknown.
    return false
  }
}

/** What the clocks of a time zone show at a moment. */
export function toWallTime(instant: Date, timeZone: string): WallTime {
  if (timeZone === UTC) return instant.getTime()
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const at = (part: Intl.DateTimeFormatPartTypes): number => parts.get(part) ?? 0
  const seconds = Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second'))
  return seconds + (((instant.getTime() % 1000) + 1000) % 1000)
}

/**
 * The moment at which the clocks of a time zone show something.
 *
 * @returns where they show it twice (the end of summer time), the first time; where they never do (its beginning), the
 *   first moment after the gap.
 */
export function fromWallTime(wall: WallTime, timeZone: string): Date {
  // No zone is further than 14 hours from UTC, and none changes twice in three days.
  const offsetBefore = offsetAt(wall - 36 * HOUR, timeZone)
  const offsetAfter = offsetAt(wall + 36 * HOUR, timeZone)
  for (const offset of [offsetBefore, offsetAfter]) {
    if (offsetAt(wall - offset, timeZone) === offset) return new Date(wall - offset)
  }
  return endOfGap({ before: wall - offsetAfter, after: wall - offsetBefore }, offsetAfter, timeZone)
}

/** Between `before` and `after` the zone changes to `offset`. */
function endOfGap(gap: { before: number; after: number }, offset: number, timeZone: string): Date {
  let { before, after } = gap
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetAt(middle, timeZone) === offset) after = middle
    else before = middle
  }
  return new Date(after)
}

const offsetAt = (instant: number, timeZone: string): number => toWallTime(new Date(instant), timeZone) - instant

/** Making one takes a hundred times as long as using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  formats.set(timeZone, format)
  return format
}
