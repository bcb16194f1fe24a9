import { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import type { z } from 'zod'
import { type FromServer, fromServer } from '../contract/from-server.ts'
import { AppError, wrongUse } from '../errors.ts'
import { parseJson } from '../lib/parse-json.ts'
import { readText } from '../lib/read-text.ts'
import { rethrowing } from '../lib/rethrowing.ts'
import { toConnectionFailure } from './connection-failure.ts'
import { askStorage, linkedUrl, storageRefused } from './linked-answer.ts'
import { toAnswerError } from './remote-problem.ts'

const CONNECT_TIMEOUT_MS = 10_000

/** Far above any page of any list; what is longer comes from something else than a Wharf server. */
const MAX_JSON_BYTES = 32 * 1024 * 1024

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With every part encoded, see `encodedPath`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  /** What an iterable throws ends the call, and is thrown: the server then never takes the body for whole. */
  readonly body?: string | Buffer | AsyncIterable<Buffer>
  /** Ends this call, as the client's own does, also while its answer is being read. */
  readonly signal?: AbortSignal
  /** Whether what is asked for may be read from the server's storage, to which it then leads. */
  readonly mayRedirect?: boolean
}

export interface HttpAnswer {
  /** By lower-case name; those that came more than once are left out. */
  readonly headers: Readonly<Record<string, string>>
  /** As it came, compressed or not. To be read to its end or destroyed. */
  readonly body: AsyncIterable<Buffer>
}

export interface HttpClient {
  readonly origin: string
  /** For calls that have to outlive `signal`; never shown. */
  readonly token: string
  /** @throws {AppError} REMOTE_FAILED where the server refuses, cannot be reached, or breaks off. */
  open(call: HttpCall): Promise<HttpAnswer>
  /** Reads the JSON that comes back, as far as `schema` knows it, see `fromServer`. @throws {AppError} REMOTE_FAILED, as `open`. */
  json<S extends z.ZodType>(call: HttpCall, schema: S): Promise<FromServer<z.output<S>>>
  close(): Promise<void>
}

export interface HttpClientOptions {
  readonly origin: string
  readonly token: string
  /** Ends every call, also while its answer is being read. */
  readonly signal: AbortSignal
}

/**
 * Creates a client for one server. Nothing but connecting has a time limit: exports take as long as they take.
 *
 * It is not the global `fetch`, because that would decompress archives, which are kept as they come.
 */
export function createHttpClient({ origin, token, signal: clientSignal }: HttpClientOptions): HttpClient {
  if (!/^[\x21-\x7e]+$/.test(token)) throw wrongUse('the token has characters that no token has')
  const agent = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, headersTimeout: 0, bodyTimeout: 0 })

  const open = async ({ method, path, query = {}, ...call }: HttpCall): Promise<HttpAnswer> => {
    const signal = call.signal ? AbortSignal.any([clientSignal, call.signal]) : clientSignal
    const failureAt =
      (origin: string, requestId?: string) =>
      (error: unknown): unknown => {
        signal.throwIfAborted()
        return toConnectionFailure(error, { origin, requestId })
      }
    const request = agent.request({
      origin,
      path: withQuery(path, query),
      method,
      headers: { authorization: `Bearer ${token}`, ...call.headers },
      body: toRequestBody(call.body),
      signal,
    })
    const answer = await orThrow(request, failureAt(origin))
    const headers = singleHeaders(answer.headers)
    const requestId = headers['x-request-id']
    const body = rethrowing(answer.body, failureAt(origin, requestId))
    const status = answer.statusCode
    if (status >= 200 && status < 300) return { headers, body }
    if (status === 307 && call.mayRedirect) {
      await readText(body, MAX_JSON_BYTES)
      const url = linkedUrl(headers.location, origin)
      const toFailure = failureAt(url.origin)
      const stored = await orThrow(askStorage(agent, url, call.headers?.range, signal), toFailure)
      if (stored.statusCode !== 200 && stored.statusCode !== 206) {
        await stored.body.dump()
        throw storageRefused(url.origin, stored.statusCode)
      }
      // Which archive it is, only the server says.
      const { etag = '', 'repr-digest': digest = '' } = headers
      const described = { ...singleHeaders(stored.headers), etag, 'repr-digest': digest }
      return { headers: described, body: rethrowing(stored.body, toFailure) }
    }
    throw toAnswerError({ status, text: await readText(body, MAX_JSON_BYTES), requestId, origin })
  }

  return {
    origin,
    token,
    open,
    async json(call, schema) {
      const answer = await open({ ...call, headers: { accept: 'application/json', ...call.headers } })
      const parsed = fromServer(schema).safeParse(parseJson(await readText(answer.body, MAX_JSON_BYTES)))
      if (parsed.success) return parsed.data
      throw new AppError('REMOTE_FAILED', `${origin} gave an answer that this version of wharf does not understand`)
    },
    close: () => agent.destroy(),
  }
}

/** @throws what `translate` makes of a failure. */
const orThrow = <T>(promise: Promise<T>, translate: (error: unknown) => unknown): Promise<T> =>
  promise.catch((error: unknown) => {
    throw translate(error)
  })

/** The parts of a call that send `value`. */
export const jsonBody = (value: unknown): Required<Pick<HttpCall, 'headers' | 'body'>> => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})

/** Makes a path of literal parts and of values, which are encoded. */
export const encodedPath = (parts: TemplateStringsArray, ...values: readonly string[]): string =>
  String.raw({ raw: parts }, ...values.map(encodeURIComponent))

function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value)
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

function toRequestBody(body: HttpCall['body']): string | Buffer | Readable | null {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body?.length ? body : null
  return Readable.from(body, { objectMode: false })
}

const singleHeaders = (headers: Dispatcher.ResponseData['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
