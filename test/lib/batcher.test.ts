import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type BatcherOptions, createBatcher } from '../../src/lib/batcher.ts'

/** A reader that says of each round what was asked, and answers when it is let. */
function heldReader(options: BatcherOptions = {}) {
  const started: { readonly asked: string[]; readonly answer: (value: string) => void; readonly fail: () => void }[] =
    []
  const ask = createBatcher<string, string>(
    (questions) =>
      new Promise((resolve, reject) => {
        const asked = [...questions.keys()]
        started.push({
          asked,
          answer: (value) => resolve(new Map(asked.map((key) => [key, value]))),
          fail: () => reject(new Error('out of reach')),
        })
      }),
    options,
  )
  const until = (batches: number) => expect.poll(() => started.length, { interval: 1 }).toBe(batches)
  return { ask, started, until }
}

test('what is asked at the same time is asked once', async () => {
  const { ask, started, until } = heldReader()
  const answers = Promise.all([ask('a', 'a'), ask('b', 'b'), ask('a', 'a')])
  await until(1)
  expect(started[0]?.asked).toEqual(['a', 'b'])
  started[0]?.answer('first')
  expect(await answers).toEqual(['first', 'first', 'first'])
})

test('a question never joins the round under way, whose answer could be older than it', async () => {
  const { ask, started, until } = heldReader()
  const early = ask('a', 'a')
  await until(1)
  const late = [ask('a', 'a'), ask('b', 'b')]
  started[0]?.answer('old')
  expect(await early).toBe('old')
  await until(2)
  expect(started[1]?.asked).toEqual(['a', 'b'])
  started[1]?.answer('new')
  expect(await Promise.all(late)).toEqual(['new', 'new'])
})

test('at most one round runs and one waits', async () => {
  const { ask, started, until } = heldReader()
  const answers = [ask('a', 'a')]
  await until(1)
  answers.push(ask('b', 'b'), ask('c', 'c'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(started).toHaveLength(1)
  started[0]?.answer('one')
  await until(2)
  started[1]?.answer('two')
  expect(await Promise.all(answers)).toEqual(['one', 'two', 'two'])
})

test('where a round takes long, the next one starts beside it, up to as many as may run', async () => {
  const { ask, started, until } = heldReader({ mostRunning: 2 })
  const answers = [ask('a', 'a')]
  await until(1)
  answers.push(ask('b', 'b'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(started).toHaveLength(1)
  await sleep(20)
  answers.push(ask('c', 'c'))
  await until(2)
  expect(started[1]?.asked).toEqual(['b', 'c'])
  await sleep(20)
  answers.push(ask('d', 'd'))
  await sleep(20)
  expect(started).toHaveLength(2)
  started[1]?.answer('two')
  await until(3)
  started[2]?.answer('three')
  started[0]?.answer('one')
  expect(await Promise.all(answers)).toEqual(['one', 'two', 'two', 'three'])
})

test('after a round, the next starts once its questions have been gathered', async () => {
  const starts: (() => void)[] = []
  const { ask, started, until } = heldReader({ gather: (start) => starts.push(start) })
  const answers = [ask('a', 'a')]
  await until(1)
  answers.push(ask('b', 'b'))
  started[0]?.answer('one')
  await answers[0]
  await expect.poll(() => starts.length, { interval: 1 }).toBe(1)
  answers.push(ask('c', 'c'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(started).toHaveLength(1)
  starts[0]?.()
  await until(2)
  expect(started[1]?.asked).toEqual(['b', 'c'])
  started[1]?.answer('two')
  expect(await Promise.all(answers)).toEqual(['one', 'two', 'two'])
})

test('a round that fails fails for those who were in it, and for nobody after', async () => {
  const { ask, started, until } = heldReader()
  const failing = Promise.allSettled([ask('a', 'a'), ask('b', 'b')])
  await until(1)
  started[0]?.fail()
  expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const next = ask('a', 'a')
  await until(2)
  started[1]?.answer('well')
  expect(await next).toBe('well')
})

test('a question that fails its batch fails alone, and the others get their answers', async () => {
  const batches: string[][] = []
  const ask = createBatcher<string, string>(
    async (questions) => {
      batches.push([...questions.keys()])
      if (questions.has('bad') || questions.has('worse')) throw new Error(questions.has('bad') ? 'bad' : 'worse')
      return new Map([...questions].filter(([key]) => key !== 'unknown'))
    },
    { isOfOneQuestion: () => true },
  )
  const keys = ['a', 'b', 'bad', 'c', 'd', 'worse', 'unknown']
  const settled = await Promise.allSettled(keys.map((key) => ask(key, key)))
  expect(settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message))).toEqual([
    'a',
    'b',
    'bad',
    'c',
    'd',
    'worse',
    undefined,
  ])
  expect(batches[0]).toEqual(keys)
})

test('a round that fails as a whole is not asked again in parts', async () => {
  let batches = 0
  const ask = createBatcher<string, string>(
    async () => {
      batches += 1
      throw new Error('out of reach')
    },
    { isOfOneQuestion: () => false },
  )
  const settled = await Promise.allSettled(['a', 'b'].map((key) => ask(key, key)))
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(batches).toBe(1)
})
