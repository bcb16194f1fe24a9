import { once } from 'node:events'
import { afterEach, expect } from 'vitest'
import { type ApiOptions, createApi } from '../../../src/api/create-api.ts'
import { type Listening, type ListenOptions, listen } from '../../../src/api/listen.ts'
import type { ReadinessCheck } from '../../../src/api/readiness.ts'
import { createServiceRoutes } from '../../../src/api/routers/service.ts'
import { unauthenticated } from '../../../src/errors.ts'
import { createLogger } from '../../../src/logger.ts'
import { createApiClient } from './api-client.ts'
import { type Probe, testRoutes } from './frame-handlers.ts'
import { type Caller, TOKEN } from './frame-routes.ts'

const untilAborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}

const open: Listening[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

export interface Options {
  readonly limits?: ApiOptions<Caller>['limits']
  readonly graceMs?: number
  readonly headMs?: ListenOptions['headMs']
  readonly connections?: ListenOptions['connections']
  readonly requestLimits?: ApiOptions<Caller>['requestLimits']
  readonly trustedProxies?: readonly string[]
  readonly checks?: Readonly<Record<string, ReadinessCheck>>
}

/** Starts a server with the routes above; it is closed after the test. */
export async function start(options: Options = {}) {
  const { limits = {}, graceMs = 50, checks = {}, headMs, connections, requestLimits, trustedProxies } = options
  const lines: Record<string, unknown>[] = []
  const logger = createLogger('debug', { write: (line: string) => lines.push(JSON.parse(line)) })
  const probe: Probe = { onWait: untilAborted, started: 0, lookUps: 0 }
  const routes = testRoutes(probe)
  const api = createApi<Caller>({
    routes: [...routes, ...createServiceRoutes({ routes, checks, version: '1.2.3' })],
    authorise: () => undefined,
    authenticate: async (token) => {
      probe.lookUps += 1
      if (token !== TOKEN) throw unauthenticated('the token is not known here')
      return { id: 'token-7' }
    },
    tokenIdOf: (caller) => caller.id,
    logger,
    limits: { lingerMs: 100, ...limits },
    ...(requestLimits && { requestLimits }),
    ...(trustedProxies && { trustedProxies }),
  })
  const server = await listen(api, {
    host: '127.0.0.1',
    port: 0,
    graceMs,
    ...(headMs !== undefined && { headMs }),
    ...(connections && { connections }),
  })
  open.push(server)
  const client = createApiClient(server.url, TOKEN)
  await client.get('/healthz')
  const accessLines = () => lines.filter(({ msg, path }) => msg === 'request' && !/healthz|openapi/.test(String(path)))
  /** Waits for something that happens after the answer, such as its line in the log. */
  const until = async (condition: () => boolean): Promise<void> => {
    await expect.poll(condition, { interval: 5, timeout: 20_000 }).toBe(true)
  }
  return { api, server, client, lines, accessLines, probe, until }
}
