import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import type { Entry, LineContent, LineKind } from './lines.ts'
import type { RowFormat } from './row-encoder.ts'

/** Consecutive `row` lines of one table; `line` is that of the first. */
export interface RowBatch {
  readonly kind: 'row'
  readonly line: number
  readonly table: string
  /** How many rows end in it: a row that is very long comes in pieces. */
  readonly count: number
  /** The rows of a table come in the binary format, in text, or first in binary format and then in text. */
  readonly format: RowFormat
  /** The rows, encoded. */
  readonly bytes: BorrowedBytes
}

/** An `event` line. */
export interface EventItem {
  readonly kind: 'event'
  readonly line: number
  readonly content: Omit<LineContent<'event'>, 'rows'>
  /** Its rows, encoded, in pieces; undefined where it has no rows. */
  readonly rows: readonly Buffer[] | undefined
}

/** What an archive is read as: its lines one by one, but rows in batches. `line` is 1-based. */
export type ArchiveItem = (Entry<Exclude<LineKind, 'event'>> & { readonly line: number }) | EventItem | RowBatch
