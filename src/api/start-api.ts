import type { Config } from '../config.ts'
import type { Container } from '../container.ts'
import { createProver, readProofSecret } from '../data-folder/service-proof.ts'
import { unauthenticated } from '../errors.ts'
import { authenticate, type Caller } from '../projects/access.ts'
import { authorise } from './access.ts'
import { type ApiAddress, cannotListen } from './assert-free.ts'
import { type Api, createApi } from './create-api.ts'
import { type Listening, listen } from './listen.ts'
import { createMetrics } from './metrics.ts'
import { readinessOf } from './readiness.ts'
import { attachedServerRoutes } from './routers/attached-servers.ts'
import { attachmentRoutes } from './routers/attachments.ts'
import { createConsoleRoutes } from './routers/console.ts'
import { contentRoutes } from './routers/content.ts'
import { contentFunctionRoutes } from './routers/content-functions.ts'
import { contentWriteRoutes } from './routers/content-writes.ts'
import { eventRoutes } from './routers/events.ts'
import { exportRoutes } from './routers/export.ts'
import { healthRoutes } from './routers/health.ts'
import { importRoutes } from './routers/import.ts'
import { jobFileRoutes } from './routers/job-file.ts'
import { jobImportRoutes } from './routers/job-import.ts'
import { jobRoutes } from './routers/jobs.ts'
import { overviewRoutes } from './routers/overview.ts'
import { projectRoutes } from './routers/projects.ts'
import { roleRoutes } from './routers/roles.ts'
import { scheduleRoutes } from './routers/schedules.ts'
import { schemaRoutes } from './routers/schema.ts'
import { createServiceRoutes } from './routers/service.ts'
import { sessionRoutes } from './routers/session.ts'
import { tokenRoutes } from './routers/tokens.ts'
import { transferRoutes } from './routers/transfer.ts'
import { uploadRoutes } from './routers/uploads.ts'
import { webhookRoutes } from './routers/webhooks.ts'
import { createSessions } from './session-cookie.ts'

/**
 * Serves the whole HTTP interface.
 *
 * @param address where to listen; port 0 lets the system choose.
 * @throws {AppError} CONFIG_INVALID where the address cannot be had.
 */
export async function startApi(container: Container, address: ApiAddress): Promise<Listening> {
  const { config, control, logger, rootTokenHash, version } = container
  const proofSecret = await readProofSecret(config.dataDir)
  const prove = createProver(proofSecret)
  const sessions = createSessions(container.seal)
  const routes = [
    ...overviewRoutes(container),
    ...projectRoutes(container, proofSecret),
    ...attachmentRoutes(container, proofSecret),
    ...attachedServerRoutes(container, proofSecret),
    ...healthRoutes(container),
    ...eventRoutes(container),
    ...roleRoutes(container),
    ...schemaRoutes(container),
    ...tokenRoutes(container),
    ...sessionRoutes(sessions),
    ...exportRoutes(container),
    ...importRoutes(container),
    ...uploadRoutes(container),
    ...contentRoutes(container),
    ...contentWriteRoutes(container),
    ...contentFunctionRoutes(container),
    ...transferRoutes(container),
    ...scheduleRoutes(container),
    ...webhookRoutes(container),
    ...jobRoutes(container),
    ...jobFileRoutes(container),
    ...jobImportRoutes(container),
  ]
  const { database, queue } = readinessOf(container)
  const metrics = createMetrics({ ...container, checks: { database, queue } })
  const checks = { database }
  const checksOfJobs = { queue }
  const api = createApi<Caller>({
    routes: [
      ...routes,
      ...createServiceRoutes({ checks, checksOfJobs, routes, version, metrics, prove }),
      ...createConsoleRoutes(),
    ],
    observe: metrics.observeRequest,
    authenticate: (token) => authenticate(control.prisma, rootTokenHash, token),
    authorise,
    sessionTokenOf: sessions.tokenOf,
    limits: {
      uploadMs: config.uploadMs,
      uploadBytesPerSecond: config.uploadBytesPerSecond,
      answerIdleMs: config.stalledReaderSeconds * 1_000,
      answerBytesPerSecond: config.readerBytesPerSecond,
    },
    tokenIdOf: (caller) => (caller.kind === 'root' ? 'root' : caller.tokenId),
    logger,
    requestLimits: config,
    trustedProxies: config.trustedProxies,
  })
  return listenAt(api, address, 'WHARF_PORT', config)
}

/**
 * Serves what Prometheus and supervisors ask a process that has no interface: `/healthz`, `/readyz` and `/metrics`. It is
 * ready only with its queue, since without there is nothing that it could do.
 *
 * @throws {AppError} CONFIG_INVALID where the address cannot be had.
 */
export async function startMonitoring(container: Container, address: ApiAddress): Promise<Listening> {
  const { config, logger, version } = container
  const checks = readinessOf(container)
  const metrics = createMetrics({ ...container, checks })
  const routes = createServiceRoutes({ checks, routes: [], version, metrics })
  const api = createApi<never>({
    routes: routes.filter(({ spec }) => MONITORING.has(spec.path)),
    observe: metrics.observeRequest,
    authenticate: () => Promise.reject(unauthenticated('no call of a worker takes a token')),
    authorise: () => undefined,
    tokenIdOf: () => 'none',
    logger,
    requestLimits: config,
    trustedProxies: config.trustedProxies,
  })
  return listenAt(api, address, 'WHARF_METRICS_PORT', config)
}

const MONITORING: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

async function listenAt(api: Api, address: ApiAddress, variable: string, connections: Config): Promise<Listening> {
  const { maxConnections, trustedProxies } = connections
  try {
    return await listen(api, { ...address, connections: { maxConnections, trustedProxies } })
  } catch (error) {
    throw cannotListen(error, address, variable)
  }
}
