import { Readable } from 'node:stream'
import { type Dispatcher, request as send } from 'undici'
import { type Answer, type Description, describeAnswers, differences } from './described-answers.ts'

export interface ApiRequest {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as a JSON body. */
  readonly json?: unknown
  /** Sent as it is; give its `content-type` among the headers. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  readonly signal?: AbortSignal
}

export interface ApiAnswer extends Answer {
  readonly text: string
}

type Send = (path: string, init?: ApiRequest) => Promise<ApiAnswer>

export interface ApiClient {
  readonly get: Send
  readonly post: Send
  readonly put: Send
  readonly patch: Send
  readonly delete: Send
  readonly request: (method: string, path: string, init?: ApiRequest) => Promise<ApiAnswer>
  /** The same client with another token, or with none. */
  readonly withToken: (token: string | undefined) => ApiClient
}

/**
 * A client that talks to a running server, and holds each answer against the server's own `/openapi.json`: the status,
 * the headers, the content type and the body must be described there. What is not fails the test.
 */
export function createApiClient(baseUrl: string, token?: string): ApiClient {
  let description: Promise<Description> | undefined
  const describe = (): Promise<Description> => {
    description ??= exchange('GET', `${baseUrl}/openapi.json`, undefined, {}).then(descriptionOf)
    return description
  }
  return clientFor(baseUrl, token, describe)
}

/** By their text: to compile one takes 50 to 80 ms of processor time, and most servers of a process say the same. */
const descriptions = new Map<string, Description>()

function descriptionOf({ text, json }: ApiAnswer): Description {
  const known = descriptions.get(text) ?? describeAnswers(json)
  descriptions.set(text, known)
  return known
}

function clientFor(baseUrl: string, token: string | undefined, describe: () => Promise<Description>): ApiClient {
  const request = async (method: string, path: string, init: ApiRequest = {}): Promise<ApiAnswer> => {
    const answer = await exchange(method, baseUrl + path, token, init)
    const description = await describe()
    const found = [...differences(description, method, new URL(path, baseUrl).pathname, answer)]
    if (found.length === 0) return answer
    throw new Error(
      `${method} ${path} answered ${answer.status}, not as /openapi.json says: ${found.join('; ')}\n${answer.text}`,
    )
  }
  const withMethod =
    (method: string): Send =>
    (path, init) =>
      request(method, path, init)
  return {
    get: withMethod('GET'),
    post: withMethod('POST'),
    put: withMethod('PUT'),
    patch: withMethod('PATCH'),
    delete: withMethod('DELETE'),
    request,
    withToken: (other) => clientFor(baseUrl, other, describe),
  }
}

async function exchange(method: string, url: string, token: string | undefined, init: ApiRequest): Promise<ApiAnswer> {
  const response = await send(url, {
    method: method as Dispatcher.HttpMethod,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(init.json !== undefined && { 'content-type': 'application/json' }),
      ...init.headers,
    },
    body: bodyOf(init),
    ...(init.signal && { signal: init.signal }),
  })
  const bytes = Buffer.from(await response.body.arrayBuffer())
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
  )
  const text = bytes.toString('utf8')
  const isJson = /^application\/(problem\+)?json/.test(headers['content-type'] ?? '') && bytes.length > 0
  return { status: response.statusCode, headers, bytes, text, json: isJson ? JSON.parse(text) : undefined }
}

function bodyOf({ json, body }: ApiRequest): string | Uint8Array | Readable | null {
  if (json !== undefined) return JSON.stringify(json)
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return body ?? null
  return Readable.from(body)
}
