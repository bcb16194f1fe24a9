import type { Writable } from 'node:stream'

export interface ReaderPaceOptions {
  /** For how long we wait for the reader until it is looked at what it has taken, in milliseconds. */
  readonly periodMs: number
  /** What it has to take on average. */
  readonly bytesPerSecond: number
}

/**
 * Writes to a reader that may be slow, but not so slow that it keeps what an answer needs for ever: a byte now and then
 * is not enough. Only the time counts in which we wait for the reader.
 *
 * @returns writes bytes and calls `done` when the system has them, so that their memory may be used for others. Ends
 *   `writable` where the reader is too slow.
 */
export function paceReader(
  writable: Writable,
  { periodMs, bytesPerSecond }: ReaderPaceOptions,
): (bytes: Buffer, done: () => void) => void {
  const leastBytes = (bytesPerSecond * periodMs) / 1_000
  let takenBytes = 0
  let waitedMs = 0

  return (bytes, done) => {
    const sinceMs = performance.now()
    // What comes as one piece may be more than it has to take in a period.
    const pieceMs = (bytes.length / bytesPerSecond) * 1_000
    const timer = setTimeout(() => writable.destroy(), periodMs - waitedMs + pieceMs)
    const stop = (): void => clearTimeout(timer)
    writable.once('close', stop)
    writable.write(bytes, (error) => {
      stop()
      writable.off('close', stop)
      // Who writes learns by other ways that the reader has gone.
      if (error) return
      takenBytes += bytes.length
      waitedMs = Math.min(periodMs, waitedMs + performance.now() - sinceMs)
      if (takenBytes >= leastBytes) {
        takenBytes = 0
        waitedMs = 0
      }
      done()
    })
  }
}
