import { z } from 'zod'
import { CHALLENGE_PATTERN, type Prover } from '../../data-folder/service-proof.ts'
import { AppError, type Fault } from '../../errors.ts'
import { bytes, json } from '../answer.ts'
import type { Metrics } from '../metrics.ts'
import { createOpenApiDocument } from '../openapi.ts'
import { createChecks, type ReadinessChecks } from '../readiness.ts'
import { type AnyRouteSpec, type BoundRoute, routesUnder } from '../route.ts'
import { createDocsRoutes, getDocs } from './docs.ts'

const route = routesUnder('service')

const RETRY_AFTER_SECONDS = 5

const getHealth = route('GET /healthz', {
  operationId: 'getHealth',
  summary: 'Whether the process is alive',
  access: { by: 'anyone' },
  quiet: true,
  headers: z.object({ 'wharf-challenge': z.string().optional() }),
  answers: {
    200: json(z.object({ status: z.literal('ok') }), 'The process is alive.', {
      'wharf-proof':
        'On a connection over loopback, to a `Wharf-Challenge` of 32 random bytes in base64url: what only a server of ' +
        'this data folder can answer. The command line asks for it before it sends a token.',
    }),
  },
})

const readiness = z.object({
  status: z.literal('ready'),
  unavailable: z.array(z.string()).meta({
    description: 'What only jobs depend on, such as `queue`, and does not answer. All else works without it.',
  }),
})

const getReadiness = route('GET /readyz', {
  operationId: 'getReadiness',
  summary: 'Whether the service can do its work now: what every request depends on answers, and takes writes',
  access: { by: 'anyone' },
  quiet: true,
  answers: { 200: json(readiness, 'The service is ready, for jobs too where `unavailable` is empty.') },
  errors: ['NOT_READY'],
})

const getMetrics = route('GET /metrics', {
  operationId: 'getMetrics',
  summary: 'Figures for Prometheus: jobs, the queue, requests and the process',
  access: { by: 'anyone' },
  quiet: true,
  answers: { 200: bytes('text/plain', 'The figures, in the text format.') },
})

const getOpenApi = route('GET /openapi.json', {
  operationId: 'getOpenApi',
  summary: 'This description, as an OpenAPI 3.1 document',
  access: { by: 'anyone' },
  answers: { 200: bytes('application/json', 'The document.', {}, z.looseObject({ openapi: z.string() })) },
})

export interface ServiceOptions {
  /** What every request depends on, by name; the names are answered, the reasons are only logged. */
  readonly checks: ReadinessChecks
  /** The same of what is ready enough without: a balancer must not take out a server that can do all but jobs. */
  readonly checksOfJobs?: ReadinessChecks
  /** All other routes, to be described. */
  readonly routes: readonly { readonly spec: AnyRouteSpec }[]
  readonly version: string
  readonly metrics?: Metrics
  /** Proves to the command line on this machine whose service this is; nobody is proven anything where it is missing. */
  readonly prove?: Prover
}

/** The calls about the service itself: is it alive, is it ready, and how is it used. None needs a token. */
export function createServiceRoutes({
  checks,
  checksOfJobs = {},
  routes,
  version,
  metrics,
  prove,
}: ServiceOptions): BoundRoute<unknown>[] {
  const own = [getHealth, getReadiness, ...(metrics ? [getMetrics] : []), getOpenApi, getDocs]
  const describe = once(() =>
    createOpenApiDocument(
      [...routes, ...own].map(({ spec }) => spec),
      version,
    ),
  )
  const check = createChecks(checks)
  // The queue says by itself, once, that it has trouble.
  const checkForJobs = createChecks(checksOfJobs, 'debug')
  const describeAsJson = once(() => JSON.stringify(describe()))
  return [
    getHealth.handle(({ headers, request }) => {
      const challenge = headers['wharf-challenge']
      const address = request.localEnd.address.replace(/^::ffff:/, '')
      const proof =
        prove && challenge !== undefined && CHALLENGE_PATTERN.test(challenge) && isLoopbackAddress(address)
          ? prove(challenge, { address, port: request.localEnd.port, pid: process.pid })
          : undefined
      return { status: 200, body: { status: 'ok' }, headers: { 'wharf-proof': proof } }
    }),
    getReadiness.handle(async ({ log }) => {
      const [failed, unavailable] = await Promise.all([check(log), checkForJobs(log)])
      if (failed.size > 0) throw notReady([...failed.values()])
      return { status: 200, body: { status: 'ready', unavailable: [...unavailable.keys()] } }
    }),
    ...(metrics ? [getMetrics.handle(async () => ({ status: 200, body: await metrics.render() }))] : []),
    getOpenApi.handle(() => ({ status: 200, body: describeAsJson() })),
    ...createDocsRoutes(describe),
  ]
}

const isLoopbackAddress = (address: string): boolean => address === '::1' || address.startsWith('127.')

const notReady = (faults: readonly Fault[]): AppError =>
  new AppError('NOT_READY', 'something that the service depends on does not answer, or takes no writes', {
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
