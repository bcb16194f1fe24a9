import type { Coding } from '../lib/coding.ts'
import { reuseOutput } from '../lib/runtime.ts'
import { NO_ZSTD, zstd } from '../lib/zstd.ts'
import { gzipMember } from './gzip-members.ts'
import type { Compressed } from './gzip-thread.ts'

/** Compresses blocks, each by itself, one after the other. */
export interface BlockCompressor {
  /**
   * Takes over both buffers, each of which begins its memory and is alone in it: only what is returned, in the same memory, can be used
   * afterwards.
   *
   * @param block at most `BLOCK_BYTES`. @param memory has `MAX_MEMBER_BYTES`. @throws {Error} where it fails.
   */
  compress(block: Buffer, memory: Buffer): Promise<Compressed>
  /** Frees what it holds. */
  close(): void
}

/** @throws {Error} where there is no zstd. */
export const createCompressor = (coding: Coding): BlockCompressor =>
  coding === 'gzip' ? { compress: gzipMember, close: () => undefined } : new ZstdCompressor()

/** Of the pieces in which zstd gives a frame: mostly room for a whole one, so that one call of it is enough. */
const OUTPUT_CHUNK_BYTES = 512 * 1024

/** The best for archives: a higher one costs more time than it saves in size (`npm run bench -- database`). */
const LEVEL = 1

/**
 * Makes all frames with the same memory: to have memory of its own for each takes as long, for what V8 does to find out that
 * nobody uses it any more, as a good part of the compression.
 */
class ZstdCompressor implements BlockCompressor {
  readonly #stream: ReturnType<NonNullable<typeof zstd>['createZstdCompress']>
  readonly #end: number
  #memory: Buffer = Buffer.alloc(0)
  #filled = 0
  #fail: (error: Error) => void = () => undefined

  constructor() {
    if (!zstd) throw new Error(NO_ZSTD)
    const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag, ZSTD_e_end } = zstd.constants
    const params = { [ZSTD_c_compressionLevel]: LEVEL, [ZSTD_c_checksumFlag]: 1 }
    this.#end = ZSTD_e_end
    this.#stream = zstd.createZstdCompress({ chunkSize: OUTPUT_CHUNK_BYTES, params })
    this.#stream.on('data', (piece: Buffer) => {
      piece.copy(this.#memory, this.#filled)
      this.#filled += piece.length
    })
    this.#stream.on('error', (error) => this.#fail(error))
  }

  async compress(block: Buffer, memory: Buffer): Promise<Compressed> {
    this.#memory = memory
    this.#filled = 0
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject
      if (block.length > 0) this.#stream.write(block)
      // What is written after the end of a frame begins the next.
      this.#stream.flush(this.#end, resolve)
    })
    if (this.#filled > memory.length) throw new Error('zstd has given more than there is room for')
    if (this.#filled === 0) throw new Error('zstd has given nothing')
    reuseOutput(this.#stream)
    return { block, member: memory.subarray(0, this.#filled) }
  }

  close(): void {
    this.#stream.destroy()
  }
}
