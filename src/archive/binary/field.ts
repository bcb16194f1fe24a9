import type { CopyBuffer } from '../copy-buffer.ts'
import { INVALID } from '../value-scanner.ts'

/**
 * Reads a value of a JSON row and writes it as a field of COPY's binary format: a length, and what the type's `recv`
 * function takes.
 *
 * Only what PostgreSQL itself writes is read; whatever else a type may take is left to its input function.
 *
 * @param block ends with a newline, at which every loop here ends.
 * @param start of the value; of a string, behind its opening quote.
 * @param rows has room for the value, and for `MAX_EXCESS_BYTES` more.
 * @param words the same block, for reading several bytes at once.
 * @returns the position behind the value, closing quote included; `INVALID` for what is left alone.
 * @see https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"
 */
export type ReadField = (block: Buffer, start: number, rows: CopyBuffer, words: DataView) => number

/** How the fields of a column are made. */
export interface BinaryField {
  /** From a JSON string. */
  readonly string: ReadField
  /** From a JSON number, `true` or `false`. */
  readonly plain: ReadField
}

/** How much longer a field may be than its JSON value. */
export const MAX_EXCESS_BYTES = 16

export const leftAlone: ReadField = () => INVALID

export const [QUOTE, MINUS, POINT, ZERO, BACKSLASH] = [0x22, 0x2d, 0x2e, 0x30, 0x5c] as const

export const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= ZERO + 9

/** @returns the position behind the closing quote, which must be at `at`. */
export const closed = (block: Buffer, at: number): number => (block[at] === QUOTE ? at + 1 : INVALID)

export function putInt16(rows: CopyBuffer, value: number): void {
  rows.bytes[rows.length] = value >> 8
  rows.bytes[rows.length + 1] = value
  rows.length += 2
}

export function putInt32(rows: CopyBuffer, value: number): void {
  setInt32(rows, rows.length, value)
  rows.length += 4
}

export function setInt32({ bytes }: CopyBuffer, at: number, value: number): void {
  bytes[at] = value >> 24
  bytes[at + 1] = value >> 16
  bytes[at + 2] = value >> 8
  bytes[at + 3] = value
}

/** @param value a safe integer. */
export function putInt64(rows: CopyBuffer, value: number): void {
  const high = Math.floor(value / 2 ** 32)
  putInt32(rows, high)
  putInt32(rows, value - high * 2 ** 32)
}

export function putBigInt64(rows: CopyBuffer, value: bigint): void {
  rows.length = rows.bytes.writeBigInt64BE(value, rows.length)
}
