import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { AppError, invalidRequest, notFound } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { AccessLogOptions } from './access-log.ts'
import { assertRoutes } from './assert-routes.ts'
import type { ApiLimits, Exchange, Frame } from './exchange.ts'
import type { AnsweredRequest } from './metrics.ts'
import type { Authenticate, BoundRoute } from './route.ts'
import { createSecurityHeaders } from './security-headers.ts'
import { sendAnswer, sendWhole } from './send-answer.ts'
import { sendFailure } from './send-failure.ts'
import { createServe } from './serve.ts'

const SECOND = 1_000

const DEFAULT_LIMITS: ApiLimits = {
  wholeBodyMs: 30 * SECOND,
  uploadIdleMs: 120 * SECOND,
  answerIdleMs: 300 * SECOND,
  lingerMs: 2 * SECOND,
}

export interface ApiOptions<Caller> {
  readonly routes: readonly BoundRoute<Caller>[]
  readonly authenticate: Authenticate<Caller>
  /** What the access log calls the caller: the id of the token, never the token. */
  readonly tokenIdOf: (caller: Caller) => string
  readonly logger: Logger
  readonly limits?: Partial<ApiLimits>
  /** Told of each request once its answer has ended. */
  readonly observe?: (request: AnsweredRequest) => void
}

export interface Api {
  readonly app: express.Express
  /** The requests whose answers have not ended yet. */
  readonly running: ReadonlySet<Exchange>
}

/**
 * Builds the HTTP interface from its routes. Nothing listens yet, see `listen`.
 *
 * @throws {Error} where routes are declared wrongly.
 */
export function createApi<Caller>(options: ApiOptions<Caller>): Api {
  const { routes, authenticate, tokenIdOf, logger } = options
  assertRoutes(routes.map((route) => route.spec))
  const frame: Frame = {
    logger,
    // Nothing in these lines needs hiding, and looking for it in each would cost more than writing them.
    accessLog: logger.child({}, { redact: [] }),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    observe: options.observe,
    baseHeaders: [...createSecurityHeaders(), { name: 'cache-control', value: 'no-store' }],
  }
  const running = new Set<Exchange>()

  const serve = createServe(frame, running)

  const serveRoute = ({ spec, respond }: BoundRoute<Caller>): RequestHandler =>
    serve(
      async (exchange) => {
        exchange.speaksPostgrest = spec.dialect !== undefined
        const answer = await respond(exchange, async (token) => {
          const caller = await authenticate(token)
          exchange.tokenId = tokenIdOf(caller)
          return caller
        })
        await sendAnswer(exchange, spec.answers[answer.status], answer)
      },
      { operationId: spec.operationId, level: spec.quiet ? 'debug' : 'info' },
    )

  const unnamed: AccessLogOptions = { operationId: undefined, level: 'info' }
  const app = createApp()
  for (const [path, group] of groupByPath(routes)) {
    const allow = allowedMethods(group)
    const place = app.route(toExpressPath(path))
    for (const route of group) place[toExpressMethod(route)](serveRoute(route))
    place.options(serve((exchange) => sendWhole(exchange, 204, { allow }), unnamed))
    place.all(serve((exchange) => sendFailure(exchange, methodNotAllowed(exchange, allow), { allow }), unnamed))
  }
  app.use(serve((exchange) => sendFailure(exchange, notFound('path', exchange.request.path)), unnamed))
  app.use(createErrorHandler((error) => serve((exchange) => sendFailure(exchange, error), unnamed)))
  return { app, running }
}

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

const methodNotAllowed = ({ request }: Exchange, allow: string): AppError =>
  new AppError('METHOD_NOT_ALLOWED', `${request.path} answers ${allow}, and not ${request.method}`)

/** What fails before a route is reached: a path that can't be decoded, or a bug. */
function createErrorHandler(serveFailure: (error: unknown) => RequestHandler): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const failure = error instanceof URIError ? invalidRequest('the path is not validly percent-encoded') : error
    return serveFailure(failure)(request, response, next)
  }
}
