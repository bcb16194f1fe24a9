import { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import type { z } from 'zod'
import { type AllowedHosts, assertAllowedHost, createVettedLookup, hostAndPortOf } from '../../allowed-hosts.ts'
import type { RowsPolicy } from '../../archive/assert-rows.ts'
import type { ExportSelection } from '../../contract/export.ts'
import { fromServer } from '../../contract/from-server.ts'
import { importedSchema } from '../../contract/import.ts'
import { INCOMPLETE_TYPE, problemSchema, refusesField } from '../../contract/problem.ts'
import { AppError, isAppError } from '../../errors.ts'
import { CODINGS } from '../../lib/coding.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readText } from '../../lib/read-text.ts'
import { rethrowing } from '../../lib/rethrowing.ts'
import { askForExport, type RemoteExportPolicy } from './ask-for-export.ts'
import { discardAnswer } from './discard-answer.ts'
import { failureWith, otherAnswer, RemoteRefused, remoteFailed } from './remote-failure.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** An import answers once all rows are there; between two pieces of an archive nothing takes so long. */
const ANSWER_TIMEOUT_MS = 6 * 60 * 60_000
const IDLE_TIMEOUT_MS = 5 * 60_000
/** Far above any answer but an archive. */
const MAX_ANSWER_BYTES = 1024 * 1024
/** How long a text may be that is passed on, and how many there may be. */
const MAX_DETAIL = 2_000
const MAX_FAULTS = 100

/** Where both have zstd, it takes less time. */
const ACCEPTED_CODINGS = CODINGS.includes('zstd') ? 'zstd, gzip;q=0.9' : 'gzip'

/** A call of a server's interface. */
export interface RemoteCall {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Readable
  /** The answers that are expected, by their status; 200 where nothing is said. */
  readonly statuses?: readonly number[]
  /** How long it may say nothing, in milliseconds; by default as long as an import may take. */
  readonly silentMs?: number
}

export interface RemoteServer {
  readonly origin: string
  /** Makes a call. @throws {RemoteRefused} where the answer is another one than expected. */
  call(call: RemoteCall): Promise<Dispatcher.ResponseData>
  /** What a failure means that comes while an answer is read. */
  toFailure(error: unknown): unknown
  /** The archive of a project there, compressed. Ends abnormally where the export does. */
  openExport(selection: ExportSelection, policy?: RemoteExportPolicy): Promise<AsyncIterable<Buffer>>
  /** Has it import an archive, compressed with gzip. */
  sendArchive(
    bytes: AsyncIterable<Buffer>,
    targetSlug: string,
    policy: RowsPolicy,
  ): Promise<z.output<typeof imported>['projects']>
  close(): Promise<void>
}

const imported = fromServer(importedSchema)

/**
 * Another Wharf server, for a transfer. Only those that are allowed are reached, on addresses that have been vetted,
 * and redirects are not followed. What it says in an error is not passed on, but for the detail of a problem document and
 * what rows are missing for.
 *
 * Every method throws {AppError} REMOTE_FAILED where the server refuses, can't be reached or breaks off; INCOMPLETE where
 * it refuses since rows are missing; FORBIDDEN where it may not be reached.
 */
export function connectRemoteServer(options: {
  readonly origin: string
  readonly token: string
  readonly allowed: AllowedHosts
  readonly signal: AbortSignal
}): RemoteServer {
  const { origin, token, allowed, signal } = options
  const server = hostAndPortOf(origin)
  assertAllowedHost(server, allowed)
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: createVettedLookup(server, allowed) },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: IDLE_TIMEOUT_MS,
  })

  const toFailure = (error: unknown): unknown => {
    signal.throwIfAborted()
    if (error instanceof AppError) return error
    if (error instanceof Error && isAppError(error.cause)) return error.cause
    return remoteFailed(origin, 'it cannot be reached, or the connection broke off', { cause: error })
  }

  const call = async ({
    method = 'GET',
    path,
    headers = {},
    body,
    statuses = [200],
    silentMs,
  }: RemoteCall): Promise<Dispatcher.ResponseData> => {
    const limits = silentMs === undefined ? {} : { headersTimeout: silentMs, bodyTimeout: silentMs }
    const authorised = { authorization: `Bearer ${token}`, ...headers }
    const answer = await agent
      .request({ origin, method, path, headers: authorised, body: body ?? null, signal, ...limits })
      .catch((error: unknown) => {
        throw toFailure(error)
      })
    if (statuses.includes(answer.statusCode)) return answer
    throw refused(origin, answer.statusCode, await readText(rethrowing(answer.body, toFailure), MAX_ANSWER_BYTES))
  }

  const postExport = (request: object): Promise<Dispatcher.ResponseData> =>
    call({
      ...{ method: 'POST', path: '/export' },
      headers: { 'content-type': 'application/json', 'accept-encoding': ACCEPTED_CODINGS },
      body: JSON.stringify(request),
    })

  return {
    origin,
    call,
    toFailure,
    async openExport(selection, policy = {}) {
      const { body, headers } = await askForExport(postExport, selection, policy)
      if (!String(headers['content-type']).startsWith('application/x-ndjson')) {
        discardAnswer(body)
        throw otherAnswer(origin)
      }
      return rethrowing(body, toFailure)
    },
    async sendArchive(bytes, targetSlug, { allowIncomplete }) {
      const { body } = await call({
        method: 'POST',
        path: `/import?targetSlug=${encodeURIComponent(targetSlug)}${allowIncomplete ? '&allowIncomplete=true' : ''}`,
        headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
        body: Readable.from(bytes, { objectMode: false }),
      })
      const parsed = imported.safeParse(parseJson(await readText(body, MAX_ANSWER_BYTES)))
      if (parsed.success) return parsed.data.projects
      throw otherAnswer(origin)
    },
    close: () => agent.destroy(),
  }
}

const problem = fromServer(problemSchema.pick({ type: true, detail: true, errors: true })).refine(
  ({ type, detail }) => type.startsWith('urn:wharf:error:') && detail.length <= MAX_DETAIL,
)

function refused(origin: string, status: number, text: string): AppError {
  const said = problem.safeParse(parseJson(text)).data
  if (!said) return new RemoteRefused(failureWith(origin, `it answered with the status ${status}`), status)
  const reason = `it says: ${said.detail}`
  const faults = said.errors ?? []
  if (said.type !== INCOMPLETE_TYPE) {
    const unknown = refusesField(faults, 'allowIncomplete') ? UNKNOWN_FIELD : []
    return new RemoteRefused(failureWith(origin, reason), status, { faults: unknown })
  }
  const missing = faults.filter(({ detail }) => detail.length <= MAX_DETAIL).slice(0, MAX_FAULTS)
  return new AppError('INCOMPLETE', failureWith(origin, reason), {
    faults: missing.map(({ detail }) => ({ detail })),
  })
}

const UNKNOWN_FIELD = [{ pointer: '/allowIncomplete', detail: 'is not a known field' }]
