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
}

/** The service with one token. */
export interface Connection {
  readonly url: string
  /** As `fetch`, with the token. @throws {WharfError} what the service refused, or UNREACHABLE. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same, of a path with every part encoded. A 304 is an answer. */
  readonly send: (path: string, sending?: Sending) => Promise<Response>
}

/** @throws {TypeError} where the URL is none, or has what would be lost or sent elsewhere: a login, a query. */
export function createConnection({ url, token, fetch: own = fetch }: ClientOptions): Connection {
  const { origin, protocol, username, password, pathname, search } = new URL(url)
  if (!/^https?:$/.test(protocol)) throw new TypeError('the URL must begin with http:// or https://')
  if (username || password) throw new TypeError('the URL must have no token: that is `token`')
  if (search) throw new TypeError('the URL must have no query')
  const base = origin + pathname.replace(/\/+$/, '')

  const fetchWithToken = async (request: Request): Promise<Response> => {
    request.headers.set('authorization', `Bearer ${token}`)
    const response = await own(request).catch((error: unknown) => {
      request.signal.throwIfAborted()
      throw unreachable(error)
    })
    if (response.ok || response.status === 304) return response
    throw await toWharfError(response)
  }

  return {
    url: base,
    fetch: fetchWithToken,
    send: (path, { method = 'GET', headers = {}, body, signal } = {}) =>
      fetchWithToken(
        new Request(base + path, {
          method,
          headers: Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
          signal: signal ?? null,
          // Wharf answers with no redirect, and another server is not to get a token or an archive.
          redirect: 'error',
          ...(body !== undefined && { body, duplex: 'half' }),
        } as RequestInit),
      ),
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
