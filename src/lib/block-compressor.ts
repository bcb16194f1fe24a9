import type { Transform } from 'node:stream'
import { constants, createGzip, type ZlibReset } from 'node:zlib'
import type { Coding } from './coding.ts'
import { reuseOutput } from './runtime.ts'
import { NO_ZSTD, zstd } from './zstd.ts'

/** Of the pieces in which zlib gives a member: mostly room for one of a block of rows, so that one call of zlib is enough. */
const OUTPUT_CHUNK_BYTES = 512 * 1024

const NOTHING = Buffer.alloc(0)

/**
 * How many bytes a member of gzip or frame of zstd has at most: zlib itself reckons with an eighth more than what is compressed, and
 * some bytes, whatever its settings (`deflateBound`); zstd with less.
 */
export const maxMemberBytes = (blockBytes: number): number => blockBytes + Math.ceil(blockBytes / 4) + 1024

/** A member of gzip ends with how many bytes were compressed to it. */
const SIZE_BYTES = 4

/**
 * Of gzip: a window of 8 KiB, and room for 32,768 symbols before a block of them ends. zlib's own (15 and 8) take 4 % more
 * processor time, since less of their memory stays in the processor's cache, and files are not smaller but larger by half a percent.
 */
const GZIP_MEMORY = { windowBits: 13, memLevel: 9 }

/** What is the best for archives: more costs more time than it saves in size (`npm run bench -- database`). */
const DEFAULT_LEVEL = 1

interface Packing {
  readonly stream: Transform & { flush(kind: number, done: () => void): void }
  /** What ends a member or frame. */
  readonly end: number
  /** Whether a member holds all of its block, as far as it says itself. */
  isWhole(member: Buffer, block: Buffer): boolean
  /** Begins another one. */
  beginNext(): void
}

/**
 * Compresses blocks as members of gzip or frames of zstd, one after the other, with the same memory: to have memory of its
 * own for each takes as long, for what V8 does to find out that nobody uses it any more, as a good part of the compression.
 */
export class BlockCompressor {
  readonly #packing: Packing
  #memory: Buffer = NOTHING
  #filled = 0
  #fail: (error: Error) => void = () => undefined

  /**
   * @param level of gzip or zstd.
   * @throws {RangeError} where gzip has no such level. @throws {Error} where there is no zstd.
   */
  constructor(coding: Coding, level: number = DEFAULT_LEVEL) {
    this.#packing = coding === 'gzip' ? gzipPacking(level) : zstdPacking(level)
    this.#packing.stream.on('data', (piece: Buffer) => {
      piece.copy(this.#memory, this.#filled)
      this.#filled += piece.length
    })
    this.#packing.stream.on('error', (error) => this.#fail(error))
  }

  /**
   * @param block stays as it is until the member is there.
   * @param memory has room for it: `maxMemberBytes`.
   * @returns its member or frame, in that memory.
   */
  async compress(block: Buffer, memory: Buffer): Promise<Buffer> {
    const { stream, end, isWhole, beginNext } = this.#packing
    this.#memory = memory
    this.#filled = 0
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject
      if (block.length > 0) stream.write(block)
      stream.flush(end, resolve)
    })
    if (this.#filled > memory.length) throw new Error('zlib has given more than there is room for')
    const member = memory.subarray(0, this.#filled)
    if (!isWhole(member, block)) throw new Error('zlib has given less than the whole')
    reuseOutput(stream)
    beginNext()
    return member
  }

  /** Gives its memory back; it cannot be used any more. */
  close(): void {
    this.#packing.stream.destroy()
  }
}

function gzipPacking(level: number): Packing {
  // It has `reset`, whatever the type says.
  const stream = createGzip({ level, ...GZIP_MEMORY, chunkSize: OUTPUT_CHUNK_BYTES }) as ReturnType<typeof createGzip> &
    ZlibReset
  return {
    stream,
    end: constants.Z_FINISH,
    isWhole: (member, block) =>
      member.length >= SIZE_BYTES && member.readUInt32LE(member.length - SIZE_BYTES) === block.length,
    beginNext: () => stream.reset(),
  }
}

function zstdPacking(level: number): Packing {
  if (!zstd) throw new Error(NO_ZSTD)
  const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag, ZSTD_e_end } = zstd.constants
  const params = { [ZSTD_c_compressionLevel]: level, [ZSTD_c_checksumFlag]: 1 }
  return {
    stream: zstd.createZstdCompress({ chunkSize: OUTPUT_CHUNK_BYTES, params }),
    end: ZSTD_e_end,
    isWhole: (frame) => frame.length > 0,
    // What comes after the end of a frame begins another by itself; `reset` would forget level and sums.
    beginNext: () => undefined,
  }
}
