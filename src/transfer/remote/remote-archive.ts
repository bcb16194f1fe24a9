import type { ExportSelection } from '../../contract/export.ts'
import { type SourceArchive, sourceArchive } from '../../contract/source-archive.ts'
import type { AppError } from '../../errors.ts'
import { askForExport, type RemoteExportPolicy } from './ask-for-export.ts'
import { discardAnswer } from './discard-answer.ts'
import { createPatience, persist } from './patience.ts'
import { otherAnswer, remoteFailed, remoteGone } from './remote-failure.ts'
import { failureOf, letGo, type RemoteJob, readJob, SILENT_MS, waitForJob } from './remote-job.ts'
import type { RemoteServer } from './remote-server.ts'

/*
 * An archive that another server makes as a job, and keeps, so that it can be fetched over as many connections as it takes.
 * What `POST /export` streams is gone with its connection: nobody could have the same snapshot again.
 */

/** What the server could not do, and is able to do without keeping the archive. */
const NO_ROOM: ReadonlySet<string> = new Set(['STORAGE_FULL', 'STORAGE_UNAVAILABLE'])

/**
 * Has a server make an archive of a project.
 *
 * @param key the same gives the same job, for a day.
 * @returns undefined where the server makes none as a job.
 * @throws {AppError} REMOTE_FAILED; INCOMPLETE where rows would be missing.
 */
export async function askForArchive(
  server: RemoteServer,
  { selection, key, ...policy }: RemoteExportPolicy & { readonly selection: ExportSelection; readonly key: string },
): Promise<RemoteJob | undefined> {
  const ask = (request: object) =>
    server.call({
      ...{ method: 'POST', path: '/export', statuses: [200, 202], silentMs: SILENT_MS },
      headers: { 'content-type': 'application/json', prefer: 'respond-async', 'idempotency-key': key },
      body: JSON.stringify(request),
    })
  const { statusCode, body } = await askForExport(ask, selection, policy)
  if (statusCode === 202) return readJob(server, body)
  discardAnswer(body)
  return undefined
}

/**
 * Waits until a job has made its archive.
 *
 * @param queuedMs how long it may wait for a worker there.
 * @returns undefined where it makes none, though the same could be streamed: no worker takes it, or there is no room for it.
 * @throws {AppError} REMOTE_FAILED, INCOMPLETE
 */
export async function waitForArchive(
  server: RemoteServer,
  job: RemoteJob,
  options: Parameters<typeof waitForJob>[2],
): Promise<SourceArchive | undefined> {
  const ended = await waitForJob(server, job, options)
  if (!ended || (ended.error && NO_ROOM.has(ended.error.code))) return undefined
  if (ended.status === 'succeeded') return findArchive(server, job.id, options.signal)
  throw failureOf(server, 'export', ended)
}

/** @returns the archive of a job; undefined where it is not there, or no more. @throws {AppError} REMOTE_FAILED */
export const findArchive = (
  server: RemoteServer,
  jobId: string,
  signal: AbortSignal,
): Promise<SourceArchive | undefined> =>
  persist(async () => {
    const { statusCode, headers, body } = await server.call({
      ...{ method: 'HEAD', path: `/jobs/${jobId}/file`, statuses: [200, 404, 409, 410] },
      silentMs: SILENT_MS,
    })
    await body.dump()
    if (statusCode !== 200) return undefined
    const [, sha256] = /^"(\w+)"$/.exec(String(headers.etag)) ?? []
    const archive = sourceArchive.safeParse({ jobId, sha256, bytes: Number(headers['content-length']) })
    if (archive.success) return archive.data
    throw otherAnswer(server.origin)
  }, signal)

/**
 * The bytes of an archive from `start` on, over as many connections as it takes: where one breaks, the next begins where it
 * ended.
 *
 * @throws {AppError} REMOTE_FAILED; it may be begun again where the archive is gone there, or another one by now.
 */
export async function* readRemoteArchive(
  server: RemoteServer,
  { jobId, sha256, bytes }: SourceArchive,
  start: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const patience = createPatience(signal)
  for (let position = start; position < bytes; ) {
    try {
      const { statusCode, headers, body } = await server.call({
        path: `/jobs/${jobId}/file`,
        // Where the server keeps its archives is no server that transfers may reach.
        headers: { range: `bytes=${position}-`, 'if-range': `"${sha256}"`, prefer: 'no-redirect' },
        statuses: [200, 206, 404, 410],
        silentMs: SILENT_MS,
      })
      if (statusCode !== 206 || headers['content-range'] !== `bytes ${position}-${bytes - 1}/${bytes}`) {
        discardAnswer(body)
        throw archiveGone(server)
      }
      for await (const chunk of body as AsyncIterable<Buffer>) {
        position += chunk.length
        if (position > bytes) throw otherAnswer(server.origin)
        patience.hasCome()
        yield chunk
      }
      if (position < bytes) throw brokenOff(server)
    } catch (error) {
      await patience.waitAfter(server.toFailure(error))
    }
  }
}

/** Ends a job, with its archive. Nothing is thrown: the server removes both by itself, some days later. */
export async function removeArchive(server: RemoteServer, jobId: string): Promise<void> {
  await Promise.allSettled([
    letGo(server, 'POST', `/jobs/${jobId}/cancel`).then(() => letGo(server, 'DELETE', `/jobs/${jobId}`)),
  ])
}

const archiveGone = (server: RemoteServer): AppError => remoteGone(server.origin, 'the archive that it made')

const brokenOff = (server: RemoteServer): AppError =>
  remoteFailed(server.origin, 'the connection broke off', { cause: new Error('fewer bytes than were announced') })
