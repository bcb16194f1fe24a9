import type { Config } from '../../config.ts'
import { conflict } from '../../errors.ts'

/** The longest lines that this server's own imports read. */
export type LineLimits = Pick<Config, 'maxLineBytes' | 'maxStructureLineBytes'>

const NEWLINE = 0x0a

/** What is written in lines of one kind. */
type LimitedKind = 'row' | 'event' | 'structure'

/**
 * Makes sure that the server can read back what it writes: it would be too late to learn that at a restore.
 *
 * @param lines whole lines of one kind. @param what they are, for the message.
 * @returns the lines. @throws {AppError} CONFLICT with the setting that has to be raised.
 */
export const assertReadable = (lines: Buffer, kind: LimitedKind, what: string, limits: LineLimits): Buffer =>
  createLineLimit(kind, what, limits)(lines)

/** As `assertReadable`, for lines that come in pieces: what is too long is refused where it ends. */
export function createLineLimit(
  kind: LimitedKind,
  what: string,
  { maxLineBytes, maxStructureLineBytes }: LineLimits,
): (piece: Buffer) => Buffer {
  const longest = kind === 'structure' ? Math.min(maxLineBytes, maxStructureLineBytes) : maxLineBytes
  const most = kind === 'event' ? Math.floor(maxLineBytes / 2) : longest
  /** How much there was of a line whose end has not come. */
  let begunBytes = 0
  return (piece) => {
    // A piece that is no longer than a line may be has none that is too long.
    if (begunBytes + piece.length > most) {
      const bytes = longestLine(piece, begunBytes)
      if (bytes > most) throw tooLong(kind, what, { bytes, most })
    }
    const lastEnd = piece.lastIndexOf(NEWLINE)
    begunBytes = lastEnd < 0 ? begunBytes + piece.length : piece.length - lastEnd - 1
    return piece
  }
}

function tooLong(
  kind: LimitedKind,
  what: string,
  { bytes, most }: { readonly bytes: number; readonly most: number },
): Error {
  const setting = kind === 'structure' ? 'WHARF_MAX_STRUCTURE_LINE_BYTES' : 'WHARF_MAX_LINE_BYTES'
  return conflict(
    `${what} takes a line of ${bytes} bytes, but no more than ${most} are read by an import of this server: ` +
      `raise ${setting} here, and where the archive is to be imported`,
  )
}

/** The length of the longest line that ends in a piece, its newline left out. @param begunBytes of the first one, before the piece. */
function longestLine(piece: Buffer, begunBytes: number): number {
  let longest = 0
  for (let start = -begunBytes; ; ) {
    const end = piece.indexOf(NEWLINE, Math.max(0, start))
    if (end < 0) return longest
    longest = Math.max(longest, end - start)
    start = end + 1
  }
}
