import { type Client, RequestError } from './client.ts'

/** Sent at a time: what a lost connection costs at most, and how often progress is seen. */
const PIECE_BYTES = 4 * 1024 * 1024

/** After a failure, before the next try. */
const RETRY_MS = 1_000

/** Without any progress for so long, it is given up. */
const PATIENCE_MS = 120_000

/** The upload that this tab has begun, so that it goes on after the page was loaded again. */
const BEGUN = 'wharf-upload'

interface Begun {
  readonly path: string
  /** Which file it is of, as far as a browser tells. */
  readonly file: string
}

export interface UploadProgress {
  readonly onBytes: (bytes: number) => void
  /** Whether the connection is lost, and it is tried again. */
  readonly onLost: (isLost: boolean) => void
  readonly signal: AbortSignal
}

/**
 * Sends a file by the tus protocol, and goes on where an earlier try of it in this tab has stopped.
 *
 * @returns the path of the upload, which is whole.
 * @throws {RequestError} where Wharf refuses it, or does not answer for two minutes.
 */
export async function sendUpload(client: Client, file: File, progress: UploadProgress): Promise<string> {
  const { path, offset } =
    (await findBegun(client, file, progress.signal)) ?? (await begin(client, file, progress.signal))
  let sent = offset
  let lastMs = performance.now()
  while (sent < file.size) {
    progress.onBytes(sent)
    try {
      const before = sent
      sent = await sendPiece(client, { path, file, offset: sent, signal: progress.signal })
      if (sent > before) lastMs = performance.now()
      progress.onLost(false)
    } catch (error) {
      if (!mayPass(error) || performance.now() - lastMs > PATIENCE_MS) throw error
      progress.onLost(true)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      sent = (await offsetOf(client, path, progress.signal).catch(() => undefined)) ?? sent
    }
  }
  progress.onBytes(sent)
  sessionStorage.removeItem(BEGUN)
  return path
}

/** Whether the same may succeed later: no answer, a fault of the server's, or another connection that sends to it. */
const mayPass = (error: unknown): boolean =>
  error instanceof RequestError && (error.status === 0 || error.status >= 500 || error.status === 409)

const nameOf = ({ name, size, lastModified }: File): string => JSON.stringify([name, size, lastModified])

async function findBegun(client: Client, file: File, signal: AbortSignal) {
  const text = sessionStorage.getItem(BEGUN)
  const begun: Begun | undefined = text === null ? undefined : JSON.parse(text)
  if (begun?.file !== nameOf(file)) return undefined
  const offset = await offsetOf(client, begun.path, signal).catch(() => undefined)
  return offset === undefined ? undefined : { path: begun.path, offset }
}

async function begin(client: Client, file: File, signal: AbortSignal) {
  const headers = { 'upload-length': String(file.size) }
  const path = (await client.send('/uploads', { method: 'POST', headers, signal })).get('location') ?? ''
  sessionStorage.setItem(BEGUN, JSON.stringify({ path, file: nameOf(file) } satisfies Begun))
  return { path, offset: 0 }
}

const offsetOf = async (client: Client, path: string, signal: AbortSignal): Promise<number> =>
  (await client.json<{ readonly offset: number }>(path, { signal })).offset

interface Piece {
  readonly path: string
  readonly file: File
  readonly offset: number
  readonly signal: AbortSignal
}

async function sendPiece(client: Client, { path, file, offset, signal }: Piece): Promise<number> {
  const headers = { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' }
  const body = file.slice(offset, offset + PIECE_BYTES)
  const answer = await client.send(path, { method: 'PATCH', headers, body, signal })
  return Number(answer.get('upload-offset'))
}
