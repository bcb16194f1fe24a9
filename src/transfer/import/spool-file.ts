import { type FileHandle, open, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import type { ByteRange } from '../../lib/byte-range.ts'
import { errorCode } from '../../lib/error-code.ts'

export interface SpoolFile {
  /** How much was appended, which is where the next bytes begin. */
  readonly size: number
  /** Copies bytes; waits where the disk is slower than they come. */
  append(bytes: BorrowedBytes): Promise<void>
  /** Writes what is still held. Nothing may be appended afterwards. */
  finish(): Promise<void>
  /**
   * Reads back bytes that were appended; the last ones from memory.
   *
   * @param ranges one after the other, each as soon as the one before has been read.
   */
  read(ranges: AsyncIterable<ByteRange> | Iterable<ByteRange>, signal: AbortSignal): AsyncIterable<BorrowedBytes>
  /** Removes the file, finished or not. It does not fail: the process's next start removes what remains. */
  remove(): Promise<void>
}

/** One buffer is filled while the other is written. */
const BUFFER_BYTES = 512 * 1024

const READ_BYTES = 512 * 1024

/** After so many buffers the room on the disk is looked at again. */
const BUFFERS_PER_LOOK = 16

/** How often removing a file is tried, and how long the disk is given in between, in milliseconds. */
const MAX_REMOVALS = 5
const BETWEEN_REMOVALS_MS = 200

/** A disk, a quota and a limit on files that are full. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/**
 * Makes a file for what does not fit into memory.
 *
 * @param path of a file that does not exist.
 * @param reserveBytes have to stay free on its disk, about: rows can be compressed to a thousandth, so nobody sees
 *   before how many an archive has.
 * @returns the file; its methods throw STORAGE_FULL where there is no more room for it, and STORAGE_UNAVAILABLE where
 *   the disk does not do what it should.
 */
export async function createSpoolFile(path: string, reserveBytes = 0): Promise<SpoolFile> {
  await assertRoom(path, reserveBytes)
  const file = await open(path, 'wx', 0o600).catch(throwDiskFault)
  let [filling, writing] = [Buffer.allocUnsafeSlow(BUFFER_BYTES), Buffer.allocUnsafeSlow(BUFFER_BYTES)]
  /** How many bytes came before those of `filling`, and how many that has. */
  let [before, filled] = [0, 0]
  let flushes = 0
  let written = Promise.resolve()
  /** What `writing` has: the bytes before those of `filling`. */
  let writingBytes = 0

  const flush = async (): Promise<void> => {
    await written.catch(throwDiskFault)
    flushes += 1
    if (flushes % BUFFERS_PER_LOOK === 0) await assertRoom(path, reserveBytes)
    written = file.writeFile(filling.subarray(0, filled))
    // Awaited by the next flush; failing before that is no unhandled rejection.
    void Promise.allSettled([written])
    ;[filling, writing] = [writing, filling]
    writingBytes = filled
    before += filled
    filled = 0
  }

  /** Copies bytes that are still in memory. @returns how many; 0 where those at `start` are in the file alone. */
  const copyRecent = (target: Buffer, { start, end }: ByteRange): number => {
    const writingStart = before - writingBytes
    if (start >= before) return filling.copy(target, 0, start - before, end - before)
    if (start < writingStart) return 0
    return writing.copy(target, 0, start - writingStart, Math.min(end, before) - writingStart)
  }

  return {
    get size() {
      return before + filled
    },
    async append({ now: bytes }) {
      for (let taken = 0; taken < bytes.length; ) {
        if (filled === BUFFER_BYTES) await flush()
        const copied = bytes.copy(filling, filled, taken)
        taken += copied
        filled += copied
      }
    },
    async finish() {
      await flush()
      await written.catch(throwDiskFault)
      await file.close().catch(throwDiskFault)
    },
    read: (ranges, signal) => readRanges(path, { ranges, signal, copyRecent }),
    async remove() {
      // A file that is closed already cannot be closed; whatever else is wrong, removing it is what counts.
      await Promise.allSettled([written])
      await Promise.allSettled([file.close()])
      await removePatiently(path)
    },
  }
}

/** @throws {AppError} STORAGE_FULL where less than that is free on the disk of `path`. */
async function assertRoom(path: string, reserveBytes: number): Promise<void> {
  if (reserveBytes === 0) return
  const { bavail, bsize } = await statfs(dirname(path)).catch(throwDiskFault)
  if (bavail * bsize >= reserveBytes) return
  throw new AppError(
    'STORAGE_FULL',
    `what arrives is kept on a disk on which ${reserveBytes} bytes stay free (WHARF_SPOOL_RESERVE_BYTES), ` +
      'and there is no more room beside them; free some',
  )
}

async function removePatiently(path: string): Promise<void> {
  for (let tried = 0; tried < MAX_REMOVALS; tried += 1) {
    if (tried > 0) await delay(BETWEEN_REMOVALS_MS)
    const [removal] = await Promise.allSettled([rm(path, { force: true })])
    if (removal.status === 'fulfilled') return
  }
}

interface Reading {
  readonly ranges: AsyncIterable<ByteRange> | Iterable<ByteRange>
  readonly signal: AbortSignal
  readonly copyRecent: (target: Buffer, range: ByteRange) => number
}

/**
 * Opens the file only where there is something in it to read, and once somebody reads. All goes through one buffer: a
 * new one for each chunk would have V8 look for garbage all the time.
 */
async function* readRanges(
  path: string,
  { ranges, signal, copyRecent }: Reading,
): AsyncGenerator<BorrowedBytes, void, undefined> {
  let file: FileHandle | undefined
  try {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    for await (const { start, end } of ranges) {
      for (let at = start; at < end; ) {
        signal.throwIfAborted()
        let bytes = copyRecent(buffer, { start: at, end })
        if (bytes === 0) {
          file ??= await open(path)
          bytes = (await file.read(buffer, 0, Math.min(buffer.length, end - at), at)).bytesRead
        }
        if (bytes === 0) throw new Error('a spool file is shorter than what was appended to it')
        yield new BorrowedBytes(buffer.subarray(0, bytes))
        at += bytes
      }
    }
  } catch (error) {
    throwDiskFault(error)
  } finally {
    // Whatever becomes of it, what was read has been read.
    await Promise.allSettled([file?.close()])
  }
}

function throwDiskFault(error: unknown): never {
  const code = errorCode(error)
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw error
  if (FULL.has(code)) {
    throw new AppError('STORAGE_FULL', 'there is no more room on the disk where what arrives is kept; free some', {
      cause: error,
    })
  }
  throw new AppError('STORAGE_UNAVAILABLE', 'the disk where what arrives is kept cannot be used for now', {
    cause: error,
  })
}
