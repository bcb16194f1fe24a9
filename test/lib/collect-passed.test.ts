import { expect, test } from 'vitest'
import { collectPassed } from '../../src/lib/collect-passed.ts'

const CHUNK_BYTES = 256 * 1024

async function* chunks(count: number): AsyncGenerator<Buffer, void, undefined> {
  for (let index = 0; index < count; index += 1) yield Buffer.alloc(CHUNK_BYTES, index)
}

test('chunks pass as they are, and those that nobody holds any more take no memory', async () => {
  const before = process.memoryUsage().arrayBuffers
  let [passed, most] = [0, 0]
  for await (const chunk of collectPassed(chunks(1_000))) {
    expect(chunk.length).toBe(CHUNK_BYTES)
    expect(chunk[0]).toBe(passed % 256)
    passed += 1
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }
  expect(passed).toBe(1_000)
  expect(most).toBeLessThan(64 * CHUNK_BYTES)
})

test.each(['small', 'large'] as const)('in %s steps, a chunk that somebody holds stays as it is', async (step) => {
  const held: Buffer[] = []
  for await (const chunk of collectPassed(chunks(100), step)) held.push(chunk)
  expect(held.map((chunk) => chunk[CHUNK_BYTES - 1])).toEqual(Array.from({ length: 100 }, (_, index) => index))
})

test('who leaves a fast step in the middle leaves others as they are', async () => {
  const kept: number[] = []
  for await (const chunk of collectPassed(chunks(100), 'large')) {
    for await (const other of collectPassed(chunks(100), 'large')) {
      if (other[0] === 3) break
    }
    kept.push(chunk[0] ?? -1)
  }
  expect(kept).toEqual(Array.from({ length: 100 }, (_, index) => index))
})
