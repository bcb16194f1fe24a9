import { recogniseCoding } from '../lib/recognise-coding.ts'
import { gunzip } from './gunzip.ts'
import { unzstd } from './unzstd.ts'

/**
 * Gives an archive's lines as plain bytes, whether it is compressed with gzip or zstd (which its first bytes tell) or not.
 *
 * @param freeBytes how many bytes, by now, may come out of compressed data however small that is.
 * @throws {AppError} ARCHIVE_INVALID where compressed data is damaged, ends too early, is followed by something else (gzip may
 *   be by zero bytes), or expands like nothing that is an archive. What was yielded before is then worth nothing either.
 *   UNSUPPORTED_MEDIA_TYPE for zstd where Node.js has none.
 */
export async function* unpack(
  bytes: AsyncIterable<Buffer>,
  freeBytes: () => number = () => Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer, void, undefined> {
  const { coding, bytes: source } = await recogniseCoding(bytes)
  try {
    if (coding === undefined) yield* source
    else yield* coding === 'gzip' ? gunzip(source, freeBytes) : unzstd(source, freeBytes)
  } finally {
    await source.return?.()
  }
}
