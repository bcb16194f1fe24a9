import { setTimeout as delay } from 'node:timers/promises'
import { uploadSchema } from '../../contract/upload.ts'
import { AppError } from '../../errors.ts'
import type { ArchiveInput } from '../archive-input.ts'
import { isConnectionFailure } from '../connection-failure.ts'
import { createHttpClient, type HttpClient } from '../http.ts'
import { RemoteProblem } from '../remote-problem.ts'
import type { FileProgress } from '../terminal/progress.ts'

/** How often an upload goes on without any more of it having arrived: two minutes, with the pauses in between. */
const MAX_BREAKS = 12
const BREAK_MS = 250
const MAX_BREAK_MS = 15_000

/** How long removing an upload may take, in milliseconds: it expires by itself. */
const REMOVAL_MS = 5_000

/** What a server answers that may take the rest in a moment. */
const PASSING: ReadonlySet<string | undefined> = new Set([
  'CONFLICT',
  'DATABASE_UNAVAILABLE',
  'REQUEST_TIMEOUT',
  'SHUTTING_DOWN',
  'STORAGE_UNAVAILABLE',
  'TOO_MANY_REQUESTS',
])

/** What sending an archive takes. */
export interface UploadOptions {
  readonly http: HttpClient
  readonly input: ArchiveInput & { readonly sizeBytes: number }
  readonly progress: FileProgress
  readonly signal: AbortSignal
}

/**
 * Begins an upload on a server.
 *
 * @returns its path; undefined where the server takes none: one of an earlier version, or one where the token may import
 *   nothing, which it says better to an import.
 * @throws {AppError} REMOTE_FAILED
 */
export async function beginUpload({ http, input }: Pick<UploadOptions, 'http' | 'input'>): Promise<string | undefined> {
  const headers = { 'upload-length': String(input.sizeBytes), 'tus-resumable': '1.0.0' }
  try {
    const { id } = await http.json({ method: 'POST', path: '/uploads', headers }, uploadSchema)
    if (!uploadSchema.shape.id.safeParse(id).success) throw otherAnswer(http)
    return `/uploads/${id}`
  } catch (error) {
    const isRefused = error instanceof RemoteProblem && ['NOT_FOUND', 'FORBIDDEN'].includes(error.remoteCode ?? '')
    if (isRefused) return undefined
    throw error
  }
}

/**
 * Sends an archive as an upload that was begun. Where the connection breaks, it goes on from where it stopped.
 *
 * @throws {AppError} REMOTE_FAILED where the server refuses, or is away for too long; FILE_FAILED.
 */
export async function sendUpload({ http, input, progress, signal }: UploadOptions, path: string): Promise<void> {
  let arrived = 0
  let isSent = false
  for (let breaks = 0; ; ) {
    try {
      const { offset } = await http.json({ method: 'GET', path }, stateSchema)
      if (offset > input.sizeBytes || (isSent && offset < input.sizeBytes)) throw otherSize(http)
      if (offset > arrived) breaks = 0
      arrived = offset
      progress.bytes = offset
      progress.waitingFor = undefined
      if (offset === input.sizeBytes) return
      await sendFrom({ http, input, progress }, path, offset)
      isSent = true
    } catch (error) {
      breaks += 1
      if (!mayPass(error) || breaks > MAX_BREAKS) throw error
      progress.waitingFor = 'connecting again'
      await delay(Math.min(BREAK_MS * 2 ** (breaks - 1), MAX_BREAK_MS), undefined, { signal })
    }
  }
}

/** Removes an upload, also when the command is being ended. Where that fails, the server does it a day later. */
export async function endUpload({ origin, token }: HttpClient, path: string): Promise<void> {
  const http = createHttpClient({ origin, token, signal: AbortSignal.timeout(REMOVAL_MS) })
  const remove = async (): Promise<void> => {
    const { body } = await http.open({ method: 'DELETE', path })
    for await (const _ of body);
  }
  await Promise.allSettled([remove()])
  await http.close()
}

const stateSchema = uploadSchema.pick({ offset: true })

async function sendFrom(
  { http, input, progress }: Pick<UploadOptions, 'http' | 'input' | 'progress'>,
  path: string,
  offset: number,
): Promise<void> {
  let sent = 0
  async function* counted(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of input.read(offset)) {
      yield chunk
      sent += chunk.length
      progress.bytes += chunk.length
    }
    if (offset + sent < input.sizeBytes)
      throw new AppError('FILE_FAILED', `${input.name} became shorter while it was read`)
  }
  const headers = { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) }
  const { body } = await http.open({ method: 'PATCH', path, headers, body: counted() })
  for await (const _ of body);
}

const otherAnswer = ({ origin }: HttpClient): AppError =>
  new AppError('REMOTE_FAILED', `${origin} gave an upload a name that no server of Wharf gives`)

const otherSize = ({ origin }: HttpClient): AppError =>
  new AppError('REMOTE_FAILED', `${origin} has another number of bytes than were sent; import the archive again`)

const mayPass = (error: unknown): boolean =>
  isConnectionFailure(error) || (error instanceof RemoteProblem && PASSING.has(error.remoteCode))
