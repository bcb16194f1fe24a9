import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BLOCK_BYTES, MAX_MEMBER_BYTES } from '../../src/compression/block-bytes.ts'
import { gzipMember } from '../../src/compression/gzip-members.ts'
import { bundled } from '../support/processes/bundled.ts'
import { newerNode } from '../support/processes/newer-node.ts'
import { isThorough } from '../support/thorough.ts'

/** In memory of its own. */
const copyOf = (block: Uint8Array): Buffer => {
  const copy = Buffer.allocUnsafeSlow(block.length)
  copy.set(block)
  return copy
}

/** Of a copy of the block. */
const compress = async (block: Uint8Array): Promise<Buffer> =>
  (await gzipMember(copyOf(block), Buffer.allocUnsafeSlow(MAX_MEMBER_BYTES))).member

/** As good as random, and the same each time. */
const randomBytes = (length: number, seed = 'seed'): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(length / 64) }, (_, index) =>
      createHash('sha512').update(`${seed} ${length} ${index}`).digest(),
    ),
  ).subarray(0, length)

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
    numRuns: isThorough ? 20_000 : 600,
  })
})

test('zlib reads blocks of every small size', async () => {
  for (let bytes = 0; bytes <= 300; bytes += 1) {
    await expectWhole(Buffer.alloc(bytes, 'a'))
    await expectWhole(randomBytes(bytes))
  }
})

test('zlib reads matches of every length', async () => {
  const beginning = randomBytes(300)
  const pieces: Buffer[] = [beginning]
  for (let length = 0; length <= 300; length += 1) {
    pieces.push(beginning.subarray(0, length), randomBytes(3, `behind ${length}`))
  }
  await expectWhole(Buffer.concat(pieces))
})

test('zlib reads matches from every power of two away, and from just beside it, as far as deflate knows', async () => {
  for (let power = 0; power <= 15; power += 1) {
    for (const distance of [2 ** power - 1, 2 ** power, 2 ** power + 1].filter((each) => each > 0)) {
      const unit = randomBytes(distance)
      await expectWhole(Buffer.concat([unit, unit.subarray(0, 40), randomBytes(40, 'behind')]))
    }
  }
})

test('what was seen as far away as deflate can say is found again', async () => {
  const unit = randomBytes(32_768)
  expect((await compress(Buffer.concat([unit, unit]))).length).toBeLessThan(unit.length + 1_000)
})

test('zlib reads a whole block of rows, of one byte, and of random bytes', async () => {
  await expectWhole(rows(20_000).subarray(0, BLOCK_BYTES))
  await expectWhole(Buffer.alloc(BLOCK_BYTES))
  await expectWhole(randomBytes(BLOCK_BYTES))
})

test('random bytes take hardly more than they are', async () => {
  expect((await compress(randomBytes(BLOCK_BYTES))).length).toBeLessThan(BLOCK_BYTES + 1_000)
})

test('rows take less than with the fastest level of zlib', async () => {
  const block = rows(10_000)
  expect((await compress(block)).length).toBeLessThan(gzipSync(block, { level: 1 }).length)
})

test('the same block gives the same member, whatever was compressed before it', async () => {
  const [first, second] = [randomBytes(100, 'first'), randomBytes(100, 'second')]
  const shared = Buffer.concat([first.subarray(47, 50), second.subarray(0, 20)])
  const own = [randomBytes(5), shared, randomBytes(40)]
  const block = Buffer.concat([first, second, first.subarray(0, 50), second.subarray(0, 50), ...own])
  // Where the same bytes as the block's stand elsewhere.
  const before = Buffer.concat([randomBytes(247), shared, randomBytes(40)])
  const members: Buffer[] = []
  for (const other of [Buffer.alloc(0), before, randomBytes(BLOCK_BYTES)]) {
    // In each of the threads, as many as there may be.
    await Promise.all(Array.from({ length: 4 }, () => compress(other)))
    members.push(await compress(block))
  }
  for (const member of members) expect(member.equals(members[0] ?? Buffer.alloc(0))).toBe(true)
})

test('a member is the same on every machine, with every version of Node.js', async () => {
  const member = await compress(rows(2_000))
  expect(member.subarray(0, 10).toString('hex')).toBe('1f8b0800000000000403')
  expect(createHash('sha256').update(member).digest('hex')).toBe(
    '54117d4259b524a726e543d301aa5219daa497695bd8aafc87160961d14052c3',
  )
})

test('buffers are taken over, not copied', async () => {
  const [block, memory] = [copyOf(rows(10)), Buffer.allocUnsafeSlow(MAX_MEMBER_BYTES)]
  const compressed = await gzipMember(block, memory)
  expect([block.buffer.byteLength, memory.buffer.byteLength]).toEqual([0, 0])
  expect(compressed.block.equals(rows(10))).toBe(true)
  expect(compressed.member.buffer.byteLength).toBe(MAX_MEMBER_BYTES)
})

test('more blocks than there are threads each get their own member', async () => {
  const blocks = Array.from({ length: 40 }, (_, index) => rows(index * 100))
  const members = await Promise.all(blocks.map(compress))
  members.forEach((member, index) => {
    expect(gunzipSync(member).equals(blocks[index] ?? Buffer.of(1))).toBe(true)
  })
})

test('a block that is too large, or does not begin its memory, is refused', async () => {
  await expect(compress(Buffer.alloc(BLOCK_BYTES + 1))).rejects.toThrow(
    `a block of ${BLOCK_BYTES + 1} bytes is too large`,
  )
  const within = copyOf(rows(10)).subarray(5)
  await expect(gzipMember(within, Buffer.allocUnsafeSlow(MAX_MEMBER_BYTES))).rejects.toThrow('begins its memory')
})

test('where threads fail, what they had is refused, and what waits is compressed by others', async () => {
  const results = await Promise.allSettled(
    Array.from({ length: 12 }, (_, index) =>
      index < 6
        ? gzipMember(copyOf(rows(10)), Buffer.allocUnsafeSlow(10))
        : compress(rows(10)).then((member) => ({ member })),
    ),
  )
  for (const result of results.slice(0, 6)) {
    expect(result).toMatchObject({ status: 'rejected', reason: { message: 'a thread that compresses has failed' } })
  }
  for (const result of results.slice(6)) {
    expect(result.status === 'fulfilled' && gunzipSync(result.value.member).equals(rows(10))).toBe(true)
  }
})

const programs = [
  { version: 'this version of', program: process.execPath },
  { version: 'a newer version of', program: newerNode() },
].filter(({ program }) => program !== undefined)

test.each(programs)(
  'a process of $version Node.js ends when all is compressed, and not before',
  async ({ program }) => {
    const { stdout } = await promisify(execFile)(program ?? '', [bundled('run-gzip')], { timeout: 60_000 })
    const member = await compress(Buffer.alloc(BLOCK_BYTES, 'a row\n'))
    expect(stdout).toBe(`${createHash('sha256').update(member).digest('hex')}\n`.repeat(3))
  },
)
