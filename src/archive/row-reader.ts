import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import type { BinaryField } from './binary/field.ts'
import { binaryFields, maxRowExcess, scanBinaryValues } from './binary/rows.ts'
import { CopyBuffer } from './copy-buffer.ts'
import { toCopyText } from './copy-text.ts'
import type { OwnTypes, RowColumn } from './ledger.ts'
import { LongRow } from './long-row.ts'
import { type RowCheck, rowCheck, takesNumbers, type ValueCheck, valueCheck } from './row-lines.ts'
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
  #checkValue: ValueCheck
  #check: RowCheck

  constructor(options: RowReaderOptions) {
    this.#options = options
    this.#form = this.#textForm()
    this.#checkValue = valueCheck([], options.fault)
    this.#check = rowCheck(0, this.#checkValue, options.fault)
  }

  /** Of the rows that have been read and not taken. */
  get format(): CopyFormat {
    return this.#format
  }

  /** Begins with another table. @param own the types that its stage has of its own. */
  begin(columns: readonly RowColumn[], own: OwnTypes): void {
    this.#columns = columns
    this.#checkValue = valueCheck(columns, this.#options.fault)
    this.#check = rowCheck(columns.length, this.#checkValue, this.#options.fault)
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

  /** @returns a row that is to be read piece by piece. What has been read before must have been taken. */
  beginLong(): LongRow {
    if (this.#format === 'binary') this.readAsText()
    return new LongRow({ columns: this.#columns.length, checkValue: this.#checkValue, fault: this.#options.fault })
  }

  /** Adds the next piece of a row that `beginLong` has made, in text. */
  addPiece(row: LongRow, piece: Buffer): void {
    row.read(piece, this.#rows)
  }

  /** @returns what has been read. */
  take(): BorrowedBytes {
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
