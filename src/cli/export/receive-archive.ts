import { pipeline } from 'node:stream/promises'
import type { RowsPolicy } from '../../archive/assert-rows.ts'
import type { TransferProgress } from '../terminal/progress.ts'
import type { ArchiveSink } from './archive-sink.ts'
import { type ArchiveSummary, readThrough } from './read-through.ts'

/** What becomes of an archive that comes. */
export interface Receiving extends RowsPolicy {
  /** Called when the archive has begun to come, so that an export that is refused leaves nothing behind. */
  readonly openSink: () => Promise<ArchiveSink>
  readonly progress: TransferProgress
  readonly signal: AbortSignal
}

/**
 * Writes an archive as it comes, and reads it meanwhile: it gets its name only if it is whole and sound.
 *
 * @throws {AppError} INCOMPLETE, ARCHIVE_INVALID, EXPORT_INTERRUPTED; nothing is left of the archive then.
 */
export async function receiveArchive(
  body: AsyncIterable<Buffer>,
  { openSink, progress, signal, ...policy }: Receiving,
): Promise<ArchiveSummary> {
  const sink = await openSink()
  // Each chunk is handed on when it is written, so the slower of disk and reader sets the pace of the archive.
  async function* keep(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of chunks) {
      await sink.write(chunk)
      progress.bytes += chunk.length
      yield chunk
    }
  }
  const read = (chunks: AsyncIterable<Buffer>): Promise<ArchiveSummary> => readThrough(chunks, progress, policy)
  const summary = await pipeline(body, keep, read, { signal }).catch(async (error: unknown) => {
    await sink.discard()
    throw error
  })
  await sink.finish()
  return summary
}
