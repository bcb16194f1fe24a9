import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { ContentAnswer } from './answer.ts'

const zip = promisify(gzip)

/** A shorter body fits in one packet anyway. */
const MIN_BYTES = 1024

/** An answer is compressed once and sent many times, so a little more work than the least is well spent. */
const LEVEL = constants.Z_DEFAULT_COMPRESSION

/** @returns the answer with a gzip body, or as it is where that is not worth it. */
export async function compress(answer: ContentAnswer): Promise<ContentAnswer> {
  if (answer.body.byteLength < MIN_BYTES) return answer
  const body = await zip(answer.body, { level: LEVEL })
  return body.byteLength < answer.body.byteLength ? { ...answer, coding: 'gzip', body } : answer
}
