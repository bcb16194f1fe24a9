import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { type Access, bearerToken } from './access.ts'
import type { AnswerOf, Answers, AnyAnswer } from './answer.ts'
import { answerTypes, assertAcceptable } from './assert-acceptable.ts'
import type { BodyOf, BodySpec } from './body.ts'
import type { AnswerHeaders, Exchange } from './exchange.ts'
import { dialectSearchOf, type Parsed, parseHead, queryTextOf } from './parse-head.ts'
import { readBody } from './read-body.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Fields = z.ZodObject | undefined

/** A call of the HTTP interface as data: what comes in, what goes out, and what is said about it. */
export interface RouteSpec<
  A extends Answers,
  U extends Access,
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
  /** Who may make the call. The frame enforces what it can, see `Authenticate`; a `visitor` route the rest, see `admit`. */
  readonly access: U
  /** The path's parameters: just those that stand in it. */
  readonly params?: P
  /** The query; further names are refused, unless this is a `z.looseObject`. A name that comes twice is an array. */
  readonly query?: Q
  /** Says that query, headers and `Accept` are in a dialect of their own, which the handler reads; this only describes it. */
  readonly dialect?: { readonly query: z.ZodObject; readonly headers: z.ZodObject }
  /** The headers that the handler reads, in lower case; others are left alone. */
  readonly headers?: H
  readonly body?: B
  readonly answers: A
  /** Expected failures beside those that the frame itself answers with. */
  readonly errors?: readonly ErrorCode[]
  /** For a `GET` that comes more often than all others: found without a router, see `createDirectRoutes`. */
  readonly direct?: boolean
  /** Headers of a protocol that the path speaks: on answers and refusals, and on what `OPTIONS` is answered. */
  readonly protocol?: { readonly always: AnswerHeaders; readonly options: AnswerHeaders }
  /** For calls that come all the time and say nothing: their access lines are `debug`. */
  readonly quiet?: boolean
  /** For calls that can wait for long before they answer: a stop of the service does not let them wait on. */
  readonly canWaitLong?: boolean
}

export type AnyRouteSpec = RouteSpec<Answers, Access, Fields, Fields, Fields, BodySpec | undefined>

type CallerOf<U extends Access, Caller> = U extends { readonly by: 'anyone' } ? undefined : Caller

/** What a handler gets. */
export interface Call<S extends AnyRouteSpec, Caller> {
  readonly params: Parsed<Required<S>['params']>
  readonly query: Parsed<Required<S>['query']>
  readonly headers: Parsed<Required<S>['headers']>
  readonly body: BodyOf<Required<S>['body']>
  /** Who calls, or what `admit` made of that; undefined where the route needs no token. */
  readonly caller: Caller
  /** Aborted when the client goes away before the answer has ended, or when the service stops. */
  readonly signal: AbortSignal
  /** Aborted as soon as the service is to stop, and as `signal` is: for answers that have no end of their own. */
  readonly ending: AbortSignal
  readonly requestId: string
  /** Its lines carry the request's id. */
  readonly log: Logger
  /** The request as it came, for what has a dialect of its own. */
  readonly request: {
    readonly method: string
    readonly path: string
    readonly search: URLSearchParams
    /** The query as it came, without the question mark. */
    readonly queryText: string
    readonly headers: IncomingHttpHeaders
    /** This server's end of the connection. */
    readonly localEnd: { readonly address: string; readonly port: number }
  }
}

/**
 * Finds out who has a token, and whether they may make the call, as far as its path shows.
 *
 * @returns who has this token.
 * @throws {AppError} UNAUTHENTICATED; NOT_FOUND, FORBIDDEN.
 */
export type Authenticate<Caller> = (bearerToken: string | undefined) => Promise<Caller>

/** What stands at the door of a route that lets in by itself. */
export interface Credentials {
  /** Undefined where the request has no `Authorization` header, and belongs to no session of a browser. */
  readonly token: string | undefined
  /** The path's parameters as they came; they are checked once the caller is known. */
  readonly params: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Says to the access log whose token it was, once that is known. */
  readonly identify: (tokenId: string) => void
}

/** @throws {AppError} where the client may not make the call. */
export type Admit<Granted> = (credentials: Credentials) => Promise<Granted>

/** A route with its handler, ready to be served. */
export interface BoundRoute<Caller> {
  readonly spec: AnyRouteSpec
  readonly respond: (exchange: Exchange, authenticate: Authenticate<Caller>) => Promise<AnyAnswer>
  /**
   * The methods that `OPTIONS` names of the path, for a client with a token that may make the call; undefined for one without
   * a token, which hears of all that the interface has.
   */
  readonly allowed?: (exchange: Exchange) => Promise<string | undefined>
}

export interface Route<S extends AnyRouteSpec> {
  readonly spec: S
  /** Binds the handler. What it throws is answered with a problem document. */
  readonly handle: <Caller>(handler: Handler<S, CallerOf<S['access'], Caller>>) => BoundRoute<Caller>
  /** Binds the handler of a `visitor` route, who is let in, and what `OPTIONS` says to those who are. */
  readonly admit: <Caller, Granted>(
    admit: Admit<Granted>,
    handler: Handler<S, Granted>,
    allowed?: (call: Pick<Call<S, Granted>, 'caller' | 'params'>) => string | Promise<string>,
  ) => BoundRoute<Caller>
}

type Handler<S extends AnyRouteSpec, Caller> = (
  call: Call<S, Caller>,
) => AnswerOf<S['answers']> | Promise<AnswerOf<S['answers']>>

/** Declares a call. Requests and answers are checked against, and documented from, this one declaration. */
export function defineRoute<
  A extends Answers,
  U extends Access,
  P extends Fields = undefined,
  Q extends Fields = undefined,
  H extends Fields = undefined,
  B extends BodySpec | undefined = undefined,
>(spec: RouteSpec<A, U, P, Q, H, B>): Route<RouteSpec<A, U, P, Q, H, B>> {
  const types = answerTypes(spec.answers)

  /** Runs only once the caller is known: an unauthenticated client learns nothing about the API and uploads nothing. */
  const respondTo = async <Caller>(
    exchange: Exchange,
    caller: Caller,
    handler: Handler<RouteSpec<A, U, P, Q, H, B>, Caller>,
  ): Promise<AnyAnswer> => {
    const { request } = exchange
    if (!spec.dialect) assertAcceptable(types, request.headers.accept)
    const { params, query, headers } = parseHead(spec, exchange)
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
      get ending() {
        return exchange.ending
      },
      get log() {
        return exchange.log
      },
      get request() {
        return {
          method: request.method ?? '',
          path: exchange.matched.path,
          queryText: queryTextOf(request),
          get search() {
            return dialectSearchOf(request)
          },
          headers: request.headers,
          get localEnd() {
            return { address: request.socket.localAddress ?? '', port: request.socket.localPort ?? 0 }
          },
        }
      },
    })
  }

  return {
    spec,
    handle: (handler) => ({
      spec,
      respond: async (exchange, authenticate) =>
        respondTo(exchange, await callerFor(spec.access, exchange, authenticate), handler),
    }),
    admit(admit, handler, allowed) {
      const admitFrom = (exchange: Exchange, token: string | undefined) => {
        const identify = (tokenId: string): void => {
          exchange.tokenId = tokenId
        }
        return letIn(exchange, token, () => admit({ token, params: exchange.matched.params, identify }))
      }
      return {
        spec,
        respond: async (exchange) => respondTo(exchange, await admitFrom(exchange, tokenOf(exchange)), handler),
        ...(allowed && {
          async allowed(exchange: Exchange) {
            const token = tokenOf(exchange)
            if (token === undefined) return undefined
            const caller = await admitFrom(exchange, token)
            return allowed({ caller, params: parseHead(spec, exchange).params })
          },
        }),
      }
    },
  }
}

/**
 * Declares the calls that the description of the interface has under one heading.
 *
 * @returns as `defineRoute`, with the call written as it is sent: `GET /projects/{slug}`.
 */
export const routesUnder =
  (tag: string) =>
  <
    A extends Answers,
    U extends Access,
    P extends Fields = undefined,
    Q extends Fields = undefined,
    H extends Fields = undefined,
    B extends BodySpec | undefined = undefined,
  >(
    call: `${Method} /${string}`,
    spec: Omit<RouteSpec<A, U, P, Q, H, B>, 'method' | 'path' | 'tag'>,
  ): Route<RouteSpec<A, U, P, Q, H, B>> => {
    const [method, path] = call.split(' ') as [Method, string]
    return defineRoute({ ...spec, method, path, tag })
  }

function callerFor<U extends Access, Caller>(
  access: U,
  exchange: Exchange,
  authenticate: Authenticate<Caller>,
): Promise<CallerOf<U, Caller>>
async function callerFor<Caller>(
  access: Access,
  exchange: Exchange,
  authenticate: Authenticate<Caller>,
): Promise<unknown> {
  if (access.by === 'anyone') return undefined
  const token = tokenOf(exchange)
  return letIn(exchange, token, () => authenticate(token))
}

/** A header comes first: who sends one means that token. */
const tokenOf = ({ request, frame }: Exchange): string | undefined =>
  bearerToken(request.headers.authorization) ?? frame.sessionTokenOf(request.headers)

const letIn = <T>(exchange: Exchange, token: string | undefined, find: () => Promise<T>): Promise<T> =>
  exchange.frame.requestLimits.admit(exchange.request, token, find, () => exchange.tokenId)
