const MAGIC_BYTES = 2

/** Whether bytes begin as gzip does (RFC 1952, section 2.3.1). */
export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

export interface RecognisedBytes {
  readonly isGzip: boolean
  /** All of them, from the first one on; to be read once. */
  readonly bytes: AsyncIterableIterator<Buffer>
}

/** Reads as much as it takes to recognise gzip. */
export async function recogniseGzip(bytes: AsyncIterable<Buffer>): Promise<RecognisedBytes> {
  const source = bytes[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  while (head.length < MAGIC_BYTES) {
    const next = await source.next()
    if (next.done) break
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
  }
  return { isGzip: isGzip(head), bytes: startingWith(head, source) }
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
