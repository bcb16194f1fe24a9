import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { timeLimit } from '../../src/lib/time-limit.ts'
import { eventually } from '../support/eventually.ts'

test('a time limit comes, alone and beside another signal, whenever memory is collected', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const signals = [timeLimit(300), AbortSignal.any([new AbortController().signal, timeLimit(300)])]
  for (let round = 0; round < 5; round += 1) {
    collect()
    await delay(10)
  }
  await eventually(async () => signals.map(({ aborted }) => aborted)).toEqual([true, true])
  expect(signals.map(({ reason }) => reason.name)).toEqual(['TimeoutError', 'TimeoutError'])
})
