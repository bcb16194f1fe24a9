import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { AppError, invalidRequest, notFound } from '../errors.ts'
import { createLineWriter, type Logger } from '../logger.ts'
import type { Access } from './access.ts'
import type { AccessLogOptions } from './access-log.ts'
import { assertRoutes } from './assert-routes.ts'
import { createAddressOf } from './client-address.ts'
import { createDirectRoutes, type MatchedPath } from './direct-routes.ts'
import { type ApiLimits, DEFAULT_LIMITS, type Exchange, type Frame } from './exchange.ts'
import type { AnsweredRequest } from './metrics.ts'
import { refusedMethod } from './postgrest-error.ts'
import { createRequestLimits, type RequestLimitOptions } from './request-limits.ts'
import type { Authenticate, BoundRoute } from './route.ts'
import { createSecurityHeaders } from './security-headers.ts'
import { sendAnswer, sendWhole } from './send-answer.ts'
import { sendFailure } from './send-failure.ts'
import { createServe, type Responder } from './serve.ts'

export interface ApiOptions<Caller> {
  readonly routes: readonly BoundRoute<Caller>[]
  readonly authenticate: Authenticate<Caller>
  /**
   * Makes sure that a call is for its caller, as its route declares it.
   *
   * @throws {AppError} NOT_FOUND, FORBIDDEN.
   */
  readonly authorise: (caller: Caller, access: Access, params: MatchedPath['params']) => void
  /** The token of the browser's session that a request belongs to; none has one where this is missing. */
  readonly sessionTokenOf?: Frame['sessionTokenOf']
  /** What the access log calls the caller: the id of the token, never the token. */
  readonly tokenIdOf: (caller: Caller) => string
  readonly logger: Logger
  readonly limits?: Partial<ApiLimits>
  /** Called for each request once its answer has ended. */
  readonly observe?: (request: AnsweredRequest) => void
  /** How many requests are taken; any number, unless it says otherwise. */
  readonly requestLimits?: RequestLimitOptions
  /** Addresses, and ranges of them, of the proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[]
}

const NO_LIMITS: RequestLimitOptions = { maxFailedLogins: 0, maxRequests: 0 }

export interface Api {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  /** Answers with a failure, whatever was asked for, and ends the connection. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse, failure: AppError) => void
  /** The requests whose answers have not ended yet. */
  readonly running: ReadonlySet<Exchange>
}

/**
 * Builds the HTTP interface from its routes. Nothing listens yet, see `listen`.
 *
 * Express is the router: it finds the route, decodes the path, and falls through to 405 and 404. What happens to a request
 * then is `createServe`'s, not a chain of middleware: each link costs time, and this one order of checks is the same for
 * every route. The two `GET` routes that clients poll are found without it, see `createDirectRoutes`.
 *
 * @throws {Error} where routes are declared wrongly.
 */
export function createApi<Caller>(options: ApiOptions<Caller>): Api {
  const { routes, authenticate, authorise, tokenIdOf, logger } = options
  assertRoutes(routes.map((route) => route.spec))
  const frame: Frame = {
    logger,
    accessLog: {
      info: createLineWriter(logger, 'info', 'request'),
      debug: createLineWriter(logger, 'debug', 'request'),
    },
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    requestLimits: createRequestLimits(
      options.requestLimits ?? NO_LIMITS,
      createAddressOf(options.trustedProxies ?? []),
    ),
    sessionTokenOf: options.sessionTokenOf ?? (() => undefined),
    observe: options.observe,
    baseHeaders: [...createSecurityHeaders(), { name: 'cache-control', value: 'no-store' }],
  }
  const running = new Set<Exchange>()

  const serve = createServe(frame, running)

  const serveRoute = ({ spec, respond }: BoundRoute<Caller>): Responder =>
    serve(
      async (exchange) => {
        exchange.speaksPostgrest = spec.dialect !== undefined
        exchange.canWaitLong = spec.canWaitLong === true
        exchange.routeHeaders = spec.protocol?.always ?? {}
        const answer = await respond(exchange, async (token) => {
          const caller = await authenticate(token)
          exchange.tokenId = tokenIdOf(caller)
          authorise(caller, spec.access, exchange.matched.params)
          return caller
        })
        await sendAnswer(exchange, spec.answers[answer.status], answer)
      },
      { operationId: spec.operationId, level: spec.quiet ? 'debug' : 'info' },
    )

  const unnamed: AccessLogOptions = { operationId: undefined, level: 'info' }
  const direct: { path: string; target: Responder }[] = []
  const app = createApp()
  for (const [path, group] of groupByPath(routes)) {
    const allow = allowedMethods(group)
    const expressRoute = app.route(toExpressPath(path))
    for (const route of group) {
      const server = serveRoute(route)
      expressRoute[toExpressMethod(route)](toExpress(server))
      if (route.spec.direct) direct.push({ path, target: server })
    }
    expressRoute.options(toExpress(serve((exchange) => sendAllowed(exchange, group, allow), unnamed)))
    const speaksPostgrest = group.some(({ spec }) => spec.dialect !== undefined)
    const refuseMethod = (exchange: Exchange) => {
      exchange.speaksPostgrest = speaksPostgrest
      return sendFailure(exchange, methodNotAllowed(exchange, path, allow), { allow })
    }
    expressRoute.all(toExpress(serve(refuseMethod, unnamed)))
  }
  const isOfDialect = createIsOfDialect(routes)
  app.use(
    toExpress(
      serve((exchange) => {
        const { path } = exchange.matched
        exchange.speaksPostgrest = isOfDialect(path)
        return sendFailure(exchange, notFound('path', path, '', INVALID_PATH))
      }, unnamed),
    ),
  )
  app.use(createErrorHandler((error) => toExpress(serve((exchange) => sendFailure(exchange, error), unnamed))))
  const findDirect = createDirectRoutes(direct)
  return {
    answer(request, response) {
      const found = findDirect(request)
      if (found) found.target(request, response, found.matched)
      else app(request, response)
    },
    refuse(request, response, failure) {
      const [path = ''] = (request.url ?? '').split('?')
      const respond = serve((exchange) => sendFailure(exchange, failure, { connection: 'close' }), unnamed)
      respond(request, response, { path, params: {} })
    },
    running,
  }
}

/** What PostgREST says of a path that leads nowhere. */
const INVALID_PATH = {
  postgrestCode: 'PGRST125',
  postgrest: { message: 'Invalid path specified in request URL' },
} as const

/** Whether a path is below where requests in PostgREST's dialect are answered. */
function createIsOfDialect(routes: readonly BoundRoute<never>[]): (path: string) => boolean {
  const spoken = routes.filter(({ spec }) => spec.dialect !== undefined)
  const roots = new Set(spoken.map(({ spec: { path } }) => path.slice(0, path.indexOf('{'))))
  return (path) => [...roots].some((root) => path.startsWith(root))
}

const toExpress =
  (server: Responder): RequestHandler =>
  (request, response) =>
    server(request, response, request)

function createApp(): express.Express {
  const app = express()
  for (const setting of ['x-powered-by', 'etag', 'query parser']) app.disable(setting)
  for (const setting of ['case sensitive routing', 'strict routing']) app.enable(setting)
  return app
}

/** In an order in which `/tokens/me` comes before `/tokens/{id}`: `{` sorts after every letter and digit. */
function groupByPath<Caller>(routes: readonly BoundRoute<Caller>[]): [string, BoundRoute<Caller>[]][] {
  const groups = new Map<string, BoundRoute<Caller>[]>()
  for (const route of routes) groups.set(route.spec.path, [...(groups.get(route.spec.path) ?? []), route])
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
}

const toExpressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

const EXPRESS_METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const

const toExpressMethod = ({ spec }: BoundRoute<never>) => EXPRESS_METHODS[spec.method]

function allowedMethods(group: readonly BoundRoute<never>[]): string {
  const methods = group.flatMap(({ spec }) => (spec.method === 'GET' ? ['GET', 'HEAD'] : [spec.method]))
  return [...methods, 'OPTIONS'].join(', ')
}

/** Says which methods there are: on this very thing, where a route can tell and the client may know; else on any such path. */
async function sendAllowed(exchange: Exchange, group: readonly BoundRoute<never>[], allow: string): Promise<void> {
  const route = group.find(({ allowed }) => allowed !== undefined)
  exchange.speaksPostgrest = route?.spec.dialect !== undefined
  exchange.routeHeaders = group.find(({ spec }) => spec.protocol)?.spec.protocol?.options ?? {}
  const allowed = await route?.allowed?.(exchange)
  if (allowed === undefined) return sendWhole(exchange, 204, { allow })
  return sendWhole(exchange, 200, { allow: allowed })
}

const methodNotAllowed = ({ request: { method = '' }, matched }: Exchange, path: string, allow: string): AppError =>
  new AppError('METHOD_NOT_ALLOWED', `${matched.path} answers ${allow}, and not ${method}`, refusedMethod(path, method))

/** What fails before a route is reached: a path that can't be decoded, or a bug. */
function createErrorHandler(serveFailure: (error: unknown) => RequestHandler): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const failure = error instanceof URIError ? invalidRequest('the path is not validly percent-encoded') : error
    return serveFailure(failure)(request, response, next)
  }
}
