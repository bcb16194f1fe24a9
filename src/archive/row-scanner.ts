import type { CopyBuffer } from './copy-buffer.ts'
import { ROW_PARTS } from './pages.ts'
import { INVALID, scanPlain, scanString } from './value-scanner.ts'

/** What the rows of a table have to be like. */
export interface RowForm {
  /** By column, whether a value may be a number: 1 or 0. */
  readonly takesNumber: Uint8Array
  /** The longest line that is read, without its newline. */
  readonly maxLineBytes: number
}

const PREFIX = Buffer.from(`${ROW_PARTS.prefix}[`)

const [TAB, NEWLINE, SPACE, QUOTE, COMMA, CLOSING_BRACKET, CLOSING_BRACE] = [0x09, 0x0a, 0x20, 0x22, 0x2c, 0x5d, 0x7d]

/**
 * Reads row lines as Wharf writes them and writes their COPY text, from bytes to bytes: what is made of each line is
 * what `JSON.parse`, the check of rows and `toCopyText` make of it, at many times their speed.
 *
 * It stops at the first line that is anything else than a plain and good row, and leaves it to them.
 *
 * @param block whole lines in valid UTF-8, ending with a newline: no loop here looks for the block's end, since each
 *   ends at a newline.
 * @param start where the first line begins.
 * @param text gets the text of the rows.
 * @returns how many rows there were, and where the next line begins.
 */
export function scanRows(
  block: Buffer,
  start: number,
  form: RowForm,
  text: CopyBuffer,
): { readonly rows: number; readonly end: number } {
  // No text is longer than its line, but for some numbers.
  text.reserve(block.length - start)
  let rows = 0
  let end = start
  while (end < block.length) {
    const before = text.length
    const next = scanRow(block, end, form.takesNumber, text)
    if (next === INVALID || next - 1 - end > form.maxLineBytes) {
      text.length = before
      break
    }
    rows += 1
    end = next
  }
  return { rows, end }
}

/** @returns where the next line begins. */
function scanRow(block: Buffer, start: number, takesNumber: Uint8Array, text: CopyBuffer): number {
  for (let index = 0; index < PREFIX.length; index += 1) {
    if (block[start + index] !== PREFIX[index]) return INVALID
  }
  let at = start + PREFIX.length
  for (let column = 0; column < takesNumber.length; column += 1) {
    if (column > 0) {
      if (block[at] !== COMMA) return INVALID
      at += 1
      text.bytes[text.length++] = TAB
    }
    while (block[at] === SPACE) at += 1
    at = block[at] === QUOTE ? scanString(block, at + 1, text) : scanPlain(block, at, takesNumber[column] === 1, text)
    if (at === INVALID) return INVALID
    while (block[at] === SPACE) at += 1
  }
  if (block[at] !== CLOSING_BRACKET || block[at + 1] !== CLOSING_BRACE || block[at + 2] !== NEWLINE) return INVALID
  text.bytes[text.length++] = NEWLINE
  return at + 3
}
