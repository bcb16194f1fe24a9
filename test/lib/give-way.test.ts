import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isTurnOver, onceTurnIsOver, turnMsBeside } from '../../src/lib/give-way.ts'

test('what one has used of a turn of the event loop the others do not have, until the next turn', async () => {
  await nextTurn()
  expect(onceTurnIsOver()).toBe(undefined)
  while (!isTurnOver());
  expect(isTurnOver()).toBe(true)
  await onceTurnIsOver()
  expect(isTurnOver()).toBe(false)
})

test.each([
  { others: 0, share: 5 },
  { others: 0.4, share: 5 },
  { others: 1, share: 0.5 },
  { others: 10, share: 2 },
  { others: 500, share: 5 },
])('a turn behind one that others have held for $others ms is $share ms', ({ others, share }) => {
  expect(turnMsBeside(others)).toBe(share)
})
