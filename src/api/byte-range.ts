import { RangeNotSatisfiable } from '../errors.ts'
import type { ByteRange } from '../lib/byte-range.ts'

const SINGLE_RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i

/**
 * Reads a `Range` header (RFC 9110, section 14). Several ranges in one header count as none, as do other units and what
 * is malformed: the whole is then the answer, which is always right.
 *
 * @returns undefined where the whole is asked for.
 * @throws {RangeNotSatisfiable} where there is no byte in the range.
 */
export function parseByteRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const [matched, first = '', last = ''] = SINGLE_RANGE.exec(header ?? '') ?? []
  if (matched === undefined || (first === '' && last === '')) return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes)
  if (start >= end) {
    throw new RangeNotSatisfiable(
      `the range begins beyond the end; there are ${sizeBytes} bytes`,
      `bytes */${sizeBytes}`,
    )
  }
  return { start, end }
}

/**
 * Whether a range may be answered with a part: where `If-Range` names another version of the file than there is now,
 * the parts would not fit together. Weak validators and dates name no version that is exact enough.
 *
 * @see RFC 9110, section 13.1.5
 */
export const isSameVersion = (ifRange: string | undefined, etag: string): boolean =>
  ifRange === undefined || ifRange.trim() === etag

/** @see RFC 9110, section 13.1.2: a list of tags, or `*`; weak ones count as well. */
export const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
