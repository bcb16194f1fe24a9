import { STATUS_CODES } from 'node:http'
import { fromServer } from '../contract/from-server.ts'
import { INCOMPLETE_TYPE, problemSchema } from '../contract/problem.ts'
import { AppError, type Fault } from '../errors.ts'
import { parseJson } from '../lib/parse-json.ts'

/** What is read of a problem document: one that something before the server wrote may have no `type`. */
const problem = fromServer(problemSchema.pick({ type: true, detail: true, errors: true }).partial({ type: true }))

/** What a server refused, in its own words. */
export class RemoteProblem extends AppError {
  /** What it was, for programs: the problem's `type`. */
  readonly type: string | undefined

  constructor(message: string, options: { readonly type: string | undefined; readonly faults: readonly Fault[] }) {
    super(options.type === INCOMPLETE_TYPE ? 'INCOMPLETE' : 'REMOTE_FAILED', message, { faults: options.faults })
    this.type = options.type
  }
}

export interface ErrorAnswer {
  readonly status: number
  /** The body, or its beginning. */
  readonly text: string
  readonly requestId: string | undefined
  /** The server's, without credentials. */
  readonly origin: string
}

/** Turns an answer other than 2xx into an error with the server's own words; it has a request id where they end. */
export function toAnswerError({ status, text, requestId, origin }: ErrorAnswer): AppError {
  const said = problem.safeParse(parseJson(text)).data
  const inLog = status >= 500 && requestId !== undefined ? ` (request ${requestId} in the server's log)` : ''
  if (said) return new RemoteProblem(said.detail + inLog, { type: said.type, faults: said.errors ?? [] })
  const answer = [status, STATUS_CODES[status]].join(' ').trim()
  const message = `${origin} answered "${answer}", not as a Wharf server does: is it one, and is its address right?`
  return new AppError('REMOTE_FAILED', message + inLog)
}
