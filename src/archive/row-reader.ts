import type { BinaryField } from './binary/field.ts'
import { binaryFields, maxRowExcess, type OwnTypes, scanBinaryValues } from './binary/rows.ts'
import { CopyBuffer } from './copy-buffer.ts'
import { toCopyText } from './copy-text.ts'
import type { RowColumn } from './ledger.ts'
import { type RowCheck, rowCheck, takesNumbers } from './row-lines.ts'
import { type RowForm, scanRows, scanTextValues } from './row-scanner.ts'

export type CopyFormat = 'text' | 'binary'

export interface RowReaderOptions {
  /** The longest line that is read, without its newline. */
  readonly maxLineBytes: number
  /** Whether rows are made for COPY's binary format where they can be, which PostgreSQL reads faster. */
  readonly binary: boolean
  /** Makes what is thrown where a row is wrong. */
  readonly fault: (detail: string) => Error
}

/**
 * Reads the rows of one table after the other, and makes of them what COPY reads: in the binary format until a value
 * comes that only its type's input function may know, and then in text.
 */
export class RowReader {
  readonly #options: RowReaderOptions
  readonly #rows = new CopyBuffer()
  #columns: readonly RowColumn[] = []
  #format: CopyFormat = 'text'
  #form: RowForm
  #check: RowCheck

  constructor(options: RowReaderOptions) {
    this.#options = options
    this.#form = this.#textForm()
    this.#check = rowCheck([], options.fault)
  }

  /** Of the rows that have been read and not taken. */
  get format(): CopyFormat {
    return this.#format
  }

  /** Begins with another table. @param own the types that its stage has of its own. */
  begin(columns: readonly RowColumn[], own: OwnTypes): void {
    this.#columns = columns
    this.#check = rowCheck(columns, this.#options.fault)
    const fields = this.#options.binary ? binaryFields(columns, own) : undefined
    if (fields) this.#readAsBinary(fields)
    else this.readAsText()
  }

  /** Goes on in text. What has been read before must have been taken. */
  readAsText(): void {
    this.#format = 'text'
    this.#form = this.#textForm()
  }

  /** Reads row lines, as `scanRows` does. */
  scan(lines: Buffer, start: number): { readonly rows: number; readonly end: number } {
    return scanRows(lines, start, this.#form, this.#rows)
  }

  /** Adds a row that `scan` has left, in text. @throws a `fault` where it is none of the table's. */
  add(row: unknown): void {
    const check: RowCheck = this.#check
    check(row)
    this.#rows.append(toCopyText(row))
  }

  /** @returns what has been read, which is good until more is. */
  take(): Buffer {
    return this.#rows.take()
  }

  #readAsBinary(fields: readonly BinaryField[]): void {
    const { maxLineBytes } = this.#options
    this.#format = 'binary'
    this.#form = { scanRow: scanBinaryValues(fields), maxExcess: maxRowExcess(fields.length), maxLineBytes }
  }

  #textForm(): RowForm {
    const { maxLineBytes } = this.#options
    return { scanRow: scanTextValues(takesNumbers(this.#columns)), maxExcess: 0, maxLineBytes }
  }
}
