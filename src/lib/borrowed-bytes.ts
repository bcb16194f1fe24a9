/**
 * Bytes whose memory is used again: they are good until the next ones are asked for.
 *
 * No Buffer, so that the compiler lets nobody keep them who does not copy them.
 */
export class BorrowedBytes {
  readonly #bytes: Buffer

  /** @param bytes stay whose they are. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get length(): number {
    return this.#bytes.length
  }

  /** The bytes themselves, to be used before the next are asked for. */
  get now(): Buffer {
    return this.#bytes
  }

  /** @returns the same bytes, for good. */
  copy(): Buffer {
    return Buffer.from(this.#bytes)
  }
}

/** Lends chunks, each until the next one is asked for. */
export async function* borrowed(chunks: AsyncIterable<Buffer>): AsyncGenerator<BorrowedBytes, void, undefined> {
  for await (const chunk of chunks) yield new BorrowedBytes(chunk)
}

/** Copies what is borrowed, for stages that keep some of it. */
export async function* copied(chunks: AsyncIterable<BorrowedBytes>): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) yield chunk.copy()
}
