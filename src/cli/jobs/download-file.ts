import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { isConnectionFailure } from '../connection-failure.ts'
import type { ArchiveSink } from '../export/archive-sink.ts'
import { encodedPath, type HttpAnswer, type HttpClient } from '../http.ts'
import type { TransferProgress } from '../terminal/progress.ts'

/** How often a download goes on that broke off without having brought anything. */
const MAX_BREAKS = 8
const BREAK_MS = 500

/**
 * Downloads the archive of a job. Where the connection breaks, it goes on from where it stopped; the archive gets its
 * name only if its digest is the one that the server sent.
 *
 * @throws {AppError} REMOTE_FAILED, ARCHIVE_INVALID; nothing is left of the archive then.
 */
export async function downloadFile(options: {
  readonly http: HttpClient
  readonly jobId: string
  readonly openSink: () => Promise<ArchiveSink>
  readonly progress: TransferProgress
  readonly signal: AbortSignal
}): Promise<void> {
  const { http, jobId, openSink, progress, signal } = options
  const first = await request(http, jobId, undefined)
  const { etag, 'repr-digest': digest } = first.headers
  const sink = await openSink()
  const hash = createHash('sha256')
  try {
    for (let answer = first, breaks = 0; ; ) {
      const before = progress.bytes
      try {
        for await (const chunk of answer.body) {
          await sink.write(chunk)
          hash.update(chunk)
          progress.bytes += chunk.length
        }
        break
      } catch (error) {
        breaks = progress.bytes > before ? 1 : breaks + 1
        if (!isConnectionFailure(error) || breaks > MAX_BREAKS || etag === undefined) throw error
        answer = await goOn(options, { etag, breaks })
      }
    }
    signal.throwIfAborted()
    if (digest !== `sha-256=:${hash.digest('base64')}:`) throw arrivedDamaged()
  } catch (error) {
    await sink.discard()
    throw error
  }
  await sink.finish()
}

async function goOn(
  { http, jobId, progress, signal }: Parameters<typeof downloadFile>[0],
  { etag, breaks }: { readonly etag: string; readonly breaks: number },
): Promise<HttpAnswer> {
  for (let tries = breaks; ; tries += 1) {
    await delay(BREAK_MS * tries, undefined, { signal })
    try {
      const answer = await request(http, jobId, { range: `bytes=${progress.bytes}-`, 'if-range': etag })
      if (answer.headers['content-range']?.startsWith(`bytes ${progress.bytes}-`)) return answer
      throw new AppError('REMOTE_FAILED', 'the archive is another one by now; download it again')
    } catch (error) {
      if (!isConnectionFailure(error) || tries >= MAX_BREAKS) throw error
    }
  }
}

const request = (http: HttpClient, jobId: string, headers: Record<string, string> | undefined): Promise<HttpAnswer> =>
  http.open({ method: 'GET', path: encodedPath`/jobs/${jobId}/file`, mayRedirect: true, ...(headers && { headers }) })

const arrivedDamaged = (): AppError =>
  new AppError(
    'ARCHIVE_INVALID',
    'the archive did not arrive as the server has it, and was not kept; download it again',
  )
