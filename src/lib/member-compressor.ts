import { constants, createGzip, type Gzip, type ZlibReset } from 'node:zlib'

/** Of each piece of what is compressed. */
const OUTPUT_CHUNK_BYTES = 64 * 1024

/** A member ends with how many bytes were compressed to it. */
const SIZE_BYTES = 4

/**
 * Compresses blocks as members of gzip, one after the other, with the same memory: to have memory of its own for each takes as
 * long, for what V8 does to find out that nobody uses it any more, as a good part of the compression.
 */
export class MemberCompressor {
  /** Of zlib's algorithm deflate, for which `reset` is there, whatever the type says. */
  readonly #stream: Gzip & ZlibReset
  readonly #pieces: Buffer[] = []
  #fail: (error: Error) => void = () => undefined

  /** @param level zlib's. @throws {RangeError} where it has no such level. */
  constructor(level: number) {
    this.#stream = createGzip({ level, chunkSize: OUTPUT_CHUNK_BYTES }) as Gzip & ZlibReset
    this.#stream.on('data', (piece: Buffer) => this.#pieces.push(piece))
    this.#stream.on('error', (error) => this.#fail(error))
  }

  /** @param block stays as it is until the member is there. @returns its member. */
  async compress(block: Buffer): Promise<Buffer> {
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject
      if (block.length > 0) this.#stream.write(block)
      this.#stream.flush(constants.Z_FINISH, resolve)
    })
    const member = Buffer.concat(this.#pieces.splice(0))
    if (member.length < SIZE_BYTES || member.readUInt32LE(member.length - SIZE_BYTES) !== block.length) {
      throw new Error('zlib has given less than a member')
    }
    this.#stream.reset()
    return member
  }

  /** Gives its memory back; it cannot be used any more. */
  close(): void {
    this.#stream.destroy()
  }
}
