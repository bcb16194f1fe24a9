import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import { AppError, type Fault } from '../errors.ts'
import { parseJson } from '../lib/parse-json.ts'

/** RFC 9457, with Wharf's `errors`. Unknown fields are left out. */
const problemSchema = z.object({
  type: z.string().exactOptional(),
  detail: z.string(),
  errors: z
    .array(z.object({ pointer: z.string().exactOptional(), line: z.int().exactOptional(), detail: z.string() }))
    .default([]),
})

/** What a server refused, in its own words. */
export class RemoteRefusal extends AppError {
  /** What it was, for programs: the problem's `type`. */
  readonly type: string | undefined

  constructor(message: string, options: { readonly type: string | undefined; readonly faults: readonly Fault[] }) {
    super('REMOTE_FAILED', message, { faults: options.faults })
    this.type = options.type
  }
}

export interface RefusedAnswer {
  readonly status: number
  /** The body, or its beginning. */
  readonly text: string
  readonly requestId: string | undefined
  /** The server's, without credentials. */
  readonly origin: string
}

/** Turns an answer other than 2xx into an error with the server's own words; it has a request id where they end. */
export function toRefusal({ status, text, requestId, origin }: RefusedAnswer): AppError {
  const problem = problemSchema.safeParse(parseJson(text)).data
  const place = status >= 500 && requestId !== undefined ? ` (request ${requestId} in the server's log)` : ''
  if (problem) return new RemoteRefusal(problem.detail + place, { type: problem.type, faults: problem.errors })
  const answer = [status, STATUS_CODES[status]].join(' ').trim()
  const message = `${origin} answered "${answer}", not as a Wharf server does: is it one, and is its address right?`
  return new AppError('REMOTE_FAILED', message + place)
}
