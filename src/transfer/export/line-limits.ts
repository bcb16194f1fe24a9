import type { Config } from '../../config.ts'
import { conflict } from '../../errors.ts'

/** The longest lines that this server's own imports read. */
export type LineLimits = Pick<Config, 'maxLineBytes' | 'maxStructureLineBytes'>

const NEWLINE = 0x0a

/**
 * Makes sure that the server can read back what it writes: it would be too late to learn that at a restore.
 *
 * @param lines whole lines of one kind. @param what they are, for the message.
 * @returns the lines. @throws {AppError} CONFLICT with the setting that has to be raised.
 */
export function assertReadable(
  lines: Buffer,
  kind: 'row' | 'event' | 'structure',
  what: string,
  { maxLineBytes, maxStructureLineBytes }: LineLimits,
): Buffer {
  const longest = kind === 'structure' ? Math.min(maxLineBytes, maxStructureLineBytes) : maxLineBytes
  const most = kind === 'event' ? Math.floor(maxLineBytes / 2) : longest
  // A page that is no longer than a line may be has none that is too long.
  const bytes = lines.length > most ? longestLine(lines) : 0
  if (bytes <= most) return lines
  const setting = kind === 'structure' ? 'WHARF_MAX_STRUCTURE_LINE_BYTES' : 'WHARF_MAX_LINE_BYTES'
  throw conflict(
    `${what} takes a line of ${bytes} bytes, but no more than ${most} are read by an import of this server: ` +
      `raise ${setting} here, and where the archive is to be imported`,
  )
}

/** The length of the longest line, its newline left out. */
function longestLine(lines: Buffer): number {
  let longest = 0
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(NEWLINE, start)
    longest = Math.max(longest, end - start)
    start = end + 1
  }
  return longest
}
