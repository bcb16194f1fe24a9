/** Bytes from `start` up to, and without, `end`: as `Buffer.subarray` counts. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}
