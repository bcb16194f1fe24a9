import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { paced } from '../../src/lib/paced.ts'
import { collect, streamOf } from '../support/archives/archive-sample.ts'

const CHUNKS = ['one', 'two', 'three'].map((text) => Buffer.from(text))
/** With which each byte takes most of an hour. */
const HARDLY_ANY = 1 / 3_000

test('all chunks come, in their order', async () => {
  expect(await collect(paced(streamOf(...CHUNKS), 1_000_000, undefined))).toEqual(CHUNKS)
})

test('a chunk does not come before its time, and waiting for it ends with the reason of the signal', async () => {
  const abort = new AbortController()
  const chunks = paced(streamOf(...CHUNKS), HARDLY_ANY, abort.signal)
  expect((await chunks.next()).value).toEqual(CHUNKS[0])
  const next = chunks.next()
  expect(await Promise.race([next, sleep(50, 'still waiting')])).toBe('still waiting')
  abort.abort(new Error('cancelled'))
  await expect(next).rejects.toThrow('cancelled')
})

test('the source is closed when the reader leaves', async () => {
  let isClosed = false
  async function* source(): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* CHUNKS
    } finally {
      isClosed = true
    }
  }
  for await (const _ of paced(source(), 1_000_000, undefined)) break
  expect(isClosed).toBe(true)
})
