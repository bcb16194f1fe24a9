import type { Container } from '../container.ts'
import { createProver, readProofSecret } from '../data-folder/service-proof.ts'
import { AppError } from '../errors.ts'
import { errorCode } from '../lib/error-code.ts'
import { authenticate, type Caller } from '../projects/access.ts'
import { authorise } from './access.ts'
import { createApi } from './create-api.ts'
import { type Listening, listen } from './listen.ts'
import { createMetrics } from './metrics.ts'
import { attachedServerRoutes } from './routers/attached-servers.ts'
import { attachmentRoutes } from './routers/attachments.ts'
import { contentRoutes } from './routers/content.ts'
import { contentWriteRoutes } from './routers/content-writes.ts'
import { exportRoutes } from './routers/export.ts'
import { importRoutes } from './routers/import.ts'
import { jobFileRoutes } from './routers/job-file.ts'
import { jobRoutes } from './routers/jobs.ts'
import { projectRoutes } from './routers/projects.ts'
import { roleRoutes } from './routers/roles.ts'
import { scheduleRoutes } from './routers/schedules.ts'
import { schemaRoutes } from './routers/schema.ts'
import { createServiceRoutes } from './routers/service.ts'
import { tokenRoutes } from './routers/tokens.ts'
import { transferRoutes } from './routers/transfer.ts'

/**
 * Serves the whole HTTP interface.
 *
 * @param address where to listen; port 0 lets the system choose.
 * @throws {AppError} CONFIG_INVALID where the address cannot be had.
 */
export async function startApi(
  container: Container,
  address: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const { config, control, assertDatabaseReady, queue, logger, rootTokenHash, version } = container
  const proofSecret = await readProofSecret(config.dataDir)
  const prove = createProver(proofSecret)
  const routes = [
    ...projectRoutes(container, proofSecret),
    ...attachmentRoutes(container, proofSecret),
    ...attachedServerRoutes(container, proofSecret),
    ...roleRoutes(container),
    ...schemaRoutes(container),
    ...tokenRoutes(container),
    ...exportRoutes(container),
    ...importRoutes(container),
    ...contentRoutes(container),
    ...contentWriteRoutes(container),
    ...transferRoutes(container),
    ...scheduleRoutes(container),
    ...jobRoutes(container),
    ...jobFileRoutes(container),
  ]
  const checks = {
    // The connections that are there, and one more.
    database: () => Promise.all([control.prisma.$queryRaw`SELECT 1`, assertDatabaseReady()]),
  }
  const checksOfJobs = { queue: () => queue.assertAvailable() }
  const metrics = createMetrics(container)
  const api = createApi<Caller>({
    routes: [...routes, ...createServiceRoutes({ checks, checksOfJobs, routes, version, metrics, prove })],
    observe: metrics.observeRequest,
    authenticate: (token) => authenticate(control.prisma, rootTokenHash, token),
    authorise,
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
  try {
    const { maxConnections, trustedProxies } = config
    return await listen(api, { ...address, connections: { maxConnections, trustedProxies } })
  } catch (error) {
    throw new AppError('CONFIG_INVALID', `cannot listen on ${address.host}:${address.port}: ${advice(error)}`, {
      cause: error,
    })
  }
}

function advice(error: unknown): string {
  const code = errorCode(error)
  if (code === 'EADDRINUSE') return 'another program listens there; stop it, or set WHARF_PORT to another port'
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address; set WHARF_HOST'
  if (code === 'EACCES') return 'ports below 1024 need more rights; set WHARF_PORT'
  return error instanceof Error ? error.message : String(error)
}
