import { Readable } from 'node:stream'
import type { RowsPolicy } from '../../archive/assert-rows.ts'
import { id } from '../../contract/fields.ts'
import { fromServer } from '../../contract/from-server.ts'
import { uploadSchema } from '../../contract/upload.ts'
import type { AppError } from '../../errors.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readText } from '../../lib/read-text.ts'
import { createPatience, persist } from './patience.ts'
import { otherAnswer, RemoteRefused, remoteFailed, remoteGone } from './remote-failure.ts'
import { letGo, type RemoteJob, readJob, SILENT_MS } from './remote-job.ts'
import type { RemoteServer } from './remote-server.ts'

/*
 * An archive on its way to another server, as an upload there: it keeps what has arrived, so that the next connection, or the next
 * attempt, sends only what is missing. By the tus protocol 1.0.0 (https://tus.io/protocols/resumable-upload).
 */

const MAX_ANSWER_BYTES = 64 * 1024
/** How much is sent in one request: the answer to each has to come within `SILENT_MS`. */
const PIECE_BYTES = 16 * 1024 * 1024
const TUS = { 'tus-resumable': '1.0.0' } as const

const begun = fromServer(uploadSchema.pick({ id: true }))

/** A server of an earlier version, and one that has no room for the archive: both may take it as the body of an import. */
const TAKES_NONE: ReadonlySet<number> = new Set([404, 405, 507])

/** Whether a failure says that the server takes no upload, or not this one. */
export const takesNoUpload = (error: unknown): boolean => error instanceof RemoteRefused && TAKES_NONE.has(error.status)

/**
 * Begins an upload of so many bytes.
 *
 * @returns its id.
 * @throws {AppError} REMOTE_FAILED; see `takesNoUpload`.
 */
export const beginUpload = (server: RemoteServer, bytes: number, signal: AbortSignal): Promise<string> =>
  persist(async () => {
    const { body } = await server.call({
      ...{ method: 'POST', path: '/uploads', statuses: [201], silentMs: SILENT_MS },
      headers: { ...TUS, 'upload-length': String(bytes) },
    })
    const upload = begun.safeParse(parseJson(await readText(body, MAX_ANSWER_BYTES))).data
    if (!upload || !id.safeParse(upload.id).success) throw otherAnswer(server.origin)
    return upload.id
  }, signal)

/** @returns how many bytes of an upload are there; undefined where it is gone. @throws {AppError} REMOTE_FAILED */
export const findOffset = (server: RemoteServer, uploadId: string, signal: AbortSignal): Promise<number | undefined> =>
  persist(async () => {
    const { statusCode, headers, body } = await server.call({
      ...{ path: `/uploads/${uploadId}`, statuses: [200, 404], silentMs: SILENT_MS },
      headers: TUS,
    })
    await body.dump()
    return statusCode === 200 ? readOffset(server, headers['upload-offset']) : undefined
  }, signal)

/** What is sent. */
interface Sending {
  readonly uploadId: string
  /** How many bytes the archive has. */
  readonly bytes: number
  /** Where to begin: how many are there. */
  readonly offset: number
  readonly read: (start: number, end: number) => AsyncIterable<Buffer>
  /** Is told how many are there. */
  readonly onArrived: (offset: number) => void
  readonly signal: AbortSignal
}

/**
 * Sends what is missing of an upload, over as many connections as it takes.
 *
 * @throws {AppError} REMOTE_FAILED; it may be begun again where the upload is gone. What reading throws.
 */
export async function sendUpload(server: RemoteServer, sending: Sending): Promise<void> {
  const { uploadId, bytes, read, onArrived, signal } = sending
  const patience = createPatience(signal)
  let { offset } = sending
  let furthest = offset
  const arrive = (arrived: number): void => {
    if (arrived > bytes) throw otherAnswer(server.origin)
    if (arrived > furthest) {
      furthest = arrived
      patience.hasCome()
    }
    offset = arrived
    onArrived(arrived)
  }
  while (offset < bytes) {
    try {
      const end = Math.min(offset + PIECE_BYTES, bytes)
      const { headers, body } = await server.call({
        ...{ method: 'PATCH', path: `/uploads/${uploadId}`, statuses: [204], silentMs: SILENT_MS },
        headers: { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
        body: Readable.from(read(offset, end), { objectMode: false }),
      })
      await body.dump()
      if (readOffset(server, headers['upload-offset']) !== end) throw otherAnswer(server.origin)
      arrive(end)
    } catch (error) {
      if (error instanceof RemoteRefused && error.status === 404) throw uploadGone(server)
      await patience.waitAfter(error instanceof RemoteRefused ? ofOthers(server, error) : error)
      const arrived = await findOffset(server, uploadId, signal)
      if (arrived === undefined) throw uploadGone(server)
      arrive(arrived)
    }
  }
}

/** Another connection of the same sender may still be ending, which passes. */
const ofOthers = (server: RemoteServer, refused: RemoteRefused): unknown =>
  refused.status === 409 ? remoteFailed(server.origin, 'the upload has changed meanwhile', { cause: refused }) : refused

/**
 * Has an upload that is whole imported by a job there. Asked again, the answer is the same job, also where that has taken the upload.
 *
 * @returns undefined where there is no such upload.
 * @throws {AppError} REMOTE_FAILED, also where the archive or its target is refused; INCOMPLETE.
 */
export async function askForImport(
  server: RemoteServer,
  { uploadId, targetSlug, allowIncomplete }: RowsPolicy & { readonly uploadId: string; readonly targetSlug: string },
  signal: AbortSignal,
): Promise<RemoteJob | undefined> {
  const query = new URLSearchParams({ targetSlug, ...(allowIncomplete && { allowIncomplete: 'true' }) })
  const ask = async (): Promise<RemoteJob> => {
    // It looks at the whole archive before it answers, so it may be silent for long.
    const { body } = await server.call({
      ...{ method: 'POST', path: `/uploads/${uploadId}/import?${query}`, statuses: [202] },
      headers: { prefer: 'respond-async', 'idempotency-key': `transfer-${uploadId}` },
    })
    return readJob(server, body)
  }
  try {
    return await persist(ask, signal)
  } catch (error) {
    const isMissing = error instanceof RemoteRefused && error.status === 404
    // The same is answered where the project is not there.
    if (isMissing && (await findOffset(server, uploadId, signal)) === undefined) return undefined
    throw error
  }
}

/** Ends an import that goes on, and removes the upload. Nothing is thrown: the upload expires by itself. */
export async function giveUpUpload(server: RemoteServer, uploadId: string, jobId: string | undefined): Promise<void> {
  await Promise.allSettled([
    ...(jobId === undefined ? [] : [letGo(server, 'POST', `/jobs/${jobId}/cancel`)]),
    letGo(server, 'DELETE', `/uploads/${uploadId}`),
  ])
}

function readOffset(server: RemoteServer, header: unknown): number {
  const offset = Number(header)
  if (typeof header === 'string' && Number.isSafeInteger(offset) && offset >= 0) return offset
  throw otherAnswer(server.origin)
}

export const uploadGone = (server: RemoteServer): AppError => remoteGone(server.origin, 'the upload')
