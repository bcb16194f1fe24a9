import { randomBytes } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BLOCK_BYTES, MAX_MEMBER_BYTES } from '../../src/compression/block-bytes.ts'
import { gzipMember } from '../../src/compression/gzip-members.ts'

/** Of the block as it is, which stays the caller's. */
const compress = async (block: Uint8Array): Promise<Buffer> => {
  const own = Buffer.allocUnsafeSlow(block.length)
  own.set(block)
  return (await gzipMember(own, Buffer.allocUnsafeSlow(MAX_MEMBER_BYTES))).member
}

/** `zlib` also checks how many bytes there are, and their sum. */
const expectWhole = async (block: Uint8Array): Promise<void> => {
  expect(gunzipSync(await compress(block)).equals(block)).toBe(true)
}

const rows = (count: number): Buffer =>
  Buffer.from(
    Array.from({ length: count }, (_, row) => {
      const value = Math.imul(row, 2654435761) >>> 0
      return `{"row":[${row},"customer ${value % 9973}","${value.toString(16)}",${value / 100},null,true,["a","b"]]}\n`
    }).join(''),
  )

/** Bytes that repeat what came before, from as far away and as long as is said, between some of their own. */
const repeating = fc
  .array(
    fc.record({
      own: fc.uint8Array({ maxLength: 12 }),
      distance: fc.integer({ min: 1, max: 33_000 }),
      length: fc.integer({ min: 0, max: 600 }),
    }),
    { maxLength: 300 },
  )
  .map((pieces) => {
    const bytes: number[] = []
    for (const { own, distance, length } of pieces) {
      bytes.push(...own)
      const from = bytes.length - distance
      for (let index = 0; index < length && from >= 0; index += 1) bytes.push(bytes[from + index] ?? 0)
    }
    return Uint8Array.from(bytes)
  })

test('zlib reads whatever bytes there are', async () => {
  const few = fc.integer({ min: 1, max: 8 }).chain((most) => fc.uint8Array({ max: most, maxLength: 3_000 }))
  await fc.assert(fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 3_000 }), few, repeating), expectWhole), {
    numRuns: 600,
  })
})

test('zlib reads blocks of every small size', async () => {
  for (let bytes = 0; bytes <= 600; bytes += 1) {
    await expectWhole(Buffer.alloc(bytes, 'a'))
    await expectWhole(randomBytes(bytes))
  }
})

test('zlib reads matches of every length', async () => {
  const beginning = randomBytes(300)
  const pieces: Buffer[] = [beginning]
  for (let length = 0; length <= 300; length += 1) pieces.push(beginning.subarray(0, length), randomBytes(3))
  await expectWhole(Buffer.concat(pieces))
})

test('zlib reads matches from every power of two away, and from just beside it, as far as deflate knows', async () => {
  for (let power = 0; power <= 15; power += 1) {
    for (const distance of [2 ** power - 1, 2 ** power, 2 ** power + 1].filter((each) => each > 0)) {
      const unit = randomBytes(distance)
      await expectWhole(Buffer.concat([unit, unit.subarray(0, 40), randomBytes(40)]))
    }
  }
})

test('zlib reads codes that would be longer than is allowed', async () => {
  // Of Fibonacci's numbers, each symbol's code is one bit longer than that of the next.
  const numbers = [1, 1]
  while (numbers.length < 21) numbers.push((numbers.at(-1) ?? 0) + (numbers.at(-2) ?? 0))
  const symbols = numbers.flatMap((times, symbol) => Array<number>(times).fill(symbol * 11))
  // In an order in which hardly any four follow each other twice: as a generator of numbers has it, so that it is the same each time.
  let seed = 1
  for (let index = symbols.length - 1; index > 0; index -= 1) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    const other = seed % (index + 1)
    const symbol = symbols[index] ?? 0
    symbols[index] = symbols[other] ?? 0
    symbols[other] = symbol
  }
  await expectWhole(Uint8Array.from(symbols))
})

test('zlib reads a whole block of rows, of one byte, and of bytes without any order', async () => {
  await expectWhole(rows(20_000).subarray(0, BLOCK_BYTES))
  await expectWhole(Buffer.alloc(BLOCK_BYTES))
  await expectWhole(randomBytes(BLOCK_BYTES))
})

test('bytes without any order take hardly more than they are', async () => {
  expect((await compress(randomBytes(BLOCK_BYTES))).length).toBeLessThan(BLOCK_BYTES + 1_000)
})

test('rows take no more than with the fastest level of zlib', async () => {
  const block = rows(10_000)
  expect((await compress(block)).length).toBeLessThan(gzipSync(block, { level: 1 }).length)
})

test('the same block gives the same member, whatever was compressed before it', async () => {
  const block = rows(2_000)
  const member = await compress(block)
  for (const before of [Buffer.alloc(BLOCK_BYTES, 'row'), randomBytes(BLOCK_BYTES), Buffer.alloc(0)]) {
    const others = Array.from({ length: 8 }, () => compress(before))
    expect((await compress(block)).equals(member)).toBe(true)
    await Promise.all(others)
  }
})

test('more blocks than there are threads each get their own member', async () => {
  const blocks = Array.from({ length: 40 }, (_, index) => rows(index * 100))
  const members = await Promise.all(blocks.map(compress))
  members.forEach((member, index) => {
    expect(gunzipSync(member).equals(blocks[index] ?? Buffer.of(1))).toBe(true)
  })
})

test('a block that is too large is refused, and others are compressed as before', async () => {
  const tooLarge = Array.from({ length: 8 }, () => compress(Buffer.alloc(BLOCK_BYTES + 1)))
  for (const result of await Promise.allSettled(tooLarge)) {
    expect(result).toMatchObject({ status: 'rejected', reason: { message: 'a thread that compresses has failed' } })
  }
  await expectWhole(rows(100))
})
