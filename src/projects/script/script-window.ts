import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'

/** The part of a script that has been read and not been used. */
export interface ScriptWindow {
  /** It, as a view that is good until `more` or `drop` is called. */
  readonly bytes: Buffer
  /** Whether the script ends with it. */
  readonly isLast: boolean
  /** The line that it begins in, counted from 1. */
  readonly line: number
  /** Reads on; sets `isLast` where there is no more. What is in the window stays. */
  more(): Promise<void>
  /** Moves its beginning forward. */
  drop(count: number): void
  close(): Promise<void>
}

const NEWLINE = 0x0a

/** A buffer that became larger than this for a long statement is given back behind it. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024

export function countNewlines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return count
}

/** Reads a script in a window whose memory is used again, and which is as large as what is held in it. */
export function createScriptWindow(chunks: AsyncIterable<BorrowedBytes>): ScriptWindow {
  const source = chunks[Symbol.asyncIterator]()
  let buffer = Buffer.alloc(0)
  let [start, end, line] = [0, 0, 1]
  let isLast = false

  /** Makes room behind the window; moves it to the front where that gives enough. */
  const reserve = (count: number): void => {
    if (buffer.length - end >= count) return
    const held = end - start
    const isTooLarge = buffer.length > MAX_KEPT_BYTES && held + count < buffer.length / 4
    if (held + count > buffer.length || isTooLarge) {
      const larger = Buffer.allocUnsafeSlow(Math.max(held + count, isTooLarge ? 0 : 2 * held))
      buffer.copy(larger, 0, start, end)
      buffer = larger
    } else {
      buffer.copyWithin(0, start, end)
    }
    start = 0
    end = held
  }

  return {
    get bytes() {
      return buffer.subarray(start, end)
    },
    get isLast() {
      return isLast
    },
    get line() {
      return line
    },
    async more() {
      const next = await source.next()
      if (next.done) {
        isLast = true
        return
      }
      reserve(next.value.length)
      end += next.value.now.copy(buffer, end)
    },
    drop(count) {
      line += countNewlines(buffer.subarray(start, start + count))
      start += count
    },
    async close() {
      await source.return?.()
    },
  }
}
