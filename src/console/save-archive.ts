import { type Client, RequestError } from './client.ts'
import type { Job } from './types.ts'
import { projectsOf } from './words.tsx'

/** How long the browser has to begin writing the file. */
const HELD_MS = 60_000

/** After a failure, before the next try. */
const RETRY_MS = 1_000

/** Without a byte for so long, it is given up. */
const PATIENCE_MS = 120_000

/** As much is put together at a time: a browser keeps large blobs on disk. */
const PIECE_BYTES = 8 * 1024 * 1024

export interface DownloadProgress {
  readonly onBytes: (bytes: number, total: number) => void
  /** Whether the connection is lost, and it is tried again. */
  readonly onLost: (isLost: boolean) => void
  readonly signal: AbortSignal
}

/**
 * Downloads the archive of a job, and goes on where it was when the connection is lost. A link could not do either: it would
 * have to carry the token in its address.
 *
 * @throws {RequestError} where Wharf refuses it, or does not answer for two minutes.
 */
export async function saveArchive(client: Client, job: Job, progress: DownloadProgress): Promise<void> {
  const archive = await download(client, `/jobs/${job.id}/file`, progress)
  const url = URL.createObjectURL(archive)
  const link = document.createElement('a')
  link.href = url
  const ending = archive.type.includes('zstd') ? 'zst' : 'gz'
  const name = projectsOf(job.request).join('-').slice(0, 100) || job.id
  link.download = `${name}-${job.createdAt.slice(0, 10)}.jsonl.${ending}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), HELD_MS)
}

/** What has arrived of a file. */
interface Arrived {
  parts: Blob[]
  bytes: number
  etag: string | null
  type: string
}

async function download(client: Client, path: string, { onBytes, onLost, signal }: DownloadProgress): Promise<Blob> {
  const arrived: Arrived = { parts: [], bytes: 0, etag: null, type: '' }
  let lastMs = performance.now()
  for (;;) {
    try {
      await takeMore(client, path, arrived, {
        signal,
        onBytes(bytes, total) {
          lastMs = performance.now()
          onLost(false)
          onBytes(bytes, total)
        },
      })
      return new Blob(arrived.parts, { type: arrived.type })
    } catch (error) {
      const mayPass = error instanceof RequestError && (error.status === 0 || error.status >= 500)
      if (!mayPass || performance.now() - lastMs > PATIENCE_MS) throw error
      onLost(true)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** Asks for what is missing, and takes it as far as it comes. */
async function takeMore(
  client: Client,
  path: string,
  arrived: Arrived,
  { signal, onBytes }: Pick<DownloadProgress, 'signal' | 'onBytes'>,
): Promise<void> {
  const headers: Record<string, string> = {
    // The storage would have to allow pages of other servers, and this page reads from its own alone.
    prefer: 'no-redirect',
    ...(arrived.etag !== null && arrived.bytes > 0 && { range: `bytes=${arrived.bytes}-`, 'if-range': arrived.etag }),
  }
  const response = await client.fetch(path, { headers, signal })
  // Another archive than before, or all of it.
  if (response.status !== 206) Object.assign(arrived, { parts: [], bytes: 0 })
  arrived.etag = response.headers.get('etag')
  arrived.type = response.headers.get('content-type') ?? ''
  const total = arrived.bytes + Number(response.headers.get('content-length'))
  let piece: Uint8Array<ArrayBuffer>[] = []
  let pieceBytes = 0
  const keep = (): void => {
    if (pieceBytes === 0) return
    arrived.parts.push(new Blob(piece))
    arrived.bytes += pieceBytes
    piece = []
    pieceBytes = 0
  }
  try {
    const reader = response.body?.getReader()
    for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
      piece.push(chunk.value)
      pieceBytes += chunk.value.length
      onBytes(arrived.bytes + pieceBytes, total)
      if (pieceBytes >= PIECE_BYTES) keep()
    }
  } catch (error) {
    if (signal.aborted) throw error
    throw new RequestError(0, 'Wharf does not answer.')
  } finally {
    keep()
  }
  if (arrived.bytes < total) throw new RequestError(0, 'Wharf does not answer.')
}
