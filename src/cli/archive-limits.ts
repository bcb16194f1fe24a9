import { constants } from 'node:buffer'
import type { ReadArchiveOptions } from '../archive/read-archive.ts'

const MEBIBYTE = 1024 * 1024

/**
 * What is too long to be imported here may be imported elsewhere: rows have hardly a limit, since they are read piece by
 * piece, and what is held in memory has a generous one.
 */
export const GENEROUS_LIMITS: Required<
  Pick<ReadArchiveOptions, 'maxLineBytes' | 'maxEventLineBytes' | 'maxStructureLineBytes'>
> = {
  maxLineBytes: constants.MAX_STRING_LENGTH,
  maxEventLineBytes: 128 * MEBIBYTE,
  maxStructureLineBytes: 64 * MEBIBYTE,
}
