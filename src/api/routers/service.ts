import { z } from 'zod'
import { AppError, type Fault } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { bytes, json } from '../answer.ts'
import { DOCS_PAGE_POLICY, renderDocsPage } from '../docs-page.ts'
import type { Metrics } from '../metrics.ts'
import { createOpenApiDocument } from '../openapi.ts'
import { type AnyRouteSpec, type BoundRoute, defineRoute } from '../route.ts'

const CHECK_MS = 2_000
const RETRY_AFTER_SECONDS = 5

const getHealth = defineRoute({
  method: 'GET',
  path: '/healthz',
  operationId: 'getHealth',
  summary: 'Whether the process is alive',
  tag: 'service',
  auth: 'none',
  quiet: true,
  answers: { 200: json(z.object({ status: z.literal('ok') }), 'It is.') },
})

const getReadiness = defineRoute({
  method: 'GET',
  path: '/readyz',
  operationId: 'getReadiness',
  summary: 'Whether the service can do its work now: everything that it depends on answers',
  tag: 'service',
  auth: 'none',
  quiet: true,
  answers: { 200: json(z.object({ status: z.literal('ready') }), 'It can.') },
  errors: ['NOT_READY'],
})

const getMetrics = defineRoute({
  method: 'GET',
  path: '/metrics',
  operationId: 'getMetrics',
  summary: 'Figures for Prometheus: jobs, the queue, requests and the process',
  tag: 'service',
  auth: 'none',
  quiet: true,
  answers: { 200: bytes('text/plain', 'The figures, in the text format.') },
})

const getOpenApi = defineRoute({
  method: 'GET',
  path: '/openapi.json',
  operationId: 'getOpenApi',
  summary: 'This description, as an OpenAPI 3.1 document',
  tag: 'service',
  auth: 'none',
  answers: { 200: bytes('application/json', 'The document.', {}, z.looseObject({ openapi: z.string() })) },
})

const getDocs = defineRoute({
  method: 'GET',
  path: '/docs',
  operationId: 'getDocs',
  summary: 'This description, for reading',
  tag: 'service',
  auth: 'none',
  answers: {
    200: bytes('text/html', 'The page.', { 'content-security-policy': 'Allows the page its own style, nothing else.' }),
  },
})

/** Resolves if what it looks at answers. @param signal aborted when nobody waits any more. */
export type ReadinessCheck = (signal: AbortSignal) => Promise<unknown>

export interface ServiceOptions {
  /** What the service depends on, by name; the names are answered, the reasons are only logged. */
  readonly checks: Readonly<Record<string, ReadinessCheck>>
  /** All other routes, to be described. */
  readonly routes: readonly { readonly spec: AnyRouteSpec }[]
  readonly version: string
  readonly metrics?: Metrics
}

/** The calls about the service itself: is it alive, is it ready, and how is it used. None needs a token. */
export function createServiceRoutes({ checks, routes, version, metrics }: ServiceOptions): BoundRoute<unknown>[] {
  const own = [getHealth, getReadiness, ...(metrics ? [getMetrics] : []), getOpenApi, getDocs]
  const describe = once(() =>
    createOpenApiDocument(
      [...routes, ...own].map(({ spec }) => spec),
      version,
    ),
  )
  const describeAsJson = once(() => JSON.stringify(describe()))
  const describeAsPage = once(() => renderDocsPage(describe()))
  return [
    getHealth.handle(() => ({ status: 200, body: { status: 'ok' } })),
    getReadiness.handle(async ({ log }) => {
      const faults = await Promise.all(Object.entries(checks).map((entry) => runCheck(entry, log)))
      const failed = faults.filter((fault) => fault !== undefined)
      if (failed.length === 0) return { status: 200, body: { status: 'ready' } }
      throw notReady(failed)
    }),
    ...(metrics ? [getMetrics.handle(async () => ({ status: 200, body: await metrics.render() }))] : []),
    getOpenApi.handle(() => ({ status: 200, body: describeAsJson() })),
    getDocs.handle(() => ({
      status: 200,
      headers: { 'content-security-policy': DOCS_PAGE_POLICY },
      body: describeAsPage(),
    })),
  ]
}

async function runCheck([name, check]: [string, ReadinessCheck], log: Logger): Promise<Fault | undefined> {
  const expired = AbortSignal.timeout(CHECK_MS)
  const expiry = new Promise<never>((_, reject) => {
    expired.addEventListener('abort', () => reject(new Error(`no answer within ${CHECK_MS} ms`)), { once: true })
  })
  try {
    await Promise.race([check(expired), expiry])
    return undefined
  } catch (error) {
    log.warn({ err: error, check: name }, 'not ready')
    return { detail: `${name} does not answer` }
  }
}

const notReady = (faults: readonly Fault[]): AppError =>
  new AppError('NOT_READY', 'something that the service depends on does not answer', {
    faults,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })

/** Made when first asked for, and kept: neither is needed by a service that only moves data. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
