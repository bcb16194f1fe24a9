import { expect, test } from 'vitest'
import { repeat } from '../../src/lib/repeat.ts'
import { eventually } from '../support/eventually.ts'

test('a turn that fails does not keep the next from coming', async () => {
  const failures: unknown[] = []
  let turns = 0
  const repeating = repeat(
    1,
    async () => {
      turns += 1
      throw new Error(`turn ${turns}`)
    },
    (error) => failures.push(error),
  )
  await eventually(async () => turns).toBeGreaterThan(2)
  await repeating.stop()
  expect(failures.slice(0, 2)).toMatchObject([{ message: 'turn 1' }, { message: 'turn 2' }])
})

test('stopping waits for the turn that is under way, and no other begins', async () => {
  let turns = 0
  let ended = 0
  let end: () => void = () => undefined
  const repeating = repeat(
    1,
    async () => {
      turns += 1
      await new Promise<void>((resolve) => {
        end = resolve
      })
      ended += 1
    },
    () => undefined,
  )
  const stopped = repeating.stop()
  expect(ended).toBe(0)
  end()
  await stopped
  expect({ turns, ended }).toEqual({ turns: 1, ended: 1 })
})

test('a turn that ends since it is stopped is no failure', async () => {
  const failures: unknown[] = []
  const repeating = repeat(
    1,
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
    (error) => failures.push(error),
  )
  await repeating.stop()
  expect(failures).toEqual([])
})
