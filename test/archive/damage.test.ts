import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { verifyArchive } from '../../src/archive/verify-archive.ts'
import { compressBlocks } from '../../src/compression/compress-blocks.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'
import { isAppError } from '../../src/errors.ts'
import { copied } from '../../src/lib/borrowed-bytes.ts'
import { collect, sampleLines, streamOf } from '../support/archives/archive-sample.ts'
import { isThorough, numbers, someOf } from '../support/thorough.ts'

const lines = sampleLines()
const plain = Buffer.concat(lines)
const packed = gzipSync(plain)

async function outcome(...chunks: readonly Buffer[]): Promise<string> {
  return verifyArchive(streamOf(...chunks), copyText).then(
    () => 'read',
    (error: unknown) => (isAppError(error, 'ARCHIVE_INVALID') ? error.message : `a bug: ${String(error)}`),
  )
}

/** Of an archive without its last lines, or without any. */
const INCOMPLETE = /^(line \d+: is the last|the file is empty)/

test('an archive cut between any two lines is refused, in plain and in gzip', async () => {
  for (let count = 0; count < lines.length; count += 1) {
    const cut = Buffer.concat(lines.slice(0, count))
    expect(await outcome(cut), `after line ${count}`).toMatch(INCOMPLETE)
    expect(await outcome(gzipSync(cut)), `after line ${count}`).toMatch(INCOMPLETE)
  }
  expect(await outcome(plain)).toBe('read')
})

test('an archive cut at any byte is refused', async () => {
  for (const length of someOf(numbers(0, plain.length), 5)) {
    expect(await outcome(plain.subarray(0, length)), `at byte ${length}`).toMatch(/^(line \d+: |the file is empty)/)
  }
})

test('a compressed archive cut at any byte is refused', async () => {
  for (const length of someOf(numbers(2, packed.length), 5)) {
    expect(await outcome(packed.subarray(0, length)), `at byte ${length}`).toBe(
      'the file ends in the middle of its gzip data',
    )
  }
  expect(await outcome(packed.subarray(0, 1))).toMatch(/^line 1: /)
})

test('an archive of several gzip members cut between two is refused', async () => {
  const members = lines.map((line) => gzipSync(line))
  for (let count = 0; count < members.length; count += 1) {
    expect(await outcome(Buffer.concat(members.slice(0, count))), `after member ${count}`).toMatch(INCOMPLETE)
    expect(await outcome(...members.slice(0, count))).toMatch(INCOMPLETE)
  }
  expect(await outcome(...members)).toBe('read')
})

test('a compressed archive with any one byte after its header changed is refused', async () => {
  for (const position of someOf(numbers(10, packed.length), 5)) {
    const damaged = Buffer.from(packed)
    damaged[position] = (damaged[position] ?? 0) ^ 0xff
    expect(await outcome(damaged), `at byte ${position}`).toMatch(/^(line \d+: |the file ends|the gzip data)/)
  }
})

test('where gzip data is damaged is told by as many bytes as were read, never by too few', async () => {
  for (const position of someOf(numbers(10, packed.length), 4)) {
    const damaged = Buffer.from(packed)
    damaged[position] = (damaged[position] ?? 0) ^ 0xff
    const bytewise = isThorough || position % 8 === 2 ? [1] : []
    for (const size of [...bytewise, 64]) {
      const chunks = Array.from({ length: Math.ceil(packed.length / size) }, (_, index) =>
        damaged.subarray(index * size, (index + 1) * size),
      )
      const result = await outcome(...chunks)
      const stated = /^the gzip data \w+.* in the first (\d+) bytes of the file/.exec(result)?.[1]
      if (stated !== undefined)
        expect(Number(stated), `byte ${position}, by ${size}: ${result}`).toBeGreaterThan(position)
    }
  }
  const [first = plain, second = plain] = [gzipSync(plain.subarray(0, 500)), gzipSync(plain.subarray(500))]
  first.fill(0xff, 12, 20)
  expect(await outcome(first, second)).toMatch(
    /^the gzip data is damaged, somewhere in the first [1-9]\d* bytes of the file$/,
  )
})

test('a row with any one byte changed is refused', async () => {
  const start = plain.indexOf('{"row":')
  const end = plain.indexOf('{"rowsEnd"')
  for (let position = start; position < end; position += 1) {
    const damaged = Buffer.from(plain)
    damaged[position] = (damaged[position] ?? 0) ^ 0x01
    expect(await outcome(damaged), `at byte ${position}`).toMatch(/^line \d+: /)
  }
})

const zeros = Buffer.alloc(3)
const rubbish = Buffer.from('rubbish')
const FOLLOWERS: readonly [name: string, follower: Buffer, isRead: boolean][] = [
  ['zero bytes', zeros, true],
  ['another, empty member', gzipSync(''), true],
  ['rubbish', rubbish, false],
  ['rubbish after zero bytes', Buffer.concat([zeros, rubbish]), false],
  ['another member after zero bytes', Buffer.concat([zeros, gzipSync('')]), false],
  ['another line', gzipSync('{"end":{"projects":2,"rows":3}}\n'), false],
  ['much rubbish after zero bytes', Buffer.concat([zeros, Buffer.alloc(3_000_000, 1)]), false],
]

test.each(FOLLOWERS)('gzip data followed by %s', async (_name, follower, isRead) => {
  const file = Buffer.concat([packed, follower])
  const bytewise = Array.from(file.subarray(0, 5_000), (byte) => Buffer.from([byte]))
  const rest = file.subarray(5_000)
  const followed = new RegExp(
    `^(read|the gzip data ends (at byte ${packed.length},|somewhere in the first \\d+ bytes)|line \\d+: stands after)`,
  )
  for (const chunks of [[file], [packed, follower], [...bytewise, rest]]) {
    const result = await outcome(...chunks)
    expect(result).toMatch(followed)
    expect(result === 'read').toBe(isRead)
  }
})

test('gzip data that expands without measure is refused early', async () => {
  async function* zeroLines() {
    for (let block = 0; block < 160; block += 1) yield Buffer.alloc(1024 * 1024)
  }
  const bomb = await collect(copied(compressBlocks(zeroLines())))
  const error = await verifyArchive(streamOf(...bomb), copyText, {
    maxLineBytes: 1024 ** 3,
    maxStructureLineBytes: 1024 ** 3,
  }).catch((reason: unknown) => reason)
  expect(String(error)).toContain('expands to more than 200 times its size')
})

test('an error of the source is passed on as it is', async () => {
  const failure = new Error('the disk is gone')
  for (const bytes of [plain, packed]) {
    async function* failing() {
      yield bytes.subarray(0, 500)
      throw failure
    }
    await expect(verifyArchive(failing(), copyText)).rejects.toBe(failure)
  }
})

test('the source is closed when reading ends early', async () => {
  for (const bytes of [Buffer.from(`nonsense\n${String(plain)}`), gzipSync(`nonsense\n${String(plain)}`)]) {
    let closed = false
    async function* source() {
      try {
        for (const byte of bytes) yield Buffer.from([byte])
      } finally {
        closed = true
      }
    }
    await expect(verifyArchive(source(), copyText)).rejects.toThrow('line 1')
    expect(closed).toBe(true)
  }
})
