import { crc32 } from 'node:zlib'
import { AppError } from '../../errors.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import type { ByteRange } from '../../lib/byte-range.ts'
import type { ArchiveCopy, ArchiveTable, PartEnd } from './archive-lists.ts'
import type { SpoolFile } from './spool-file.ts'

/** Gives rows of an archive, while it arrives, or when it has. */
export interface ArchiveRuns {
  /** Some rows of a COPY. */
  runOf(table: ArchiveTable, copy: ArchiveCopy, options: RunOptions): ArchiveRun
  /** Waits for the end of a part; undefined where no part of the COPY ends after so many bytes. */
  partEndAt(table: ArchiveTable, copy: ArchiveCopy, bytes: number): Promise<PartEnd | undefined>
}

interface RunOptions {
  /** Where they begin; undefined for the first row. */
  readonly from: PartEnd | undefined
  /** Asked now and then: whether they are to end where a part does. */
  readonly mayEnd: () => boolean
}

/** Rows of a COPY that are read one after the other. */
export interface ArchiveRun {
  /** @throws {AppError} STORAGE_UNAVAILABLE where they are others than were written. */
  readonly bytes: AsyncIterable<BorrowedBytes>
  /** Where they ended, once they have been read; undefined for the end of the COPY. */
  readonly end: PartEnd | undefined
}

/** After so many bytes, at the latest, a run is asked whether it is to end. */
const MAX_RANGE_BYTES = 16 * 1024 * 1024

interface Arriving {
  /** Waits until more of the archive has come. */
  readonly more: () => Promise<void>
  /** Ends all reading. */
  readonly stopped: AbortSignal
}

export function archiveRuns(file: SpoolFile, { more, stopped }: Arriving): ArchiveRuns {
  async function* rangesOf(
    table: ArchiveTable,
    copy: ArchiveCopy,
    { from, mayEnd, onEnd }: RunOptions & { readonly onEnd: (end: PartEnd) => void },
  ): AsyncGenerator<ByteRange, void, undefined> {
    const first = copy.range.start + (from?.bytes ?? 0)
    for (let start = first; ; ) {
      const stop = mayEnd() ? nextEnd(copy, Math.max(start - copy.range.start, (from?.bytes ?? 0) + 1)) : undefined
      const stopAt = stop ? copy.range.start + stop.bytes : copy.range.end
      if (stop && stopAt === start) {
        onEnd(stop)
        return
      }
      const end = Math.min(stopAt, start + MAX_RANGE_BYTES)
      const isWhole = isWholeCopy(table, copy)
      if (start < end) {
        yield { start, end }
        start = end
      } else if (isWhole) {
        return
      } else {
        await more()
      }
    }
  }

  return {
    runOf(table, copy, { from, mayEnd }) {
      let end: PartEnd | undefined
      const onEnd = (reached: PartEnd): void => {
        end = reached
      }
      async function* bytes(): AsyncGenerator<BorrowedBytes, void, undefined> {
        let sum = from?.crc32 ?? 0
        for await (const chunk of file.read(rangesOf(table, copy, { from, mayEnd, onEnd }), stopped)) {
          sum = crc32(chunk.now, sum)
          yield chunk
        }
        if (sum === (end ?? copy).crc32) return
        throw new AppError('STORAGE_UNAVAILABLE', 'the disk where an import keeps its rows gave back other bytes')
      }
      return {
        bytes: bytes(),
        get end() {
          return end
        },
      }
    },

    async partEndAt(table, copy, bytes) {
      for (;;) {
        const end = nextEnd(copy, bytes)
        if (end || isWholeCopy(table, copy)) return end?.bytes === bytes ? end : undefined
        await more()
      }
    },
  }
}

const isWholeCopy = (table: ArchiveTable, copy: ArchiveCopy): boolean => table.isWhole || table.copies.at(-1) !== copy

/** The first end of a part that is at least so many bytes behind the beginning. */
const nextEnd = ({ partEnds }: ArchiveCopy, bytes: number): PartEnd | undefined =>
  partEnds.find((end) => end.bytes >= bytes)
