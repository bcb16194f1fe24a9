import { invalidRequest } from '../errors.ts'
import type { Coding } from '../lib/coding.ts'
import { NO_ZSTD, zstd } from '../lib/zstd.ts'

/** @throws {AppError} INVALID_REQUEST where there is no such compression here. */
export function assertCanCompress(coding: Coding | undefined): void {
  if (coding === 'zstd' && !zstd) throw invalidRequest(`the archive cannot be compressed with zstd: ${NO_ZSTD}`)
}
