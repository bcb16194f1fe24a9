import { ROW_PARTS } from '../archive/pages.ts'
import { type GrowingBuffer, viewOf } from '../lib/growing-buffer.ts'
import { COMMA, type Field, INVALID, isWord, MAX_EXCESS_BYTES, QUOTE, SPACE, WORDS } from './field.ts'

/** How the rows of a table are written. */
export interface RowForm {
  readonly fields: readonly Field[]
  /** What stands before a row, between its fields, for a field that is null, and behind a row. */
  readonly before: Buffer
  readonly between: Buffer
  readonly null: Buffer
  readonly after: Buffer
}

const PREFIX = Buffer.from(`${ROW_PARTS.prefix}[`)

const [NEWLINE, CLOSING_BRACKET, CLOSING_BRACE] = [0x0a, 0x5d, 0x7d]

/**
 * Reads row lines as Wharf writes them and writes what COPY reads, from bytes to bytes: what is made of each line is
 * what `JSON.parse`, the check of rows and PostgreSQL's input functions make of it, at many times their speed.
 *
 * It stops at the first line that is anything else than a plain and good row, and leaves it to them.
 *
 * @param block whole lines in valid UTF-8, ending with a newline: no loop here looks for the block's end, since each
 *   ends at a newline.
 * @param start where the first line begins. @param maxLineBytes the longest line that is read, without its newline.
 * @param rows gets the rows.
 * @returns how many rows there were, and where the next line begins.
 */
export function scanRows(
  block: Buffer,
  start: number,
  { form, maxLineBytes }: { readonly form: RowForm; readonly maxLineBytes: number },
  rows: GrowingBuffer,
): { readonly rows: number; readonly end: number } {
  const words = viewOf(block)
  const excess = form.before.length + form.fields.length * MAX_EXCESS_BYTES
  let count = 0
  let end = start
  while (end < block.length && isWord(block, end, PREFIX)) {
    const before = rows.length
    rows.reserve(block.length - end + excess)
    const last = scanValues(block, end + PREFIX.length, form, rows, words)
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

/** @param at behind the last value. @returns where the next line begins. */
function lineEnd(block: Buffer, at: number): number {
  const isEnd = block[at] === CLOSING_BRACKET && block[at + 1] === CLOSING_BRACE && block[at + 2] === NEWLINE
  return isEnd ? at + 3 : INVALID
}

/** Reads the values of a row, from behind the opening bracket. @returns the position behind the last one. */
function scanValues(block: Buffer, start: number, form: RowForm, rows: GrowingBuffer, words: DataView): number {
  const { fields } = form
  put(rows, form.before)
  let at = start
  for (let column = 0; column < fields.length; column += 1) {
    if (column > 0) {
      if (block[at] !== COMMA) return INVALID
      at += 1
      put(rows, form.between)
    }
    while (block[at] === SPACE) at += 1
    const field = fields[column] as Field
    if (block[at] === QUOTE) {
      at = field.string(block, at + 1, rows, words)
    } else if (isWord(block, at, WORDS.null)) {
      put(rows, form.null)
      at += WORDS.null.length
    } else {
      at = field.plain(block, at, rows, words)
    }
    if (at === INVALID) return INVALID
    while (block[at] === SPACE) at += 1
  }
  put(rows, form.after)
  return at
}

/** Without `Buffer.copy`, whose call would take longer than the few bytes. */
function put(rows: GrowingBuffer, written: Buffer): void {
  for (let at = 0; at < written.length; at += 1) rows.bytes[rows.length++] = written[at] as number
}
