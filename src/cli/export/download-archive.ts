import { pipeline } from 'node:stream/promises'
import type { RowsPolicy } from '../../archive/assert-rows.ts'
import type { ExportSelection } from '../../contract/export.ts'
import { AppError } from '../../errors.ts'
import { type HttpAnswer, type HttpClient, jsonBody } from '../http.ts'
import { withAllowance } from '../server-api.ts'
import type { TransferProgress } from '../terminal/progress.ts'
import type { ArchiveSink } from './archive-sink.ts'
import { type ArchiveSummary, readThrough } from './read-through.ts'

export interface Download extends RowsPolicy {
  readonly http: HttpClient
  readonly selection: ExportSelection
  readonly gzip: boolean
  /** Called when the server has begun to answer, so that a request that is refused leaves nothing behind. */
  readonly openSink: () => Promise<ArchiveSink>
  readonly progress: TransferProgress
  readonly signal: AbortSignal
}

/**
 * Has a server export a project, and writes the archive as it comes. It is read meanwhile, and gets its name only if
 * it is whole and sound: whatever the way did to it is noticed here, and not when the backup is needed.
 *
 * @throws {AppError} REMOTE_FAILED, INCOMPLETE, ARCHIVE_INVALID, EXPORT_INTERRUPTED; nothing is left of the archive then.
 */
export async function downloadArchive(wanted: Download): Promise<ArchiveSummary> {
  const { openSink, progress, signal } = wanted
  const { headers, body } = await requestArchive(wanted)
  const estimate = Number(headers['wharf-rows-estimate'])
  progress.rowsExpected = estimate > 0 ? estimate : undefined

  const sink = await openSink()
  // Each chunk is handed on when it is written, so the slower of disk and reader sets the pace of the connection.
  async function* keep(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of chunks) {
      await sink.write(chunk)
      progress.bytes += chunk.length
      yield chunk
    }
  }
  const read = (chunks: AsyncIterable<Buffer>): Promise<ArchiveSummary> => readThrough(chunks, progress, wanted)
  const summary = await pipeline(body, keep, read, { signal }).catch(async (error: unknown) => {
    await sink.discard()
    throw error
  })
  await sink.finish()
  return summary
}

async function requestArchive({
  http,
  selection,
  gzip,
  signal,
  allowIncomplete = false,
}: Download): Promise<HttpAnswer> {
  const answer = await withAllowance({ projects: [selection] }, allowIncomplete, (request) => {
    const { headers, body } = jsonBody(request)
    return http.open({
      method: 'POST',
      path: '/export',
      // About the answer, as the interface document has it. Accept-Encoding keeps what is between from changing it.
      headers: {
        ...headers,
        ...(gzip && { 'content-encoding': 'gzip' }),
        'accept-encoding': gzip ? 'gzip' : 'identity',
      },
      body,
      signal,
    })
  })
  if ((answer.headers['content-encoding'] === 'gzip') === gzip) return answer
  throw unexpectedCoding(gzip)
}

const unexpectedCoding = (gzip: boolean): AppError =>
  new AppError(
    'REMOTE_FAILED',
    gzip
      ? 'the archive comes uncompressed: something between here and the server unpacks it; export it with --no-gzip'
      : 'the archive comes compressed: something between here and the server packs it; export it without --no-gzip',
  )
