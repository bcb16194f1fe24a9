import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import { type GzipMembersOptions, gzipMembers } from '../lib/gzip-members.ts'

const BEGINNING = Buffer.from('{"rows":')
const END = Buffer.from('{"rowsEnd":')

/**
 * Compresses an archive as gzip. Each part of a table stands whole in one member, or begins and ends where members do,
 * so that it can be read by itself.
 *
 * @param archive in the pieces in which it was written: a line that begins or ends rows is one by itself.
 */
export const gzipArchive = (
  archive: AsyncIterable<BorrowedBytes>,
  options: Omit<GzipMembersOptions, 'sectionOf'> = {},
): AsyncGenerator<Buffer, void, undefined> =>
  gzipMembers(lent(archive), {
    ...options,
    sectionOf: (piece) => (startsWith(piece, BEGINNING) ? 'begins' : startsWith(piece, END) ? 'ends' : undefined),
  })

/** The bytes themselves, which `gzipMembers` copies. */
async function* lent(chunks: AsyncIterable<BorrowedBytes>): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) yield chunk.now
}

const startsWith = (piece: Buffer, beginning: Buffer): boolean => piece.subarray(0, beginning.length).equals(beginning)
