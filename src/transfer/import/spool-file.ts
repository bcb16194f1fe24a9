import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { AppError } from '../../errors.ts'
import { errorCode } from '../../lib/error-code.ts'

/** Bytes of a spool file, `end` not included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface SpoolFile {
  /** How much was appended, which is where the next bytes begin. */
  readonly size: number
  /** How much of that is in the file, and can be read back. */
  readonly written: number
  /** Takes bytes over, so that they may change afterwards; waits where the disk is slower than they come. */
  append(bytes: Buffer): Promise<void>
  /** Writes what is still held. Nothing may be appended afterwards. */
  finish(): Promise<void>
  /** Reads back bytes that have been written. */
  read(range: ByteRange, signal: AbortSignal): AsyncIterable<Buffer>
  /** Removes the file, finished or not. */
  remove(): Promise<void>
}

/** One buffer is filled while the other is written. */
const BUFFER_BYTES = 512 * 1024

const READ_BYTES = 256 * 1024

/** A disk, a quota and a limit on files that are full. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/**
 * Makes a file for what does not fit into memory.
 *
 * @param path of a file that does not exist.
 * @param onWritten called whenever more has been written.
 * @returns the file; its methods throw STORAGE_FULL where there is no more room for it.
 */
export async function createSpoolFile(path: string, onWritten: () => void): Promise<SpoolFile> {
  const file = await open(path, 'wx', 0o600).catch(throwStorageFull)
  let [filling, writing] = [Buffer.allocUnsafeSlow(BUFFER_BYTES), Buffer.allocUnsafeSlow(BUFFER_BYTES)]
  let filled = 0
  let size = 0
  let written = 0
  let writes = Promise.resolve()

  const write = async (bytes: Buffer): Promise<void> => {
    await file.writeFile(bytes)
    written += bytes.length
    onWritten()
  }
  const flush = async (): Promise<void> => {
    await writes.catch(throwStorageFull)
    writes = write(filling.subarray(0, filled))
    // Awaited by the next flush; failing before that is no unhandled rejection.
    void Promise.allSettled([writes])
    ;[filling, writing] = [writing, filling]
    filled = 0
  }

  return {
    get size() {
      return size
    },
    get written() {
      return written
    },
    async append(bytes) {
      size += bytes.length
      for (let taken = 0; taken < bytes.length; ) {
        if (filled === BUFFER_BYTES) await flush()
        const copied = bytes.copy(filling, filled, taken)
        taken += copied
        filled += copied
      }
    },
    async finish() {
      await flush()
      await writes.catch(throwStorageFull)
      await file.close()
    },
    read: (range, signal) => readRange(path, range, signal),
    async remove() {
      // A file that is closed already cannot be closed; whatever else is wrong, removing it is what counts.
      await Promise.allSettled([writes])
      await Promise.allSettled([file.close()])
      await rm(path, { force: true })
    },
  }
}

/** Opens the file only where there is something to read, and once somebody reads. */
async function* readRange(
  path: string,
  { start, end }: ByteRange,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  if (start === end) return
  yield* createReadStream(path, { start, end: end - 1, highWaterMark: READ_BYTES, signal })
}

function throwStorageFull(error: unknown): never {
  if (!FULL.has(errorCode(error))) throw error
  throw new AppError('STORAGE_FULL', 'there is no more room on the disk where an import keeps its rows; free some', {
    cause: error,
  })
}
