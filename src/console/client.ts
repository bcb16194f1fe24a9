/** What Wharf refused, or that it did not answer (`status` 0). */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly status: number

  constructor(status: number, detail: string) {
    super(detail)
    this.status = status
  }
}

export interface Ask {
  readonly method?: 'GET' | 'POST'
  readonly json?: unknown
  readonly prefer?: string
  readonly signal?: AbortSignal
}

/** The HTTP interface with one token: the page can do what that token can, and nothing else. */
export interface Client {
  /** @throws {RequestError} */
  readonly json: <T>(path: string, ask?: Ask) => Promise<T>
  /** @throws {RequestError} */
  readonly blob: (path: string) => Promise<Blob>
}

/** @param onSignedOut called when Wharf does not know the token, or no longer. */
export function createClient(token: string, onSignedOut: () => void): Client {
  const send = async (path: string, { method = 'GET', json, prefer, signal }: Ask): Promise<Response> => {
    const headers = new Headers({ authorization: `Bearer ${token}` })
    if (json !== undefined) headers.set('content-type', 'application/json')
    if (prefer !== undefined) headers.set('prefer', prefer)
    const body = json === undefined ? null : JSON.stringify(json)
    const response = await fetch(path, { method, headers, body, signal: signal ?? null }).catch((error: unknown) => {
      if (signal?.aborted) throw error
      throw new RequestError(0, 'Wharf does not answer.')
    })
    if (response.ok) return response
    if (response.status === 401) onSignedOut()
    throw new RequestError(response.status, await detailOf(response))
  }
  return {
    json: async (path, ask = {}) => (await send(path, ask)).json(),
    blob: async (path) => (await send(path, {})).blob(),
  }
}

/** What a problem document says; a proxy before Wharf may answer with something else. */
async function detailOf(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => undefined)
  const isProblem = typeof body === 'object' && body !== null && 'detail' in body
  return isProblem ? String(body.detail) : `Wharf answered ${response.status}.`
}

export const detailOfError = (error: unknown): string => (error instanceof Error ? error.message : String(error))
