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
  archive: AsyncIterable<Buffer>,
  options: Omit<GzipMembersOptions, 'sectionOf'> = {},
): AsyncGenerator<Buffer, void, undefined> =>
  gzipMembers(archive, {
    ...options,
    sectionOf: (piece) => (startsWith(piece, BEGINNING) ? 'begins' : startsWith(piece, END) ? 'ends' : undefined),
  })

const startsWith = (piece: Buffer, beginning: Buffer): boolean => piece.subarray(0, beginning.length).equals(beginning)
