import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compressBlocks } from '../../src/compression/compress-blocks.ts'
import { copied } from '../../src/lib/borrowed-bytes.ts'
import { coalesce } from '../../src/lib/coalesce.ts'
import { fixedBlocks } from '../../src/lib/fixed-blocks.ts'
import { lineBlocks } from '../../src/lib/line-blocks.ts'
import { collect, cutAt, streamOf } from '../support/archives/archive-sample.ts'

const MEBIBYTE = 1024 * 1024
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })
const bytes = Buffer.concat([randomBytes(MEBIBYTE), Buffer.alloc(MEBIBYTE, 'text '), randomBytes(12_345)])

test('compresses to the same members, however the bytes are cut and however many are compressed at once', async () => {
  const whole = Buffer.concat(await collect(copied(compressBlocks(streamOf(bytes)))))
  expect(gunzipSync(whole).equals(bytes)).toBe(true)
  await fc.assert(
    fc.asyncProperty(cuts, fc.integer({ min: 1, max: 5 }), async (positions, concurrency) => {
      const members = await collect(copied(compressBlocks(streamOf(...cutAt(bytes, positions)), { concurrency })))
      expect(members.length).toBe(3)
      expect(Buffer.concat(members).equals(whole)).toBe(true)
    }),
    { numRuns: 20 },
  )
})

test('nothing at all is compressed to one empty member', async () => {
  for (const chunks of [[], [Buffer.alloc(0)]]) {
    const members = await collect(copied(compressBlocks(streamOf(...chunks))))
    expect(members.length).toBe(1)
    expect(gunzipSync(Buffer.concat(members)).length).toBe(0)
  }
})

test('holds no more blocks than it compresses at once', async () => {
  let given = 0
  async function* source() {
    for (; given < 20; given += 1) yield Buffer.alloc(MEBIBYTE)
  }
  let taken = 0
  for await (const member of compressBlocks(source(), { concurrency: 3 })) {
    taken += 1
    expect(member.length).toBeGreaterThan(0)
    expect(given - taken).toBeLessThan(4)
  }
  expect(taken).toBe(20)
})

test('closes its source when its consumer leaves, and passes on what the source throws', async () => {
  let closed = 0
  async function* source(failure?: Error) {
    try {
      for (let block = 0; block < 6; block += 1) yield Buffer.alloc(MEBIBYTE)
      if (failure) throw failure
    } finally {
      closed += 1
    }
  }
  for await (const member of compressBlocks(source())) {
    expect(member.length).toBeGreaterThan(0)
    break
  }
  expect(closed).toBe(1)
  await expect(collect(compressBlocks(source(new Error('the database is gone'))))).rejects.toThrow(
    'the database is gone',
  )
  expect(closed).toBe(2)
})

test('cuts blocks of one size, and joins chunks to at least another, losing nothing', async () => {
  const some = bytes.subarray(0, 5_000)
  await fc.assert(
    fc.asyncProperty(cuts, fc.integer({ min: 1, max: 6_000 }), async (positions, size) => {
      const blocks = await collect(fixedBlocks(streamOf(...cutAt(some, positions)), size))
      expect(blocks.slice(0, -1).every((block) => block.length === size)).toBe(true)
      expect(Buffer.concat(blocks).equals(some)).toBe(true)
      const joined = await collect(coalesce(streamOf(...cutAt(some, positions)), size))
      expect(joined.slice(0, -1).every((block) => block.length >= size)).toBe(true)
      expect(Buffer.concat(joined).equals(some)).toBe(true)
    }),
  )
})

const whole = () => ({ maxBytes: Number.POSITIVE_INFINITY, inPieces: false })

test('cuts blocks after newlines only, losing nothing', async () => {
  const text = Buffer.from(Array.from({ length: 40 }, (_, index) => 'ä'.repeat(index * 997)).join('\n'))
  await fc.assert(
    fc.asyncProperty(cuts, async (positions) => {
      const blocks = await collect(lineBlocks(streamOf(...cutAt(text, positions)), whole))
      expect(blocks.slice(0, -1).every((block) => block.at(-1) === 0x0a)).toBe(true)
      expect(Buffer.concat(blocks).equals(text)).toBe(true)
    }),
  )
})
