import { coalesce } from './coalesce.ts'

export const NEWLINE = 0x0a

/** Blocks are about this long, so that what is made of one stays small. */
const BLOCK_BYTES = 128 * 1024

/**
 * Cuts bytes into blocks of whole lines, however the chunks that come are cut, and never inside a character.
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
  for await (const chunk of coalesce(chunks, BLOCK_BYTES)) {
    for (let start = 0; start < chunk.length; start += BLOCK_BYTES) {
      const piece = chunk.subarray(start, start + BLOCK_BYTES)
      const end = piece.lastIndexOf(NEWLINE) + 1
      if (end > 0) {
        const whole = piece.subarray(0, end)
        yield rest.length > 0 ? Buffer.concat([...rest, whole]) : whole
        rest = []
        restBytes = 0
      }
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
