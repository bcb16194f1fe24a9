import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { AnswerOf, Answers, AnyAnswer } from './answer.ts'
import { answerTypes, assertAcceptable } from './assert-acceptable.ts'
import { bearerToken } from './bearer-token.ts'
import type { BodyOf, BodySpec } from './body.ts'
import type { Exchange } from './exchange.ts'
import { type Parsed, parseHead, searchOf } from './parse-head.ts'
import { readBody } from './read-body.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Auth = 'token' | 'none'
type Fields = z.ZodObject | undefined

/** A call of the HTTP interface as data: what comes in, what goes out, and what is said about it. */
export interface RouteSpec<
  A extends Answers,
  U extends Auth,
  P extends Fields,
  Q extends Fields,
  H extends Fields,
  B extends BodySpec | undefined,
> {
  readonly method: Method
  /** As in OpenAPI: `/projects/{slug}`. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly auth: U
  /** The path's parameters: just those that stand in it. */
  readonly params?: P
  /** The query; further names are refused, unless this is a `z.looseObject`. A name that comes twice is an array. */
  readonly query?: Q
  /** The headers that the handler reads, in lower case; others are left alone. */
  readonly headers?: H
  readonly body?: B
  readonly answers: A
  /** Expected failures beside those that the frame itself answers with. */
  readonly errors?: readonly ErrorCode[]
  /** For calls that come all the time and say nothing: their access lines are `debug`. */
  readonly quiet?: boolean
}

export type AnyRouteSpec = RouteSpec<Answers, Auth, Fields, Fields, Fields, BodySpec | undefined>

type CallerOf<U extends Auth, Caller> = U extends 'token' ? Caller : undefined

/** What a handler gets. */
export interface Call<Caller, U extends Auth, P extends Fields, Q extends Fields, H extends Fields, B> {
  readonly params: Parsed<P>
  readonly query: Parsed<Q>
  readonly headers: Parsed<H>
  readonly body: BodyOf<B>
  /** Who calls; undefined where the route needs no token. */
  readonly caller: CallerOf<U, Caller>
  /** Aborted when the client goes away before the answer has ended, or when the service stops. */
  readonly signal: AbortSignal
  readonly requestId: string
  /** Its lines carry the request's id. */
  readonly log: Logger
  /** The request as it came, for what has a dialect of its own. */
  readonly request: {
    readonly method: string
    readonly path: string
    readonly search: URLSearchParams
    readonly headers: IncomingHttpHeaders
  }
}

/** @returns who has this token. @throws {AppError} UNAUTHENTICATED. */
export type Authenticate<Caller> = (bearerToken: string | undefined) => Promise<Caller>

/** A route with its handler, ready to be served. */
export interface BoundRoute<Caller> {
  readonly spec: AnyRouteSpec
  readonly respond: (exchange: Exchange, authenticate: Authenticate<Caller>) => Promise<AnyAnswer>
}

export interface Route<
  A extends Answers,
  U extends Auth,
  P extends Fields,
  Q extends Fields,
  H extends Fields,
  B extends BodySpec | undefined,
> {
  readonly spec: RouteSpec<A, U, P, Q, H, B>
  /** Binds the handler. What it throws is answered with a problem document. */
  readonly handle: <Caller>(
    handler: (call: Call<Caller, U, P, Q, H, B>) => AnswerOf<A> | Promise<AnswerOf<A>>,
  ) => BoundRoute<Caller>
}

/** Declares a call. Requests and answers are checked against, and documented from, this one declaration. */
export function defineRoute<
  A extends Answers,
  U extends Auth,
  P extends Fields = undefined,
  Q extends Fields = undefined,
  H extends Fields = undefined,
  B extends BodySpec | undefined = undefined,
>(spec: RouteSpec<A, U, P, Q, H, B>): Route<A, U, P, Q, H, B> {
  const types = answerTypes(spec.answers)
  return {
    spec,
    handle: (handler) => ({
      spec,
      async respond(exchange, authenticate) {
        const { request } = exchange
        // First of all, so that a stranger learns nothing about the interface and uploads nothing.
        const caller = await callerFor(spec.auth, exchange, authenticate)
        assertAcceptable(types, request)
        const { params, query, headers } = parseHead(spec, request)
        const body = await readBody(spec.body, exchange)
        return handler({
          params,
          query,
          headers,
          body,
          caller,
          requestId: exchange.requestId,
          get signal() {
            return exchange.signal
          },
          get log() {
            return exchange.log
          },
          get request() {
            return { method: request.method, path: request.path, search: searchOf(request), headers: request.headers }
          },
        })
      },
    }),
  }
}

function callerFor<U extends Auth, Caller>(
  auth: U,
  exchange: Exchange,
  authenticate: Authenticate<Caller>,
): Promise<CallerOf<U, Caller>>
async function callerFor<Caller>(auth: Auth, exchange: Exchange, authenticate: Authenticate<Caller>): Promise<unknown> {
  return auth === 'none' ? undefined : authenticate(bearerToken(exchange.request.headers.authorization))
}
