import { BorrowedBytes } from './borrowed-bytes.ts'

/** How many bytes the next stage gets per chunk: enough that its cost per chunk does not show. */
const DEFAULT_MIN_BYTES = 256 * 1024

/**
 * Joins small chunks into larger ones: each is at least `minBytes` long, but for the last. Larger ones pass uncopied.
 *
 * A compressor that is fed single lines is some 25 times slower than one that is fed blocks of this size.
 */
export async function* coalesce(
  chunks: AsyncIterable<Buffer>,
  minBytes: number = DEFAULT_MIN_BYTES,
): AsyncGenerator<Buffer, void, undefined> {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes < minBytes) continue
    yield join(waiting, waitingBytes)
    waiting = []
    waitingBytes = 0
  }
  if (waitingBytes > 0) yield join(waiting, waitingBytes)
}

function join(chunks: readonly Buffer[], bytes: number): Buffer {
  const [only] = chunks
  return chunks.length === 1 && only ? only : Buffer.concat(chunks, bytes)
}

/**
 * Joins small chunks into ones of up to `blockBytes`. Those that are at least as long by themselves pass uncopied.
 *
 * @yields chunks that are good until the next is asked for; none is empty.
 */
export async function* coalesceBorrowed(
  chunks: AsyncIterable<BorrowedBytes>,
  blockBytes: number = DEFAULT_MIN_BYTES,
): AsyncGenerator<BorrowedBytes, void, undefined> {
  const block = Buffer.allocUnsafeSlow(blockBytes)
  let filled = 0
  for await (const chunk of chunks) {
    if (filled > 0 && filled + chunk.length > blockBytes) {
      yield new BorrowedBytes(block.subarray(0, filled))
      filled = 0
    }
    if (chunk.length >= blockBytes) yield chunk
    else filled += chunk.now.copy(block, filled)
  }
  if (filled > 0) yield new BorrowedBytes(block.subarray(0, filled))
}
