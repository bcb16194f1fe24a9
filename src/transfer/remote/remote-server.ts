import { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { z } from 'zod'
import type { ExportSelection } from '../../contract/export.ts'
import { fromServer } from '../../contract/from-server.ts'
import { importedSchema } from '../../contract/import.ts'
import { AppError, isAppError } from '../../errors.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readText } from '../../lib/read-text.ts'
import { rethrowing } from '../../lib/rethrowing.ts'
import { type AllowedHosts, assertAllowedHost, assertVettedAddress, createVettedLookup } from './allowed-hosts.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** An import answers once all rows are there; between two pieces of an archive nothing takes so long. */
const ANSWER_TIMEOUT_MS = 6 * 60 * 60_000
const IDLE_TIMEOUT_MS = 5 * 60_000
/** Far above any answer but an archive. */
const MAX_ANSWER_BYTES = 1024 * 1024

export interface RemoteServer {
  /** The archive of a project there, compressed. Ends abnormally where the export does. */
  openExport(selection: ExportSelection): Promise<AsyncIterable<Buffer>>
  /** Has it import an archive, compressed with gzip. */
  sendArchive(bytes: AsyncIterable<Buffer>, targetSlug: string): Promise<z.output<typeof imported>['projects']>
  close(): Promise<void>
}

const imported = fromServer(importedSchema)

/**
 * Another Wharf server, for a transfer. Only those that are allowed are reached, on addresses that have been vetted,
 * and redirects are not followed. What it says in an error is not passed on, but for the detail of a problem document.
 *
 * Every method throws {AppError} REMOTE_FAILED where the server refuses, can't be reached or breaks off; FORBIDDEN
 * where it may not be reached.
 */
export function connectRemoteServer(options: {
  readonly origin: string
  readonly token: string
  readonly allowed: AllowedHosts
  readonly signal: AbortSignal
}): RemoteServer {
  const { origin, token, allowed, signal } = options
  assertAllowedHost(origin, allowed)
  assertVettedAddress(origin, allowed)
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: createVettedLookup(origin, allowed) },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: IDLE_TIMEOUT_MS,
  })

  const toFailure = (error: unknown): unknown => {
    signal.throwIfAborted()
    if (error instanceof AppError) return error
    if (error instanceof Error && isAppError(error.cause)) return error.cause
    return remoteFailed(origin, 'it cannot be reached, or the connection broke off', error)
  }

  const post = async (call: {
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | Readable
  }): Promise<Dispatcher.ResponseData> => {
    const headers = { authorization: `Bearer ${token}`, ...call.headers }
    const answer = await agent
      .request({ origin, method: 'POST', path: call.path, headers, body: call.body, signal })
      .catch((error: unknown) => {
        throw toFailure(error)
      })
    if (answer.statusCode === 200) return answer
    throw refused(origin, answer.statusCode, await readText(answer.body, MAX_ANSWER_BYTES))
  }

  return {
    async openExport(selection) {
      const { body, headers } = await post({
        path: '/export',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
        body: JSON.stringify({ projects: [selection] }),
      })
      if (!String(headers['content-type']).startsWith('application/x-ndjson')) {
        body.destroy()
        throw remoteFailed(origin, 'it does not answer as a Wharf server does')
      }
      return rethrowing(body, toFailure)
    },
    async sendArchive(bytes, targetSlug) {
      const { body } = await post({
        path: `/import?targetSlug=${encodeURIComponent(targetSlug)}`,
        headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
        body: Readable.from(bytes, { objectMode: false }),
      })
      const parsed = imported.safeParse(parseJson(await readText(body, MAX_ANSWER_BYTES)))
      if (parsed.success) return parsed.data.projects
      throw remoteFailed(origin, 'it does not answer as a Wharf server does')
    },
    close: () => agent.destroy(),
  }
}

const problemSchema = z.object({ type: z.string().startsWith('urn:wharf:error:'), detail: z.string().max(2_000) })

function refused(origin: string, status: number, text: string): AppError {
  const problem = problemSchema.safeParse(parseJson(text)).data
  return remoteFailed(origin, problem ? `it says: ${problem.detail}` : `it answered with the status ${status}`)
}

const remoteFailed = (origin: string, reason: string, cause?: unknown): AppError =>
  new AppError('REMOTE_FAILED', `the transfer with ${new URL(origin).host} failed: ${reason}`, { cause })
