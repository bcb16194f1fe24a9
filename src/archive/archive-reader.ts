import { collectPassed } from '../lib/collect-passed.ts'
import { lineBlocks } from '../lib/line-blocks.ts'
import { type ArchiveItem, LineReader } from './line-reader.ts'
import { unpack } from './unpack.ts'

export type { ArchiveItem, RowBatch } from './line-reader.ts'
export type { CopyFormat } from './row-reader.ts'

const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024

export interface ReadArchiveOptions {
  /** The longest line that is read, without its newline. */
  readonly maxLineBytes?: number
  /** Reads an archive whose rows were edited: counts and sums are not compared, everything else is. */
  readonly allowEdited?: boolean
  /** Makes rows for COPY's binary format where they can be. */
  readonly binary?: boolean
  /** Ends the reading between two blocks, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads an archive from front to back and checks all that can be known without a database: the form of every line,
 * their order, names, counts, sums, and that nothing is missing at the end. Holds a few hundred KiB of it, or one line.
 *
 * @param bytes the file, compressed with gzip or not, cut into chunks anywhere.
 * @yields lines in the file's order, rows in batches. Only once `end` was yielded, the archive is known to be whole:
 *   what came before may be used only in a way that can be taken back.
 * @throws {AppError} ARCHIVE_INVALID at the first fault, with its line; what `bytes` throws is passed on.
 */
export async function* readArchive(
  bytes: AsyncIterable<Buffer>,
  { maxLineBytes = DEFAULT_MAX_LINE_BYTES, allowEdited = false, binary = false, signal }: ReadArchiveOptions = {},
): AsyncGenerator<ArchiveItem, void, undefined> {
  const reader = new LineReader({ maxLineBytes, allowEdited, binary })
  // A COPY that takes the rows needs a processor, too.
  const unpacked = collectPassed(unpack(bytes), binary ? 'fast' : 'sparing')
  for await (const block of lineBlocks(unpacked, maxLineBytes)) {
    signal?.throwIfAborted()
    yield* reader.read(block)
  }
  yield reader.finish()
}
