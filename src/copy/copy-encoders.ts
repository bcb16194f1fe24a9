import { takesNumbers } from '../archive/check-row.ts'
import type { RowValue } from '../archive/lines.ts'
import type { CreateEncoders, OwnTypes, RowColumn, RowEncoder, RowFormat } from '../archive/row-encoder.ts'
import { GrowingBuffer } from '../lib/growing-buffer.ts'
import { binaryFields, binaryForm } from './binary/rows.ts'
import type { RowForm } from './read-forms.ts'
import { scanRows } from './scan-rows.ts'
import { createTextArray } from './text-array.ts'
import { escapeText, textForm, toCopyText, toPlainText } from './text-fields.ts'

/** Encodes rows for COPY in its text format, and the rows of an event as a field of it. */
export const copyText: CreateEncoders = (maxLineBytes) => ({
  rows: new CopyEncoder({ maxLineBytes, usesBinary: false }),
  createEventRows: createTextArray,
})

/**
 * The same, but for tables whose columns all allow it in the binary format, which PostgreSQL reads faster, until a value
 * comes that only its type's input function may know.
 */
export const copyBinary: CreateEncoders = (maxLineBytes) => ({
  rows: new CopyEncoder({ maxLineBytes, usesBinary: true }),
  createEventRows: createTextArray,
})

class CopyEncoder implements RowEncoder {
  readonly #options: { readonly maxLineBytes: number; readonly usesBinary: boolean }
  readonly #rows = new GrowingBuffer()
  #textForm: RowForm = textForm([])
  #form = this.#textForm
  format: RowFormat = 'text'

  constructor(options: { readonly maxLineBytes: number; readonly usesBinary: boolean }) {
    this.#options = options
  }

  begin(columns: readonly RowColumn[], own: OwnTypes): void {
    this.#textForm = textForm(takesNumbers(columns))
    this.useText()
    const fields = this.#options.usesBinary ? binaryFields(columns, own) : undefined
    if (!fields) return
    this.format = 'binary'
    this.#form = binaryForm(fields)
  }

  scan(lines: Buffer, start: number): ReturnType<typeof scanRows> {
    return scanRows(lines, start, { form: this.#form, maxLineBytes: this.#options.maxLineBytes }, this.#rows)
  }

  useText(): void {
    this.format = 'text'
    this.#form = this.#textForm
  }

  add(row: readonly RowValue[]): void {
    this.#rows.append(toCopyText(row))
  }

  beginValue(column: number): void {
    if (column > 0) this.#rows.append('\t')
  }

  addPlain(value: number | boolean | null): void {
    this.#rows.append(toPlainText(value))
  }

  addText(text: string): void {
    this.#rows.append(escapeText(text))
  }

  endRow(): void {
    this.#rows.append('\n')
  }

  take(): ReturnType<RowEncoder['take']> {
    return this.#rows.take()
  }
}
