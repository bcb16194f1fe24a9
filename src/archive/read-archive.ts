import { type CollectStep, collectPassed } from '../lib/collect-passed.ts'
import { lineBlocks } from '../lib/line-blocks.ts'
import { rowsShare } from '../lib/thread-share.ts'
import type { ArchiveItem } from './archive-item.ts'
import { LineReader, type LineRules } from './line-reader.ts'
import type { CreateEncoders } from './row-encoder.ts'
import { createSqlCheck } from './sql/check-sql.ts'
import { unpack } from './unpack.ts'

const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024

/** The longest line that is neither a row nor an event, where nobody says otherwise. */
export const DEFAULT_MAX_STRUCTURE_LINE_BYTES = 2 * 1024 * 1024

/** How much gzip data of any size may expand to, besides rows and events. */
const ALLOWANCE_BYTES = 16 * 1024 * 1024

export interface ReadArchiveOptions extends Partial<LineRules> {
  /** How memory is given back while the archive is read. */
  readonly step?: CollectStep
  /** Ends the reading between two blocks, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads an archive from front to back and checks all that can be known without a database: the form of every line,
 * their order, names, counts, sums, that SQL is what its line is for, and that nothing is missing at the end. Holds a few
 * MiB of it, or one event; and keeps within a share of the thread while others want it.
 *
 * @param bytes the file, compressed with gzip or not, cut into chunks anywhere.
 * @param createEncoders of rows, for what becomes of them.
 * @yields lines in the file's order, rows in batches. Only once `end` was yielded, the archive is known to be whole:
 *   what came before may be used only in a way that can be taken back.
 * @throws {AppError} ARCHIVE_INVALID at the first fault, with its line; what `bytes` throws is passed on.
 */
export async function* readArchive(
  bytes: AsyncIterable<Buffer>,
  createEncoders: CreateEncoders,
  {
    maxLineBytes = DEFAULT_MAX_LINE_BYTES,
    maxEventLineBytes = Math.floor(maxLineBytes / 2),
    maxStructureLineBytes = DEFAULT_MAX_STRUCTURE_LINE_BYTES,
    allowEdited = false,
    step,
    signal,
  }: ReadArchiveOptions = {},
): AsyncGenerator<ArchiveItem, void, undefined> {
  const rules = { maxLineBytes, maxEventLineBytes, maxStructureLineBytes, allowEdited }
  const reader = new LineReader(rules, createEncoders)
  const checkSql = createSqlCheck()
  const unpacked = collectPassed(
    unpack(bytes, () => ALLOWANCE_BYTES + reader.passedBytes),
    step,
  )
  for await (const block of lineBlocks(unpacked, (beginning) => reader.limitOf(beginning))) {
    signal?.throwIfAborted()
    const items = reader.read(block)
    for (;;) {
      const { done = false, value: item } = rowsShare.count(() => items.next())
      if (done) break
      if (item) {
        const checked = checkSql(item)
        // Awaiting nothing takes time, too, and an archive may have millions of parts.
        if (checked !== undefined) await checked
        yield item
      }
      if (rowsShare.isUsedUp()) await new Promise<void>((resolve) => rowsShare.onceThereIsTime(resolve))
    }
  }
  yield reader.finish()
}
