import type { GrowingBuffer } from '../lib/growing-buffer.ts'
import { rowModule } from '../wasm/row-module.ts'
import type { RowForm } from './read-forms.ts'

/** A table that PostgreSQL could make has no more. */
const MAX_COLUMNS = 1_600

/** More than any line that is held has. */
const MAX_LINE_BYTES = 0x7fffffff

/**
 * Reads row lines as Wharf writes them and writes what COPY reads, from bytes to bytes: what is made of each line is
 * what `JSON.parse`, the check of rows and PostgreSQL's input functions make of it, at many times their speed.
 *
 * It stops at the first line that is anything else than a plain and good row, and leaves it to them.
 *
 * @param block whole lines in valid UTF-8, ending with a newline.
 * @param start where the first line begins. @param maxLineBytes the longest line that is read, without its newline.
 * @param rows gets the rows.
 * @returns how many rows there were, and where the next line begins.
 */
export function scanRows(
  block: Buffer,
  start: number,
  { form: { forms, isBinary }, maxLineBytes }: { readonly form: RowForm; readonly maxLineBytes: number },
  rows: GrowingBuffer,
): { readonly rows: number; readonly end: number } {
  if (forms.length > MAX_COLUMNS) return { rows: 0, end: start }
  const module = rowModule()
  const { memory, input, inputBytes, output } = module
  const maxBytes = Math.min(maxLineBytes, MAX_LINE_BYTES)
  let count = 0
  let end = start
  let isMore: boolean
  do {
    memory.set(forms, module.forms)
    const copied = block.copy(memory, input, end, end + inputBytes)
    const taken = module.readRows(copied, forms.length, Number(isBinary), maxBytes)
    const bytes = module.bytesWritten.value
    rows.reserve(bytes)
    rows.length += memory.copy(rows.bytes, rows.length, output, output + bytes)
    count += module.rowsRead.value
    end += taken
    // Either there was no room for more, or the next line goes on behind the input; it may be longer than all of that.
    isMore = taken > 0 && (module.isFull.value === 1 || (copied === inputBytes && end < block.length))
  } while (isMore)
  return { rows: count, end }
}
