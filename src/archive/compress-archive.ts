import { type CompressOptions, compressBlocks } from '../compression/compress-blocks.ts'
import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'

const BEGINNING = Buffer.from('{"rows":')
const END = Buffer.from('{"rowsEnd":')

/**
 * Compresses an archive, by default as gzip. Each part of a table stands whole in one member or frame, or begins and ends
 * where they do, so that it can be read by itself.
 *
 * @param archive in the pieces in which it was written: a line that begins or ends rows is one by itself.
 */
export const compressArchive = (
  archive: AsyncIterable<BorrowedBytes>,
  options: Omit<CompressOptions, 'sectionOf'> = {},
): AsyncGenerator<BorrowedBytes, void, undefined> =>
  compressBlocks(lent(archive), {
    ...options,
    sectionOf: (piece) => (startsWith(piece, BEGINNING) ? 'begins' : startsWith(piece, END) ? 'ends' : undefined),
  })

/** The bytes themselves, which `compressBlocks` copies. */
async function* lent(chunks: AsyncIterable<BorrowedBytes>): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) yield chunk.now
}

const startsWith = (piece: Buffer, beginning: Buffer): boolean => piece.subarray(0, beginning.length).equals(beginning)
