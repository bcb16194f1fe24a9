import { toWharfError, WharfError } from './error.ts'

export interface ClientOptions {
  /** Where the service is: `https://wharf.example.org`. */
  readonly url: string
  /** Sent as `Authorization: Bearer`, and nowhere else. */
  readonly token: string
  /** Instead of the global `fetch`: for a proxy, certificates or time limits of one's own. */
  readonly fetch?: typeof fetch
}

export interface Sending {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: Blob | Uint8Array | string | ReadableStream<Uint8Array>
  readonly signal?: AbortSignal | undefined
  /** Whether the answer may lead to the storage of the service, with 307. */
  readonly mayRedirect?: boolean
}

/** The service with one token. */
export interface Connection {
  readonly url: string
  /** As `fetch`, with the token. @throws {WharfError} what the service refused, or UNREACHABLE. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same, of a path with every part encoded. A 304 is an answer. */
  readonly send: (path: string, sending?: Sending) => Promise<Response>
  /** Reads from the storage to which the service has led: without the token, which is not for it. @throws {WharfError} */
  readonly readStorage: (
    location: string | null,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ) => Promise<Response>
}

/** @throws {TypeError} where the URL is none, or has what would be lost or sent elsewhere: a login, a query. */
export function createConnection({ url, token, fetch: own = fetch }: ClientOptions): Connection {
  const { origin, protocol, username, password, pathname, search } = new URL(url)
  if (!/^https?:$/.test(protocol)) throw new TypeError('the URL must begin with http:// or https://')
  if (username || password) throw new TypeError('the URL must have no token: that is `token`')
  if (search) throw new TypeError('the URL must have no query')
  const base = origin + pathname.replace(/\/+$/, '')

  const fetchAny = (request: Request): Promise<Response> =>
    own(request).catch((error: unknown) => {
      request.signal.throwIfAborted()
      throw unreachable(error)
    })

  const fetchWithToken = async (request: Request): Promise<Response> => {
    request.headers.set('authorization', `Bearer ${token}`)
    const response = await fetchAny(request)
    const isRedirect = response.status === 307 && request.redirect === 'manual'
    if (response.ok || response.status === 304 || isRedirect) return response
    throw await toWharfError(response)
  }

  return {
    url: base,
    fetch: fetchWithToken,
    send: (path, { method = 'GET', headers = {}, body, signal, mayRedirect = false } = {}) =>
      fetchWithToken(
        new Request(base + path, {
          method,
          headers: Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
          signal: signal ?? null,
          // Another server is not to get a token or an archive.
          redirect: mayRedirect ? 'manual' : 'error',
          ...(body !== undefined && { body, duplex: 'half' }),
        } as RequestInit),
      ),
    async readStorage(location, headers, signal) {
      const url = location !== null && URL.canParse(location) ? new URL(location) : undefined
      if (!url || !/^https?:$/.test(url.protocol) || (protocol === 'https:' && url.protocol !== 'https:')) {
        throw new WharfError('the service leads to a place from which no archive is read', {
          code: 'UNEXPECTED_ANSWER',
        })
      }
      const response = await fetchAny(new Request(url, { headers, signal: signal ?? null, redirect: 'error' }))
      if (response.ok) return response
      await response.body?.cancel()
      const said = `the storage of archives at ${url.origin} answered with the status ${response.status}`
      // What a storage could not do it may be able to do a little later.
      throw new WharfError(said, {
        code: response.status >= 500 ? 'UNREACHABLE' : 'UNEXPECTED_ANSWER',
        status: response.status,
      })
    },
  }
}

/** @param thrown by `fetch`: its cause says more than its message does. */
export function unreachable(thrown: unknown): WharfError {
  const { message = '' } = ((thrown as Error).cause ?? thrown) as Partial<Error>
  return new WharfError(message || 'the connection failed', { code: 'UNREACHABLE', cause: thrown })
}

/** A path, with every part encoded. */
export const pathOf = (strings: TemplateStringsArray, ...parts: readonly string[]): string =>
  strings.map((text, index) => text + encodeURIComponent(parts[index] ?? '')).join('')
