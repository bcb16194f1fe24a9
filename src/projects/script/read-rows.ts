import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { rejected } from '../sql-rejected.ts'
import { countNewlines, type ScriptWindow } from './script-window.ts'

/**
 * The rows behind a `COPY … FROM stdin`, up to the line `\\.`, which is left out.
 *
 * @param window begins with the first row; afterwards, with what follows on that line.
 * @param options `line` is that of the COPY.
 * @throws {AppError} SQL_REJECTED where the script ends before that line, and for a row that is too long.
 */
export async function* readRows(
  window: ScriptWindow,
  { line, maxBytes }: { readonly line: number; readonly maxBytes: number },
): AsyncGenerator<BorrowedBytes, void, undefined> {
  /** How much of a row that is under way has been given on. */
  let begun = 0
  for (;;) {
    const { bytes, isLast } = window
    const { length, behind } = findRowsEnd(bytes, begun === 0, isLast)
    const rows = bytes.subarray(0, length)
    const longRow = findLongRow(rows, begun, maxBytes)
    if (longRow !== undefined) {
      throw rejected(`a row of COPY has more than ${maxBytes} bytes (WHARF_MAX_LINE_BYTES)`, {
        line: window.line + countNewlines(rows.subarray(0, longRow)),
      })
    }
    const last = rows.lastIndexOf('\n')
    begun = last < 0 ? begun + length : length - last - 1
    if (length > 0) yield new BorrowedBytes(rows)
    window.drop(behind ?? length)
    if (behind !== undefined) return
    if (isLast) {
      throw rejected('the rows of this COPY do not end with a line that is "\\.": the script is cut off', { line })
    }
    await window.more()
  }
}

/** @param begun how long the first row is already. @returns where the row that is too long begins, or goes on. */
function findLongRow(bytes: Buffer, begun: number, maxBytes: number): number | undefined {
  // No row that ends in these bytes can be too long.
  if (begun + bytes.length <= maxBytes) return undefined
  let start = -begun
  for (let end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n', end + 1)) {
    if (end - start > maxBytes) return Math.max(0, start)
    start = end + 1
  }
  return bytes.length - start > maxBytes ? Math.max(0, start) : undefined
}

const [NEWLINE, RETURN, POINT, BACKSLASH] = [0x0a, 0x0d, 0x2e, 0x5c]

/**
 * Looks for the line `\.`.
 *
 * @param atLineStart whether the bytes begin at the beginning of a line.
 * @returns how many bytes belong to rows for certain, and the position behind that line where it was found.
 */
function findRowsEnd(
  bytes: Buffer,
  atLineStart: boolean,
  isLast: boolean,
): { readonly length: number; readonly behind?: number } {
  for (
    let at = atLineStart && bytes[0] === BACKSLASH ? 0 : nextLineWith(bytes, 0);
    at >= 0;
    at = nextLineWith(bytes, at)
  ) {
    // As many bytes as `\.`, a return and a newline have: fewer than that may become that line.
    const isShort = bytes.length - at < 4 && !isLast
    if (bytes[at + 1] !== POINT && !(isShort && bytes[at + 1] === undefined)) continue
    const end = bytes[at + 2] === RETURN ? at + 3 : at + 2
    if (bytes[end] === NEWLINE) return { length: at, behind: end + 1 }
    if (end >= bytes.length)
      return isLast && bytes[at + 1] === POINT ? { length: at, behind: bytes.length } : { length: at }
  }
  return { length: bytes.length }
}

/** The next line that begins with a backslash; -1 where there is none. */
const nextLineWith = (bytes: Buffer, from: number): number => {
  const before = bytes.indexOf('\n\\', from)
  return before < 0 ? -1 : before + 1
}
