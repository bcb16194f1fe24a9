import type { AppError } from '../errors.ts'
import type { Coding } from '../lib/coding.ts'
import { archiveFault } from './archive-invalid.ts'

/** zlib works in a thread of its own, a chunk at a time: few large ones spare it most of the waiting between them. */
export const INPUT_CHUNK_BYTES = 256 * 1024
const OUTPUT_CHUNK_BYTES = 512 * 1024

/** Of the streams that unpack. */
export const UNPACKING = {
  chunkSize: OUTPUT_CHUNK_BYTES,
  // How much may be unpacked before it is read: zlib works on the next chunk while one is being read.
  readableHighWaterMark: 2 * OUTPUT_CHUNK_BYTES,
}

/** What describes a stage shrinks to a thirtieth at most; gzip can reach a thousandth, and zstd far more. */
export const MAX_RATIO = 200

export const expandsTooMuch = (coding: Coding): AppError =>
  archiveFault(`the ${coding} data expands to more than ${MAX_RATIO} times its size, as no archive does`)

/** @param position how many bytes of the file the compressed data has. */
export const withFollowing = (coding: Coding, position: number): AppError =>
  archiveFault(`the ${coding} data ends at byte ${position}, but something that is not ${coding} data follows`)
