import { BorrowedBytes } from './borrowed-bytes.ts'

/**
 * Bytes that are being written, in one buffer that grows as needed and is used again and again.
 *
 * Its fields are public, since a call for every byte would cost more than everything else.
 */
export class GrowingBuffer {
  bytes: Buffer = Buffer.alloc(0)
  /** The same memory, for writing several bytes at once. */
  words = viewOf(this.bytes)
  /** How much of `bytes` has been written. */
  length = 0

  /** Makes room for so many bytes more. What was written stays. */
  reserve(count: number): void {
    if (this.bytes.length - this.length >= count) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.length + count, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
    this.words = viewOf(larger)
  }

  /** Appends the text in UTF-8. */
  append(text: string): void {
    this.reserve(Buffer.byteLength(text))
    this.length += this.bytes.write(text, this.length)
  }

  /** Goes on in other memory. @returns what was written. */
  exchange(bytes: Buffer): Buffer {
    const written = this.bytes.subarray(0, this.length)
    this.bytes = bytes
    this.words = viewOf(bytes)
    this.length = 0
    return written
  }

  /** @returns what was written. */
  take(): BorrowedBytes {
    const text = this.bytes.subarray(0, this.length)
    this.length = 0
    return new BorrowedBytes(text)
  }
}

/** A buffer's memory, for reading or writing several bytes at once. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Buffer): DataView =>
  new DataView(buffer, byteOffset, byteLength)
