import { type CopyBuffer, viewOf } from './copy-buffer.ts'
import { ROW_PARTS } from './pages.ts'
import { INVALID, scanPlain, scanString } from './value-scanner.ts'

/**
 * Reads the values of a row, from behind the opening bracket, and writes them for COPY.
 *
 * @param words the same block, for reading several bytes at once.
 * @returns the position behind the last value; `INVALID` where one is not plain and good.
 */
export type ScanRow = (block: Buffer, start: number, rows: CopyBuffer, words: DataView) => number

/** How the rows of a table are read. */
export interface RowForm {
  readonly scanRow: ScanRow
  /** How much longer what is written may be than the line that is read. */
  readonly maxExcess: number
  /** The longest line that is read, without its newline. */
  readonly maxLineBytes: number
}

const PREFIX = Buffer.from(`${ROW_PARTS.prefix}[`)

const [TAB, NEWLINE, SPACE, QUOTE, COMMA, CLOSING_BRACKET, CLOSING_BRACE] = [0x09, 0x0a, 0x20, 0x22, 0x2c, 0x5d, 0x7d]

/**
 * Reads row lines as Wharf writes them and writes what COPY reads, from bytes to bytes: what is made of each line is
 * what `JSON.parse`, the check of rows and PostgreSQL's input functions make of it, at many times their speed.
 *
 * It stops at the first line that is anything else than a plain and good row, and leaves it to them.
 *
 * @param block whole lines in valid UTF-8, ending with a newline: no loop here looks for the block's end, since each
 *   ends at a newline.
 * @param start where the first line begins.
 * @param rows gets the rows.
 * @returns how many rows there were, and where the next line begins.
 */
export function scanRows(
  block: Buffer,
  start: number,
  { scanRow, maxExcess, maxLineBytes }: RowForm,
  rows: CopyBuffer,
): { readonly rows: number; readonly end: number } {
  const words = viewOf(block)
  let count = 0
  let end = start
  while (end < block.length && beginsRow(block, end)) {
    const before = rows.length
    rows.reserve(block.length - end + maxExcess)
    const last = scanRow(block, end + PREFIX.length, rows, words)
    const next = last === INVALID ? INVALID : lineEnd(block, last)
    if (next === INVALID || next - 1 - end > maxLineBytes) {
      rows.length = before
      break
    }
    count += 1
    end = next
  }
  return { rows: count, end }
}

/** Whether the line that begins at `start` may be a row, written as Wharf writes it. */
function beginsRow(block: Buffer, start: number): boolean {
  for (let index = 0; index < PREFIX.length; index += 1) {
    if (block[start + index] !== PREFIX[index]) return false
  }
  return true
}

/** @param at behind the last value. @returns where the next line begins. */
function lineEnd(block: Buffer, at: number): number {
  const isEnd = block[at] === CLOSING_BRACKET && block[at + 1] === CLOSING_BRACE && block[at + 2] === NEWLINE
  return isEnd ? at + 3 : INVALID
}

/** Writes rows as COPY's text format has them. @param takesNumber by column, whether a value may be a number: 1 or 0. */
export function scanTextValues(takesNumber: Uint8Array): ScanRow {
  return (block, start, text, words) => {
    let at = start
    for (let column = 0; column < takesNumber.length; column += 1) {
      if (column > 0) {
        if (block[at] !== COMMA) return INVALID
        at += 1
        text.bytes[text.length++] = TAB
      }
      while (block[at] === SPACE) at += 1
      at =
        block[at] === QUOTE
          ? scanString(block, at + 1, text, words)
          : scanPlain(block, at, takesNumber[column] === 1, text)
      if (at === INVALID) return INVALID
      while (block[at] === SPACE) at += 1
    }
    text.bytes[text.length++] = NEWLINE
    return at
  }
}
