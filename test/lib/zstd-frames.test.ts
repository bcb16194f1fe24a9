import { expect, test } from 'vitest'
import { NotZstd, zstdFrames } from '../../src/lib/zstd-frames.ts'
import { collect } from '../support/archives/archive-sample.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

/** Of one block of five bytes as they are, without a sum, its size in one byte. */
const RAW = hex('28b52ffd 20 05 290000 68656c6c6f')
/** Of a byte that is repeated seven times and an empty block, with a window of its own and a sum. */
const REPEATED = hex('28b52ffd 04 58 3a0000 61 010000 01020304')
/** Of one block, with a dictionary of two bytes and a size of four. */
const WITH_DICTIONARY = hex('28b52ffd a2 0b00 05000000 290000 68656c6c6f')
const SKIPPED = hex('5a2a4d18 03000000 010203')

async function framesOf(bytes: Buffer, chunkBytes: number): Promise<readonly Buffer[]> {
  async function* chunks(): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
  }
  const frames: Buffer[] = []
  for await (const frame of zstdFrames(chunks())) frames.push(Buffer.concat(await collect(frame)))
  return frames
}

test.each([1, 2, 5, 1_000])(
  'frames are told apart that come %d bytes at a time, and those to be skipped left out',
  async (size) => {
    const bytes = Buffer.concat([SKIPPED, RAW, REPEATED, SKIPPED, WITH_DICTIONARY, RAW, SKIPPED])
    expect(await framesOf(bytes, size)).toEqual([RAW, REPEATED, WITH_DICTIONARY, RAW])
  },
)

test('no bytes have no frame', async () => {
  expect(await framesOf(Buffer.alloc(0), 1)).toEqual([])
})

test.each(
  [RAW, REPEATED, WITH_DICTIONARY, SKIPPED].flatMap((frame) =>
    [...frame.keys()].slice(1).map((end) => [frame, end] as const),
  ),
)('a frame that is cut is an error: %o after %d bytes', async (frame, end) => {
  await expect(framesOf(Buffer.concat([RAW, frame.subarray(0, end)]), 4)).rejects.toEqual(new NotZstd())
})

test('what follows that is no frame is an error, with its place', async () => {
  await expect(framesOf(Buffer.concat([RAW, hex('00000000')]), 4)).rejects.toMatchObject({ position: RAW.length })
})

test('a block of a kind that there is not is an error, with its place', async () => {
  await expect(framesOf(hex('28b52ffd 20 05 2f0000 68656c6c6f'), 4)).rejects.toMatchObject({ position: 6 })
})
