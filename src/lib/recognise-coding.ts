import type { Coding } from './coding.ts'

const MAGIC_BYTES = 4

/** Whether bytes begin as gzip does (RFC 1952, section 2.3.1). */
export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** Whether bytes begin as zstd does: with a frame (RFC 8878, section 3.1.1), or with one that is to be skipped (3.1.2). */
const isZstd = (bytes: Buffer): boolean =>
  bytes.subarray(0, MAGIC_BYTES).equals(ZSTD_MAGIC) ||
  (bytes.length >= MAGIC_BYTES && (bytes.readUInt32LE() & 0xfffffff0) >>> 0 === 0x184d2a50)

export interface RecognisedBytes {
  /** Undefined where they are not compressed. */
  readonly coding: Coding | undefined
  /** All of them, from the first one on; to be read once. */
  readonly bytes: AsyncIterableIterator<Buffer>
}

/** Reads as much as it takes to recognise how bytes are compressed. */
export async function recogniseCoding(bytes: AsyncIterable<Buffer>): Promise<RecognisedBytes> {
  const source = bytes[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  while (head.length < MAGIC_BYTES) {
    const next = await source.next()
    if (next.done) break
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
  }
  const coding = isGzip(head) ? 'gzip' : isZstd(head) ? 'zstd' : undefined
  return { coding, bytes: startingWith(head, source) }
}

/** No generator: one that was not begun would not close its source. */
function startingWith(head: Buffer, source: AsyncIterator<Buffer>): AsyncIterableIterator<Buffer> {
  let first: Buffer | undefined = head.length > 0 ? head : undefined
  const iterator: AsyncIterableIterator<Buffer> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      if (!first) return source.next()
      const value = first
      first = undefined
      return { done: false, value }
    },
    async return() {
      await source.return?.()
      return { done: true, value: undefined }
    },
  }
  return iterator
}
