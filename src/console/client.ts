import { parseExactly } from './exact-json.ts'

/** What Wharf refused, or that it did not answer (`status` 0). */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly status: number
  /** As in docs/errors.md, `not-found`; undefined where no problem document says it. */
  readonly code: string | undefined
  /** Each thing at fault, in words. */
  readonly faults: readonly string[]

  constructor(
    status: number,
    detail: string,
    { code, faults = [] }: Partial<Pick<RequestError, 'code' | 'faults'>> = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.faults = faults
  }
}

export interface Ask {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT'
  readonly json?: unknown
  readonly prefer?: string
  /** The same key gives the same job. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal | undefined
}

/** What is sent as it is. */
export interface Sending {
  readonly method: 'POST' | 'PATCH'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Blob
  readonly signal?: AbortSignal | undefined
}

/** The HTTP interface with one token: the page can do what that token can, and nothing else. */
export interface Client {
  /** @throws {RequestError} */
  readonly json: <T>(path: string, ask?: Ask) => Promise<T>
  /** The same, with numbers as `ExactNumber`. @throws {RequestError} */
  readonly exactJson: <T>(path: string, ask?: Ask) => Promise<T>
  /** Does what has no answer. @throws {RequestError} */
  readonly run: (path: string, ask: Ask) => Promise<void>
  /** Reads what is no JSON, as it comes. @throws {RequestError} */
  readonly fetch: (
    path: string,
    asked: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ) => Promise<Response>
  /** @returns the headers of the answer. @throws {RequestError} */
  readonly send: (path: string, sending: Sending) => Promise<Headers>
}

/** Whose rights requests have: those of a token, or of the cookie that no script can read. */
export type Session = { readonly token: string } | 'cookie'

/** @param onSignedOut called when Wharf does not know the token, or no longer. */
export function createClient(session: Session, onSignedOut: () => void): Client {
  const send = async (path: string, init: RequestInit & { readonly headers: HeadersInit }): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (session === 'cookie') headers.set('wharf-session', '1')
    else headers.set('authorization', `Bearer ${session.token}`)
    const response = await fetch(path, { ...init, headers }).catch((error: unknown) => {
      if (init.signal?.aborted) throw error
      throw new RequestError(0, 'Wharf does not answer.')
    })
    if (response.ok) return response
    if (response.status === 401) onSignedOut()
    throw await toError(response)
  }
  const ask = (path: string, { method = 'GET', json, prefer, idempotencyKey, signal }: Ask): Promise<Response> =>
    send(path, {
      method,
      headers: {
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(prefer !== undefined && { prefer }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      body: json === undefined ? null : JSON.stringify(json),
      signal: signal ?? null,
    })
  return {
    json: async (path, asked = {}) => (await ask(path, asked)).json(),
    exactJson: async <T>(path: string, asked: Ask = {}) => parseExactly(await (await ask(path, asked)).text()) as T,
    run: async (path, asked) => void (await ask(path, asked)),
    fetch: send,
    send: async (path, { method, headers, body, signal }) =>
      (await send(path, { method, headers, body: body ?? null, signal: signal ?? null })).headers,
  }
}

const CODE = /^urn:wharf:error:([a-z-]+)$/

/** What a problem document says; a proxy before Wharf may answer with something else. */
async function toError(response: Response): Promise<RequestError> {
  const body: unknown = await response.json().catch(() => undefined)
  if (typeof body !== 'object' || body === null || !('detail' in body)) {
    return new RequestError(response.status, `Wharf answered ${response.status}.`)
  }
  const code = 'type' in body ? CODE.exec(String(body.type))?.[1] : undefined
  const errors: readonly unknown[] = 'errors' in body && Array.isArray(body.errors) ? body.errors : []
  return new RequestError(response.status, String(body.detail), { code, faults: errors.map(toFault) })
}

function toFault(fault: unknown): string {
  const { line, detail } = fault as { readonly line?: unknown; readonly detail?: unknown }
  return `${typeof line === 'number' ? `Line ${line}: ` : ''}${String(detail)}`
}

export const detailOfError = (error: unknown): string => (error instanceof Error ? error.message : String(error))
