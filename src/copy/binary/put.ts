import type { GrowingBuffer } from '../../lib/growing-buffer.ts'

export function putInt16(rows: GrowingBuffer, value: number): void {
  rows.bytes[rows.length] = value >> 8
  rows.bytes[rows.length + 1] = value
  rows.length += 2
}

export function putInt32(rows: GrowingBuffer, value: number): void {
  setInt32(rows, rows.length, value)
  rows.length += 4
}

export function setInt32({ bytes }: GrowingBuffer, at: number, value: number): void {
  bytes[at] = value >> 24
  bytes[at + 1] = value >> 16
  bytes[at + 2] = value >> 8
  bytes[at + 3] = value
}

/** @param value a safe integer. */
export function putInt64(rows: GrowingBuffer, value: number): void {
  const high = Math.floor(value / 2 ** 32)
  putInt32(rows, high)
  putInt32(rows, value - high * 2 ** 32)
}

export function putBigInt64(rows: GrowingBuffer, value: bigint): void {
  rows.length = rows.bytes.writeBigInt64BE(value, rows.length)
}
