import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import type { RowValue } from './lines.ts'

/** A column that carries values. */
export interface RowColumn {
  readonly name: string
  /** Its type or, where that is a domain of the stage, the type that the domain is over. */
  readonly type: string
}

/** The types that a stage has of its own, by their names. */
export interface OwnTypes {
  readonly all: ReadonlySet<string>
  readonly enums: ReadonlySet<string>
}

/** How rows are encoded, as COPY calls it. */
export type RowFormat = 'text' | 'binary'

/**
 * Encodes the rows of one table after the other for what loads them. The reader of an archive checks all that it adds;
 * what `scan` takes, the encoder has checked by the same rules.
 */
export interface RowEncoder {
  /** Of the rows that have been encoded and not taken. */
  readonly format: RowFormat
  /** Begins with another table. @param own the types that its stage has of its own. */
  begin(columns: readonly RowColumn[], own: OwnTypes): void
  /**
   * Encodes row lines as long as they are rows written as Wharf writes them; the first other one is left.
   *
   * @param lines whole lines in valid UTF-8, ending with a newline. @param start where the first begins.
   * @returns how many there were, and where the next line begins.
   */
  scan(lines: Buffer, start: number): { readonly rows: number; readonly end: number }
  /** Goes on in text, as everything below needs it. What has been encoded before must have been taken. */
  useText(): void
  add(row: readonly RowValue[]): void
  /** Begins the next value of a row that comes in pieces. @param column its position in the row. */
  beginValue(column: number): void
  addPlain(value: Exclude<RowValue, string>): void
  /** Adds the next characters of a value that is a string. */
  addText(text: string): void
  endRow(): void
  /** @returns what has been encoded. */
  take(): BorrowedBytes
}

/** Encodes the rows of events, each a text, as one list for each event. */
export interface EventRowsEncoder {
  beginRow(): void
  /** Adds the next characters of the row. */
  add(text: string): void
  endRow(): void
  endList(): void
  /** @returns what has been encoded. */
  take(): BorrowedBytes
}

export interface Encoders {
  readonly rows: RowEncoder
  readonly createEventRows: () => EventRowsEncoder
}

/** Makes the encoders of one archive. @param maxLineBytes the longest line that is read, without its newline. */
export type CreateEncoders = (maxLineBytes: number) => Encoders
