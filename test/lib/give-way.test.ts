import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isTurnOver, onceTurnIsOver } from '../../src/lib/give-way.ts'

test('what one has used of a turn of the event loop the others do not have, until the next turn', async () => {
  await nextTurn()
  expect(onceTurnIsOver()).toBe(undefined)
  while (!isTurnOver());
  expect(isTurnOver()).toBe(true)
  await onceTurnIsOver()
  expect(isTurnOver()).toBe(false)
})
