import type { Transform } from 'node:stream'
import { constants, createGzip, type ZlibReset } from 'node:zlib'
import type { Coding } from './coding.ts'
import { NO_ZSTD, zstd } from './zstd.ts'

/** Of each piece of what is compressed: mostly room for a block of rows, so that one call of zlib is enough. */
const OUTPUT_CHUNK_BYTES = 512 * 1024

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
  readonly #pieces: Buffer[] = []
  #fail: (error: Error) => void = () => undefined

  /**
   * @param level of gzip or zstd.
   * @throws {RangeError} where gzip has no such level. @throws {Error} where there is no zstd.
   */
  constructor(coding: Coding, level: number = DEFAULT_LEVEL) {
    this.#packing = coding === 'gzip' ? gzipPacking(level) : zstdPacking(level)
    this.#packing.stream.on('data', (piece: Buffer) => this.#pieces.push(piece))
    this.#packing.stream.on('error', (error) => this.#fail(error))
  }

  /** @param block stays as it is until the member is there. @returns its member or frame. */
  async compress(block: Buffer): Promise<Buffer> {
    const { stream, end, isWhole, beginNext } = this.#packing
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject
      if (block.length > 0) stream.write(block)
      stream.flush(end, resolve)
    })
    const pieces = this.#pieces.splice(0)
    const member = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
    if (!isWhole(member, block)) throw new Error('zlib has given less than the whole')
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
