import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createThreadShare, type Utilization } from '../../src/lib/thread-share.ts'

/** A thread whose time is what a test says. */
function threadWith(load: { active: number; idle: number }) {
  const share = createThreadShare(
    (): Utilization => ({ ...load }),
    () => load.active,
  )
  const work = (ms: number): void => {
    share.count(() => {
      load.active += ms
    })
  }
  return { share, work }
}

const goesOn = (share: ReturnType<typeof createThreadShare>): Promise<void> =>
  new Promise((resolve) => {
    share.onceThereIsTime(resolve)
  })

test('work has a few milliseconds at a time where nobody asks for anything, and goes on in the next turn', async () => {
  const load = { active: 0, idle: 0 }
  const { share, work } = threadWith(load)
  work(2)
  expect(share.isUsedUp()).toBe(false)
  work(4)
  expect(share.isUsedUp()).toBe(true)
  // What the work leads to beside it is not taken for what others want.
  load.active += 100
  let isOn = false
  void goesOn(share).then(() => {
    isOn = true
  })
  await endOfTurn()
  await endOfTurn()
  expect(isOn).toBe(true)
  expect(share.isUsedUp()).toBe(false)
})

test('while requests keep the thread busy, work waits until it has had an eighth of the time, and has less of it at once', async () => {
  const load = { active: 0, idle: 0 }
  const { share, work } = threadWith(load)
  const ask = (count: number): void => {
    for (let request = 0; request < count; request += 1) share.noteRequest()
  }
  ask(200)
  load.active += 60
  work(6)
  expect(share.isUsedUp()).toBe(true)
  await goesOn(share)

  work(1)
  expect(share.isUsedUp()).toBe(true)
  ask(10)
  load.active += 3
  let isOn = false
  void goesOn(share).then(() => {
    isOn = true
  })
  await sleep(50)
  expect(isOn).toBe(false)
  load.active += 10
  await expect.poll(() => isOn).toBe(true)

  load.idle += 500
  work(1)
  await goesOn(share)
  work(1)
  expect(share.isUsedUp()).toBe(false)
})

test('requests count for more where the thread has no time left, which then is what they wait for', async () => {
  const waits = async (idleMs: number): Promise<boolean> => {
    const load = { active: 0, idle: 0 }
    const { share, work } = threadWith(load)
    // Too few to keep a thread busy that has time for them.
    for (let request = 0; request < 20; request += 1) share.noteRequest()
    load.active += 90
    load.idle += idleMs
    work(20)
    let isOn = false
    void goesOn(share).then(() => {
      isOn = true
    })
    await sleep(20)
    return !isOn
  }
  expect(await waits(100)).toBe(false)
  expect(await waits(0)).toBe(true)
})

test('all who wait go on together', async () => {
  const { share, work } = threadWith({ active: 0, idle: 0 })
  work(6)
  const order: number[] = []
  await Promise.all([1, 2].map((who) => goesOn(share).then(() => order.push(who))))
  expect(order).toEqual([1, 2])
})
