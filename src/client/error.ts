import { ADVICE } from './generated/advice.ts'

/** The codes of docs/errors.md, and what only a client can say: that nobody answered, or something else than Wharf did. */
export type ErrorCode = keyof typeof ADVICE | 'UNREACHABLE' | 'UNEXPECTED_ANSWER' | 'JOB_CANCELLED'

/** One thing that is wrong: a field of the JSON body, or a line of the archive or the SQL. */
export interface Fault {
  readonly pointer?: string
  readonly line?: number
  readonly detail: string
}

export interface WharfErrorInit {
  /** Of a newer server, it may be one that this client does not know. */
  readonly code: ErrorCode | (string & {})
  readonly status?: number
  readonly errors?: readonly Fault[]
  readonly requestId?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

const OWN_ADVICE: Readonly<Record<string, string>> = {
  ...ADVICE,
  UNREACHABLE: 'Check the address and the connection, and try again.',
  UNEXPECTED_ANSWER: 'Check that the address is that of a Wharf server, and what a proxy before it says.',
  JOB_CANCELLED: 'Ask for it again.',
}

/** What Wharf refused, could not do, or did not answer. */
export class WharfError extends Error {
  override readonly name = 'WharfError'
  /** What went wrong, for programs: one of docs/errors.md. */
  readonly code: ErrorCode | (string & {})
  /** Of the answer; 0 where there was none, or where it is the failure of a job. */
  readonly status: number
  /** Each thing that is wrong, where there can be several. */
  readonly errors: readonly Fault[]
  /** What to do about such errors, as docs/errors.md has it. `message` says what happened this time. */
  readonly advice: string
  /** The name of the request in the log of the server. */
  readonly requestId: string | undefined
  /** When it may be worth trying again. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { code, status = 0, errors = [], requestId, retryAfterSeconds, cause }: WharfErrorInit) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.errors = errors
    this.advice = OWN_ADVICE[code] ?? 'See docs/errors.md of the version that the server has.'
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Whether the same request may succeed a little later: the connection broke, or the server is starting, full or busy. */
export const mayPass = (error: unknown): error is WharfError =>
  error instanceof WharfError &&
  (error.code === 'UNREACHABLE' || error.status === 429 || (error.status >= 502 && error.status <= 504))

const TYPE = /^urn:wharf:error:([a-z0-9-]+)$/

/** What a problem document says (RFC 9457); a proxy before Wharf may have answered with something else. */
export async function toWharfError(response: Response): Promise<WharfError> {
  const body = await response.json().catch(() => undefined)
  const { type, detail, errors } = (body ?? {}) as { type?: unknown; detail?: unknown; errors?: readonly Fault[] }
  const code = TYPE.exec(String(type))?.[1]?.replaceAll('-', '_').toUpperCase() ?? 'UNEXPECTED_ANSWER'
  const retryAfter = Number(response.headers.get('retry-after') ?? undefined)
  return new WharfError(typeof detail === 'string' ? detail : `the server answered ${response.status}`, {
    code,
    status: response.status,
    ...(Array.isArray(errors) && { errors }),
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}
