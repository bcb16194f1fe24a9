import { STATUS_CODES } from 'node:http'
import { fromServer } from '../contract/from-server.ts'
import { INCOMPLETE_TYPE, problemSchema } from '../contract/problem.ts'
import { AppError, type ErrorCode, type Fault } from '../errors.ts'
import { parseJson } from '../lib/parse-json.ts'

/** What is read of a problem document: one that something before the server wrote may have no `type`. */
const problem = fromServer(problemSchema.pick({ type: true, detail: true, errors: true }).partial({ type: true }))

/** What a server refused, in its own words. */
export class RemoteProblem extends AppError {
  /** What it was, for programs: the problem's `type`. */
  readonly type: string | undefined

  constructor(message: string, options: { readonly type: string | undefined; readonly faults: readonly Fault[] }) {
    super(CODES.get(options.type ?? '') ?? 'REMOTE_FAILED', message, { faults: options.faults })
    this.type = options.type
  }

  /** The server's own code; undefined where it said none. */
  get remoteCode(): string | undefined {
    return this.type?.startsWith(TYPE_PREFIX)
      ? this.type.slice(TYPE_PREFIX.length).toUpperCase().replaceAll('-', '_')
      : undefined
  }
}

const TYPE_PREFIX = 'urn:wharf:error:'

/** What a request is that could never be carried out, to somebody who gave its values as arguments. */
const INVALID_REQUEST_TYPE = 'urn:wharf:error:invalid-request'

/** What is more to a command than that a server refused. */
const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  [INCOMPLETE_TYPE, 'INCOMPLETE'],
  [INVALID_REQUEST_TYPE, 'WRONG_USE'],
])

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
  if (said) {
    const { detail, type, errors: faults = [] } = inWordsOfCommand({ ...said, type: said.type })
    return new RemoteProblem(detail + inLog, { type, faults })
  }
  const answer = [status, STATUS_CODES[status]].join(' ').trim()
  const message = `${origin} answered "${answer}", not as a Wharf server does: is it one, and is its address right?`
  return new AppError('REMOTE_FAILED', message + inLog)
}

interface Said {
  readonly type: string | undefined
  readonly detail: string
  readonly errors?: readonly Fault[] | undefined
}

/** A part of a request that a fault is about: of the path, of the query string, or a field of the body. */
const PARAMETER = /^(?:query|path) parameter "([^"]+)" /

/** Who types arguments knows of no request, whose fields are named as the arguments are. */
function inWordsOfCommand({ type, detail, errors = [] }: Said): Required<Said> {
  const isAboutArguments =
    type === INVALID_REQUEST_TYPE &&
    errors.length > 0 &&
    errors.every((fault) => fault.pointer !== undefined || PARAMETER.test(fault.detail))
  if (!isAboutArguments) return { type, detail, errors }
  return {
    type,
    detail: 'the arguments are not as they have to be',
    errors: errors.map((fault) => ({ ...fault, detail: fault.detail.replace(PARAMETER, '$1: ') })),
  }
}
