export interface RecognisedBytes {
  readonly isGzip: boolean
  /** All of them, from the first one on. */
  readonly bytes: AsyncIterable<Buffer>
}

/** Reads as much as it takes to tell gzip by its first two bytes (RFC 1952, section 2.3.1). */
export async function recogniseGzip(bytes: AsyncIterable<Buffer>): Promise<RecognisedBytes> {
  const source = bytes[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  while (head.length < 2) {
    const next = await source.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  return { isGzip: head[0] === 0x1f && head[1] === 0x8b, bytes: startingWith(head, source) }
}

async function* startingWith(head: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  try {
    if (head.length > 0) yield head
    for (let next = await source.next(); !next.done; next = await source.next()) yield next.value
  } finally {
    await source.return?.()
  }
}
