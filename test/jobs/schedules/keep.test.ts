import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Keep } from '../../../src/contract/schedule.ts'
import { type KeptArchive, selectSuperfluous } from '../../../src/jobs/schedules/keep.ts'

const NOW = new Date('2027-06-30T12:00:00Z')
const DAY_MS = 24 * 60 * 60_000

/** Archives named by their age in days; `+` marks one that is proven, `!` one that is damaged. */
const archives = (names: string): KeptArchive[] =>
  names.split(' ').map((id) => {
    const finishedAt = new Date(NOW.getTime() - Number.parseInt(id, 10) * DAY_MS)
    return { id, finishedAt, provenAt: /\+/.test(id) ? finishedAt : null, isDamaged: id.endsWith('!') }
  })

const removedOf = (names: string, keep: Keep): string =>
  selectSuperfluous(archives(names), keep, NOW)
    .map(({ id }) => id)
    .join(' ')

test.each([
  ['nothing said', {}, '1 2 300', ''],
  ['the last two', { last: 2 }, '1 2 3 4', '3 4'],
  ['the last two, in any order', { last: 2 }, '3 1 4 2', '3 4'],
  ['more than there are', { last: 5 }, '1 2 3', ''],
  ['two days and a half', { days: 2.5 }, '1 2 3 4', '3 4'],
  ['either reason: many', { last: 3, days: 1 }, '1 2 3 4', '4'],
  ['either reason: young', { last: 1, days: 3 }, '1 2 3 4', '4'],
  ['the newest, though it is old', { days: 1 }, '7 8 9', '8 9'],
  ['a damaged one, which does not count', { last: 2 }, '1 2! 3 4', '4'],
  ['only damaged ones after a good one', { last: 1 }, '1! 2! 3', ''],
  ['a damaged one that is older than all that stay', { last: 1 }, '1 2 3!', '2 3!'],
  ['only damaged ones', { last: 1 }, '1! 2!', ''],
  ['a proven one that is damaged', { last: 1 }, '1 2+! 3+ 4', '4'],
  ['one proven among others', { last: 1 }, '1 2+ 3 4', '3 4'],
  ['two proven, and what is newer', { last: 2 }, '1 2+ 3 4+ 5 6+', '5 6+'],
  ['as many proven as there are', { last: 3 }, '1 2+ 3 4+ 5', ''],
  ['the newest proven, though it is old', { days: 2 }, '1 5+ 6+ 7', '6+ 7'],
  ['as many beside those of while the clock was ahead', { last: 2 }, '-400+ -399! 1 2 3', '3'],
  ['all proven', { last: 2 }, '1+ 2+ 3+', '3+'],
] satisfies [string, Keep, string, string][])('keeps %s', (_, keep, names, removed) => {
  expect(removedOf(names, keep)).toBe(removed)
})

test('nothing is removed where there is nothing', () => {
  expect(selectSuperfluous([], { last: 1, days: 1 }, NOW)).toEqual([])
})

const archive = fc.record({ age: fc.nat(400), proven: fc.boolean() })
const keepRule = fc.record(
  { last: fc.integer({ min: 1, max: 6 }), days: fc.integer({ min: 1, max: 90 }) },
  { requiredKeys: [] },
)

test('whatever ran, failed and was proven in whatever order, the last good archive stays, and all that rules want', () => {
  fc.assert(
    fc.property(fc.array(archive, { maxLength: 12 }), keepRule, (history, keep) => {
      const all = history.map(({ age, proven }, index) => {
        const finishedAt = new Date(NOW.getTime() - age * DAY_MS - index)
        return { id: String(index), finishedAt, provenAt: proven ? finishedAt : null, isDamaged: false }
      })
      const removed = new Set(selectSuperfluous(all, keep, NOW))
      const kept = all.filter((one) => !removed.has(one)).toSorted((a, b) => +b.finishedAt - +a.finishedAt)
      const sorted = all.toSorted((a, b) => +b.finishedAt - +a.finishedAt)
      const proven = sorted.filter(({ provenAt }) => provenAt !== null)
      expect(kept[0]).toBe(sorted[0])
      if (proven[0]) expect(kept).toContain(proven[0])
      const counted = proven.length > 0 ? proven : sorted
      for (const wanted of counted.slice(0, keep.last ?? 0)) expect(kept).toContain(wanted)
      for (const one of all) {
        if (keep.days !== undefined && +NOW - +one.finishedAt < keep.days * DAY_MS) expect(kept).toContain(one)
      }
    }),
    { numRuns: 500 },
  )
})
