import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { LineWriter, Logger } from '../logger.ts'
import type { MatchedPath } from './direct-routes.ts'
import type { AnsweredRequest } from './metrics.ts'
import type { RequestLimits } from './request-limits.ts'

/** Header names are written in lower case everywhere, so that a route's own header replaces the frame's. */
export type HeaderName = Lowercase<string>
export type AnswerHeaders = Readonly<Record<HeaderName, string | undefined>>

const SECOND = 1_000

/** How long a client may keep us waiting. */
export const DEFAULT_LIMITS = {
  /** From the head of a request to the last byte of a body that is read as a whole, in milliseconds. */
  wholeBodyMs: 30 * SECOND,
  /** Between two pieces of a streamed upload, in milliseconds. */
  uploadIdleMs: 120 * SECOND,
  /** How long a streamed upload of any size may keep us waiting in all, in milliseconds. */
  uploadMs: 600 * SECOND,
  /** What has to arrive of a streamed upload, on average, for it to take longer than that. */
  uploadBytesPerSecond: 8 * 1024,
  /** Without any progress in reading our answer, in milliseconds. */
  answerIdleMs: 300 * SECOND,
  /** What a client has to take of a streamed answer, on average, while we wait for nothing else. */
  answerBytesPerSecond: 4096,
  /** How long what is left of an unread upload is thrown away, so that the client comes to read our answer. */
  lingerMs: 2 * SECOND,
}

export type ApiLimits = Readonly<typeof DEFAULT_LIMITS>

/** What all requests share. */
export interface Frame {
  readonly logger: Logger
  /** For the one line of each request. */
  readonly accessLog: Readonly<Record<'info' | 'debug', LineWriter>>
  readonly limits: ApiLimits
  readonly requestLimits: RequestLimits
  /** The token of the browser's session that a request belongs to; undefined where it belongs to none. */
  readonly sessionTokenOf: (headers: IncomingHttpHeaders) => string | undefined
  /** Called for each request once its answer has ended. */
  readonly observe?: ((request: AnsweredRequest) => void) | undefined
  /** On every answer, unless a route says otherwise. */
  readonly baseHeaders: readonly { readonly name: HeaderName; readonly value: string }[]
}

/** The client went away before its answer had ended. Nobody's fault, so never logged as one. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

/** One request and its answer, from the head of the one to the last byte of the other. */
export class Exchange {
  readonly frame: Frame
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly matched: MatchedPath
  /** The client's own `X-Request-Id` if it is well formed, else a new one. */
  readonly requestId: string
  readonly startedAtMs: number
  /** Bytes of the answer's body, as handed to the connection. */
  bytesSent = 0
  /** Whose token it was, for the access log; never the token. */
  tokenId: string | undefined
  /** The `type` of the problem that was answered, for the access log. */
  problem: string | undefined
  /** Whether errors also have PostgREST's fields, for its client libraries. */
  speaksPostgrest = false
  /** Whether it can wait for long before it answers, for somebody else's lock, say. A stop ends it sooner then. */
  canWaitLong = false
  /** On its answer and on a refusal, beside those of the frame. */
  routeHeaders: AnswerHeaders = {}
  abortReason: Error | undefined
  /** Why the body will not become whole, where the client can still be answered. */
  bodyFailure: Error | undefined
  /** Called by the code that waits for the body. */
  onBodyFailure: ((failure: Error) => void) | undefined
  #controller: AbortController | undefined
  #ending: AbortController | undefined
  #isDraining = false
  #log: Logger | undefined

  constructor(frame: Frame, request: IncomingMessage, response: ServerResponse, matched: MatchedPath) {
    const own = request.headers['x-request-id']
    this.frame = frame
    this.request = request
    this.response = response
    this.matched = matched
    this.requestId = typeof own === 'string' && REQUEST_ID.test(own) ? own : randomUUID()
    this.startedAtMs = performance.now()
  }

  /** Aborted when the client goes away before the answer has ended, or when the service stops. Made when asked for. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.abortReason) this.#controller.abort(this.abortReason)
    }
    return this.#controller.signal
  }

  /** Aborted as `signal`, and as soon as the service is to stop: for answers that have no end of their own. Made when asked for. */
  get ending(): AbortSignal {
    if (!this.#ending) {
      this.#ending = new AbortController()
      if (this.abortReason || this.#isDraining) this.#ending.abort(this.abortReason)
    }
    return this.#ending.signal
  }

  /** A log whose lines carry the request's id. Made when asked for. */
  get log(): Logger {
    this.#log ??= this.frame.logger.child({ requestId: this.requestId })
    return this.#log
  }

  /** Ends the waiting for a body that will not become whole; its reader throws the failure. */
  failBody(failure: Error): void {
    this.bodyFailure ??= failure
    this.onBodyFailure?.(this.bodyFailure)
  }

  abort(reason: Error): void {
    this.abortReason ??= reason
    this.#controller?.abort(this.abortReason)
    this.#ending?.abort(this.abortReason)
  }

  /** Says that the service is to stop, which lets what has an end go on. */
  drain(): void {
    this.#isDraining = true
    this.#ending?.abort()
  }

  /** Sends the head of the answer, with everything that each answer carries. */
  sendHead(
    status: number,
    headers: AnswerHeaders,
    body?: { readonly mediaType?: string | undefined; readonly sizeBytes: number },
  ): void {
    // One flat list: an object by name would be built and taken apart again for each answer.
    const all: string[] = ['x-request-id', this.requestId]
    if (body?.mediaType !== undefined) all.push('content-type', body.mediaType)
    if (body) all.push('content-length', String(body.sizeBytes))
    for (const some of [this.routeHeaders, headers]) {
      for (const name in some) {
        const value = some[name as HeaderName]
        if (value !== undefined) all.push(name, value)
      }
    }
    const { baseHeaders } = this.frame
    for (const { name, value } of baseHeaders) {
      if (headers[name] === undefined) all.push(name, value)
    }
    this.response.writeHead(status, all)
  }
}
