import { expect, test } from 'vitest'
import { nextRuns } from '../../../src/jobs/schedules/cron.ts'
import { fromWallTime, toWallTime } from '../../../src/lib/zoned-time.ts'

/** The next runs as text, without what is the same in all. */
const runsAfter = (now: string, cron: string, count: number, timezone = 'Europe/Berlin'): string[] =>
  nextRuns({ cron, timezone }, new Date(now), count).map((run) => run.toISOString().replace(':00.000Z', 'Z'))

test('a time that the clocks skip is the first moment after the gap, once', () => {
  // In Berlin, 2027-03-28 has no 2:00 to 2:59: at 01:00 UTC the clocks go from 2:00 to 3:00.
  const before = '2027-03-27T12:00:00Z'
  expect(runsAfter(before, '30 2 * * *', 2)).toEqual(['2027-03-28T01:00Z', '2027-03-29T00:30Z'])
  expect(runsAfter(before, '*/15 2 * * *', 2)).toEqual(['2027-03-28T01:00Z', '2027-03-29T00:00Z'])
  expect(runsAfter(before, '30 2,3 * * *', 3)).toEqual(['2027-03-28T01:00Z', '2027-03-28T01:30Z', '2027-03-29T00:30Z'])
})

test('a time that the clocks show twice counts once, the first time', () => {
  // In Berlin, 2027-10-31 has 2:00 to 2:59 twice: from 00:00 and from 01:00 UTC.
  const before = '2027-10-30T12:00:00Z'
  expect(runsAfter(before, '30 2 * * *', 2)).toEqual(['2027-10-31T00:30Z', '2027-11-01T01:30Z'])
  expect(runsAfter('2027-10-31T00:30:00Z', '30 2 * * *', 1)).toEqual(['2027-11-01T01:30Z'])
  expect(runsAfter('2027-10-31T01:05:00Z', '*/20 2 * * *', 1)).toEqual(['2027-11-01T01:00Z'])
})

test('a schedule of every hour goes on evenly when summer time begins and when it ends', () => {
  expect(runsAfter('2027-03-28T00:00:00Z', '*/30 * * * *', 4)).toEqual([
    '2027-03-28T00:30Z',
    '2027-03-28T01:00Z',
    '2027-03-28T01:30Z',
    '2027-03-28T02:00Z',
  ])
  expect(runsAfter('2027-10-30T23:45:00Z', '*/30 * * * *', 4)).toEqual([
    '2027-10-31T00:00Z',
    '2027-10-31T00:30Z',
    '2027-10-31T01:00Z',
    '2027-10-31T01:30Z',
  ])
})

test('a schedule of a night in one zone is another moment in another', () => {
  const now = '2027-06-01T12:00:00Z'
  expect(runsAfter(now, '@daily', 1, 'Europe/Berlin')).toEqual(['2027-06-01T22:00Z'])
  expect(runsAfter(now, '@daily', 1, 'Asia/Kolkata')).toEqual(['2027-06-01T18:30Z'])
  expect(runsAfter(now, '@daily', 1, 'UTC')).toEqual(['2027-06-02T00:00Z'])
})

test.each([
  ['leap days', '0 0 29 2 *', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
  ['seconds', '*/30 * * * * *', ['2027-06-01T12:00:30.000Z', '2027-06-01T12:01Z']],
  ['the last day of a month', '0 0 L * *', ['2027-06-30T00:00Z', '2027-07-31T00:00Z']],
  ['working days', '0 9 * * 1-5', ['2027-06-02T09:00Z', '2027-06-03T09:00Z']],
])('%s can be said', (_, cron, expected) => {
  expect(runsAfter('2027-06-01T12:00:00Z', cron, 2, 'UTC')).toEqual(expected)
})

test.each([
  ['', /has 0 fields/],
  ['* *', /has 2 fields/],
  ['0 0 0 0 0 0 0', /has 7 fields/],
  ['61 * * * *', /the minute "61" must be 0 to 59; or of these a list/],
  ['99 0 * * * *', /the second "99" must be 0 to 59/],
  ['0 5-1 * * *', /the hour "5-1" must be 0 to 23/],
  ['0 0 */0 * *', /the day of month "\*\/0" must be 1 to 31, or L/],
  ['0 0 * FOO *', /the month "FOO" must be 1 to 12, or JAN to DEC/],
  ['0 0 * * MON#6', /the day of week "MON#6" must be 0 to 7/],
  ['0 0 30 2 *', /never comes: none of the months .* day of month$/],
  ['H 2 * * *', /no certain time/],
  ['@midday', /must be one of @yearly/],
  ['every day', /has 2 fields/],
])('"%s" is refused, saying why', (cron, reason) => {
  expect(() => runsAfter('2027-06-01T12:00:00Z', cron, 1)).toThrow(reason)
})

test('a time zone that nobody knows is refused by its name', () => {
  expect(() => runsAfter('2027-06-01T12:00:00Z', '@daily', 1, 'Europe/Nowhere')).toThrow(/"Europe\/Nowhere"/)
})

test.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia'])(
  'in %s, what the clocks show at a moment is shown at that moment, or an hour before',
  (timezone) => {
    const from = Date.UTC(2027, 0, 1)
    for (let hour = 0; hour < 365 * 24; hour += 2) {
      const instant = from + hour * 3_600_000
      const back = fromWallTime(toWallTime(new Date(instant), timezone), timezone).getTime()
      expect([0, 30 * 60_000, 3_600_000]).toContain(instant - back)
    }
  },
)
