import { coalesce } from './coalesce.ts'

export const NEWLINE = 0x0a

/** Blocks are at most this long, but for single lines, so that what is made of one stays small. */
const BLOCK_BYTES = 256 * 1024

/** Chunks that come smaller are joined. */
const MIN_CHUNK_BYTES = 128 * 1024

/** How much of a line is enough to recognise its kind. */
export const BEGINNING_BYTES = 64

/** What is done with a line that has begun, and is long. */
export interface LineLimit {
  readonly maxBytes: number
  /** Whether more than that is handed on, piece by piece; without, nothing more is read. */
  readonly inPieces: boolean
}

/**
 * Cuts bytes into blocks of whole lines, however the chunks that come are cut. Only lines that are in two pieces are
 * copied.
 *
 * @param limitOf how much of a line without an end is held, by its beginning.
 * @yields blocks that end with a newline; one that ends without is a piece of the line that the next goes on with, or
 *   the last.
 */
export async function* lineBlocks(
  chunks: AsyncIterable<Buffer>,
  limitOf: (beginning: Buffer) => LineLimit,
): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer[] = []
  let restBytes = 0
  /** Whether the line has begun in a piece that was handed on. */
  let isInPieces = false
  const takeRest = (...more: readonly Buffer[]): Buffer => {
    const taken = Buffer.concat([...rest, ...more])
    rest = []
    restBytes = 0
    return taken
  }

  for await (const chunk of coalesce(chunks, MIN_CHUNK_BYTES)) {
    for (let start = 0; start < chunk.length; start += BLOCK_BYTES) {
      const piece = chunk.subarray(start, start + BLOCK_BYTES)
      const end = piece.lastIndexOf(NEWLINE) + 1
      let first = 0
      if (end > 0 && (restBytes > 0 || isInPieces)) {
        first = piece.indexOf(NEWLINE) + 1
        isInPieces = false
        yield takeRest(piece.subarray(0, first))
      }
      if (first < end) yield piece.subarray(first, end)
      if (end < piece.length) rest.push(piece.subarray(end))
      restBytes += piece.length - end
      if (isInPieces) {
        yield takeRest()
        continue
      }
      if (restBytes <= BEGINNING_BYTES) continue
      const limit = limitOf(beginningOf(rest))
      if (restBytes <= limit.maxBytes) continue
      isInPieces = limit.inPieces
      yield takeRest()
      if (!isInPieces) return
    }
  }
  if (restBytes > 0) yield takeRest()
}

const beginningOf = (pieces: readonly Buffer[]): Buffer =>
  Buffer.concat(pieces.slice(0, BEGINNING_BYTES).map((piece) => piece.subarray(0, BEGINNING_BYTES))).subarray(
    0,
    BEGINNING_BYTES,
  )
