import { coalesce } from './coalesce.ts'

export const NEWLINE = 0x0a

/** Blocks are at most this long, but for single lines, so that what is made of one stays small. */
const BLOCK_BYTES = 256 * 1024

/** Chunks that come smaller are joined. */
const MIN_CHUNK_BYTES = 128 * 1024

/**
 * Cuts bytes into blocks of whole lines, however the chunks that come are cut, and never inside a character. Only lines
 * that are in two pieces are copied.
 *
 * @param maxLineBytes how much of a line without an end is held before giving up.
 * @yields blocks that end with a newline. Only the last may end without: it is what follows the last newline, or, if
 *   longer than `maxLineBytes`, the beginning of a line that is too long, after which nothing more is read.
 */
export async function* lineBlocks(
  chunks: AsyncIterable<Buffer>,
  maxLineBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer[] = []
  let restBytes = 0
  for await (const chunk of coalesce(chunks, MIN_CHUNK_BYTES)) {
    for (let start = 0; start < chunk.length; start += BLOCK_BYTES) {
      const piece = chunk.subarray(start, start + BLOCK_BYTES)
      const end = piece.lastIndexOf(NEWLINE) + 1
      let first = 0
      if (end > 0 && restBytes > 0) {
        first = piece.indexOf(NEWLINE) + 1
        yield Buffer.concat([...rest, piece.subarray(0, first)])
        rest = []
        restBytes = 0
      }
      if (first < end) yield piece.subarray(first, end)
      if (end < piece.length) rest.push(piece.subarray(end))
      restBytes += piece.length - end
      if (restBytes > maxLineBytes) {
        yield Buffer.concat(rest)
        return
      }
    }
  }
  if (restBytes > 0) yield Buffer.concat(rest)
}
