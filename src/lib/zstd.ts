import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'

/** What Node.js has for zstd from 22.15 on (RFC 8878). */
export interface Zstd {
  createZstdCompress(options: ZstdOptions): Transform & Flushable
  createZstdDecompress(options: ZstdOptions): Transform
  readonly constants: {
    readonly ZSTD_c_compressionLevel: number
    readonly ZSTD_c_checksumFlag: number
    readonly ZSTD_d_windowLogMax: number
    readonly ZSTD_e_end: number
  }
}

interface ZstdOptions {
  readonly chunkSize?: number
  readonly readableHighWaterMark?: number
  readonly params?: Readonly<Record<number, number>>
}

interface Flushable {
  flush(kind: number, done: () => void): void
}

const isZstd = (module: object): module is Zstd => 'createZstdCompress' in module && 'createZstdDecompress' in module

/** Node's own zstd; undefined where it has none. */
export const zstd: Zstd | undefined = isZstd(zlib) ? zlib : undefined

/** Why zstd is not to be had here, as the rest of a sentence. */
export const NO_ZSTD = `Node.js ${process.versions.node} has no zstd; 22.15 and newer have`
