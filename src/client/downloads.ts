import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type Connection, pathOf, unreachable } from './connection.ts'
import { mayPass, WharfError } from './error.ts'
import { idOf, type JobReference } from './jobs.ts'

/** How often a download goes on that broke off without having brought anything. */
const MAX_BREAKS = 8
const BREAK_MS = 500

export interface DownloadOptions {
  /** Called with how many bytes are there, of how many. */
  readonly onProgress?: (bytes: number, of: number) => void
  readonly signal?: AbortSignal
}

export interface Downloads {
  /**
   * The archive that an export has made, as it is stored: gzip, or zstd where that was asked for. Goes on by itself where
   * the connection breaks. A stream that ends without an error is the whole archive: its SHA-256 was compared.
   *
   * @throws {WharfError} also from the stream.
   */
  readonly download: (job: JobReference, options?: DownloadOptions) => Promise<ReadableStream<Uint8Array>>
  /**
   * Downloads that archive to a file, which gets its name once it is whole. What a call, or a process, that was ended has
   * left goes on from there, in a file beside it (`.part`).
   *
   * @throws {WharfError}
   */
  readonly saveArchive: (job: JobReference, path: string, options?: DownloadOptions) => Promise<void>
}

/** An archive, and how to get its bytes. */
interface Stored {
  readonly path: string
  readonly sizeBytes: number
  readonly etag: string
  /** SHA-256, in base64. */
  readonly sha256: string
}

export function createDownloads(connection: Connection): Downloads {
  const find = async (job: JobReference, signal?: AbortSignal): Promise<Stored> => {
    const path = pathOf`/jobs/${idOf(job)}/file`
    const { headers } = await connection.send(path, { method: 'HEAD', signal })
    const sha256 = /^sha-256=:([^:]+):$/.exec(headers.get('repr-digest') ?? '')?.[1]
    const etag = headers.get('etag')
    if (sha256 === undefined || etag === null) {
      throw new WharfError('the answer has no digest of the archive', { code: 'UNEXPECTED_ANSWER' })
    }
    return { path, etag, sha256, sizeBytes: Number(headers.get('content-length')) }
  }

  const openAt = async ({ path, etag }: Stored, start: number, signal?: AbortSignal) => {
    const headers = start === 0 ? {} : { range: `bytes=${start}-`, 'if-range': etag }
    const said = await connection.send(path, { headers, signal, mayRedirect: true })
    const { range } = headers
    const location = said.headers.get('location')
    const answer = said.status === 307 ? await connection.readStorage(location, range ? { range } : {}, signal) : said
    const isAsked = start === 0 || answer.headers.get('content-range')?.startsWith(`bytes ${start}-`)
    if (answer.body !== null && isAsked && said.headers.get('etag') === etag) return answer.body
    await answer.body?.cancel()
    throw new WharfError('the archive is another one by now; download it again', { code: 'CONFLICT' })
  }

  /** @param hash of what is there already. */
  async function* read(stored: Stored, start: number, hash: ReturnType<typeof createHash>, options: DownloadOptions) {
    const { onProgress, signal } = options
    let bytes = start
    for (let breaks = 0; bytes < stored.sizeBytes; ) {
      const before = bytes
      try {
        for await (const chunk of await openAt(stored, bytes, signal)) {
          hash.update(chunk)
          bytes += chunk.length
          yield chunk
          onProgress?.(bytes, stored.sizeBytes)
          // A busy `fetch` may have everything by then, and say nothing of it.
          signal?.throwIfAborted()
        }
      } catch (error) {
        signal?.throwIfAborted()
        const failure = error instanceof WharfError ? error : unreachable(error)
        breaks = bytes > before ? 1 : breaks + 1
        if (!mayPass(failure) || breaks > MAX_BREAKS) throw failure
        await delay(BREAK_MS * breaks, undefined, { signal })
      }
    }
    if (hash.digest('base64') === stored.sha256) return
    throw new WharfError('the archive did not arrive as the server has it; download it again', {
      code: 'ARCHIVE_INVALID',
    })
  }

  return {
    async download(job, options = {}) {
      const stored = await find(job, options.signal)
      return toStream(read(stored, 0, createHash('sha256'), options))
    },
    async saveArchive(job, path, options = {}) {
      const stored = await find(job, options.signal)
      // By its digest, so that what is left of another archive is never taken for a part of this one.
      const part = `${path}.${Buffer.from(stored.sha256, 'base64').toString('hex').slice(0, 16)}.part`
      const start = await stat(part).then(
        ({ size }) => Math.min(size, stored.sizeBytes),
        () => 0,
      )
      const hash = createHash('sha256')
      if (start > 0) for await (const chunk of createReadStream(part, { end: start - 1 })) hash.update(chunk)
      const file = await open(part, start > 0 ? 'r+' : 'w')
      try {
        let position = start
        for await (const chunk of read(stored, start, hash, options)) {
          await writeWhole(file, chunk, position)
          position += chunk.length
        }
        await file.truncate(position)
        await file.sync()
      } catch (error) {
        // Bytes that are not those of the server are of no use to the next call.
        if (error instanceof WharfError && error.code === 'ARCHIVE_INVALID') await rm(part, { force: true })
        throw error
      } finally {
        await file.close()
      }
      await rename(part, path)
    },
  }
}

async function writeWhole(file: Awaited<ReturnType<typeof open>>, chunk: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await file.write(chunk, written, chunk.length - written, position + written)).bytesWritten
  }
}

const toStream = (chunks: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
