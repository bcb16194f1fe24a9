import { stat, writeFile } from 'node:fs/promises'
import { type ApiAddress, assertFree } from './api/assert-free.ts'
import type { Listening } from './api/listen.ts'
import { startApi, startMonitoring } from './api/start-api.ts'
import { assertWhole } from './backup/installation.ts'
import { assertBackupCron, startBackups } from './backup/start-backups.ts'
import { type Config, mailSettingsOf } from './config.ts'
import { type Container, createContainer, rootTokenOf } from './container.ts'
import { makeDataFolder } from './data-folder/make-data-folder.ts'
import { distrustOfSecrets } from './data-folder/secret-files.ts'
import { removeServiceAddress, toLocalUrl, writeServiceAddress } from './data-folder/service-address.ts'
import { takeDataFolder } from './data-folder/take-data-folder.ts'
import { startEmbeddedPostgres } from './database/embedded/embedded-postgres.ts'
import { retryLevel } from './database/sqlstate-meanings.ts'
import { AppError } from './errors.ts'
import { logStages } from './events/log-stages.ts'
import { shortenLogs } from './events/shorten-logs.ts'
import { startChecking } from './jobs/check-archives.ts'
import { createDescribe } from './jobs/describe-notification.ts'
import { startSchedules } from './jobs/schedules/tick.ts'
import { startSweeping as startJobSweep } from './jobs/start-sweeping.ts'
import type { JobTimings } from './jobs/timings.ts'
import { type Repeating, repeat } from './lib/repeat.ts'
import { unlessMissing } from './lib/unless-missing.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'
import type { Logger } from './logger.ts'
import { startSending } from './notifications/start-sending.ts'
import { startSignsOfLife } from './processes/signs-of-life.ts'
import { repairLogs } from './projects/attached/repair-logs.ts'
import { demoMarker, ensureDemoProject } from './projects/demo-project.ts'
import { sweepDoubts } from './transfer/import/external/settle-doubts.ts'
import { sweepShadowSchemas } from './transfer/import/shadow-schemas.ts'
import { readVersion } from './version.ts'
import { sweepScratchProjects } from './workers/scratch-projects.ts'
import { startWorkers } from './workers/start-workers.ts'
import { watchConnections } from './workers/watch-connections.ts'
import { startWatchdog } from './workers/watchdog.ts'

/** How often what imports left is swept away, in milliseconds. */
const SWEEP_INTERVAL_MS = 10 * 60_000

/** What a process does: answer requests, work on jobs, or both. */
const SERVICE_PARTS = ['api', 'worker'] as const
export type ServicePart = (typeof SERVICE_PARTS)[number]

export interface Service {
  /** Where the interface is; undefined where this process has none. */
  readonly url: string | undefined
  /** Where a process without an interface says how it is; undefined where it does not. */
  readonly metricsUrl: string | undefined
  readonly rootToken: string
  readonly container: Container
  /** Resolves with the reason when the service cannot go on, e.g. since its database ended. */
  readonly failed: Promise<Error>
  /** Ends it all in order: no new requests, running ones end or are ended, then the database. */
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly config: Config
  readonly logger: Logger
  /**
   * Whether the service is for everybody on this machine: it listens where the configuration says, and its address is
   * left in the data folder. Otherwise it is for this process alone, on a port that the system chooses, and the database
   * of a data folder is started only where that is new, or known to be this user's own.
   */
  readonly shared: boolean
  /** All of them where it is missing. */
  readonly parts?: readonly ServicePart[]
  readonly jobTimings?: Partial<JobTimings>
}

/**
 * Starts Wharf in this process, on the configured database or on the embedded one.
 *
 * @throws {AppError} DATA_FOLDER_IN_USE where another process has the embedded database; DATABASE_UNAVAILABLE and
 *   DATABASE_UNSUITABLE; CONFIG_INVALID where the address is taken, or the data folder is not known. Nothing is left
 *   running then.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const lifecycle = createLifecycle(options.logger)
  try {
    return await start(options, lifecycle)
  } catch (error) {
    await lifecycle.close()
    throw error
  }
}

async function start(options: ServiceOptions, lifecycle: Lifecycle): Promise<Service> {
  const { config, logger, shared, parts = SERVICE_PARTS } = options
  const ports = portsOf(options)
  if (!config.databaseUrl && parts.length < SERVICE_PARTS.length) throw sharedDatabaseNeeded()
  if (config.databaseUrl) await makeDataFolder(config.dataDir)
  else await takeForDatabase(options, lifecycle)
  for (const problem of await distrustOfSecrets(config.dataDir)) logger.warn(problem)
  // Before a database is set up: a taken port is for who starts it to see at once.
  if (ports.api) await assertFree(ports.api, 'WHARF_PORT')
  if (ports.metrics) await assertFree(ports.metrics, 'WHARF_METRICS_PORT')
  const rootToken = await rootTokenOf(config)
  const database = config.databaseUrl
    ? { url: config.databaseUrl, failed: new Promise<never>(() => undefined) }
    : await startEmbeddedDatabase(config, logger, lifecycle)
  const container = await createContainer({
    config,
    databaseUrl: database.url,
    version: readVersion(),
    logger,
    lifecycle,
    ...(options.jobTimings && { jobTimings: options.jobTimings }),
  })
  await assertWhole(container.control.prisma)
  if (!config.databaseUrl) await makeDemoOnce(container)
  startSweeping(container, lifecycle)
  await startJobs(container, lifecycle, parts)

  const api = ports.api && (await serveApi(container, lifecycle, { address: ports.api, shared }))
  const metrics = ports.metrics && (await startMonitoring(container, ports.metrics))
  if (metrics) lifecycle.onClose('metrics', () => metrics.close())
  return {
    url: api?.url,
    metricsUrl: metrics?.url,
    rootToken,
    container,
    failed: database.failed,
    close: () => lifecycle.close(),
  }
}

/** Where this process is to listen. */
function portsOf({ config, shared, parts = SERVICE_PARTS }: ServiceOptions): {
  readonly api: ApiAddress | undefined
  readonly metrics: ApiAddress | undefined
} {
  const { host, port, metricsPort } = config
  if (parts.includes('api'))
    return { api: shared ? { host, port } : { host: '127.0.0.1', port: 0 }, metrics: undefined }
  return { api: undefined, metrics: metricsPort === undefined ? undefined : { host, port: metricsPort } }
}

async function serveApi(
  container: Container,
  lifecycle: Lifecycle,
  { address, shared }: { readonly address: ApiAddress; readonly shared: boolean },
): Promise<Listening> {
  const { config } = container
  const api = await startApi(container, address)
  lifecycle.onClose('api', () => api.close())
  if (shared) {
    const url = toLocalUrl(api.url)
    await writeServiceAddress(config.dataDir, { url, pid: process.pid, startedAt: new Date().toISOString() })
    lifecycle.onClose('service address', () => removeServiceAddress(config.dataDir))
  }
  return api
}

async function startJobs(container: Container, lifecycle: Lifecycle, parts: readonly ServicePart[]): Promise<void> {
  lifecycle.onClose('signs of life', startSignsOfLife(container, parts).stop)
  lifecycle.onClose('sweep of jobs', startJobSweep(container).stop)
  if (!parts.includes('worker')) return
  const workers = await startWorkers(container)
  lifecycle.onClose('workers', workers.close)
  lifecycle.onClose('schedules', startSchedules(container).stop)
  lifecycle.onClose('notifications', startNotifying(container).stop)
  startBackingUp(container, lifecycle)
  lifecycle.onClose('checks of archives', startChecking(container, container.config.artifactCheckDays).stop)
  // An operator with a database of their own has something that starts this process again, too.
  if (!container.config.databaseUrl) return
  lifecycle.onClose('watchdog', startWatchdog(container.jobTimings, container.logger).stop)
  // With an API beside them, there is more to lose than to win: it can do a lot without the queue.
  if (!parts.includes('api')) watchWorker(container, lifecycle)
}

/** Sends what jobs, and others, have to say. */
function startNotifying(container: Container): Repeating {
  const { webhookHosts, publicUrl } = container.config
  const services = { webhookHosts, mail: mailSettingsOf(container.config), describe: createDescribe(publicUrl) }
  return startSending({ ...container, ...services }, container.jobTimings)
}

function startBackingUp(container: Container, lifecycle: Lifecycle): void {
  const { backupKey: passphrase, backupCron: cron, backupKeep: keep } = container.config
  if (cron === undefined) return
  // Also where none is written: it is wrong, and nobody would see it before there is a key.
  assertBackupCron(cron)
  if (passphrase === undefined) return
  lifecycle.onClose('backups', startBackups(container, { passphrase, cron, keep }).stop)
}

/** Ends this process where it can't hear of jobs any more, at once: nothing can be closed in order over such a line. */
function watchWorker({ control, queueBackend, jobTimings, logger }: Container, lifecycle: Lifecycle): void {
  const watching = watchConnections({
    connections: { queue: queueBackend.ask, database: () => control.pool.query('SELECT 1') },
    hangMs: jobTimings.hangMs,
    onHang(connection) {
      logger.fatal({ connection }, 'a connection is open and silent; the process ends, so that its jobs go to another')
      process.exit(1)
    },
  })
  lifecycle.onClose('watch over connections', watching.stop)
}

const sharedDatabaseNeeded = (): AppError =>
  new AppError('CONFIG_INVALID', 'the configuration is not usable', {
    faults: [{ detail: 'DATABASE_URL must be set for a process that is only the API, or only a worker' }],
  })

async function takeForDatabase({ config, logger, shared }: ServiceOptions, lifecycle: Lifecycle): Promise<void> {
  const { dataDir, stateDir } = config
  const lock = await takeDataFolder({ dataDir, stateDir, takeUnknown: shared, logger })
  lifecycle.onClose('data folder', () => lock.release())
}

async function startEmbeddedDatabase(
  config: Config,
  logger: Logger,
  lifecycle: Lifecycle,
): Promise<{ readonly url: string; readonly failed: Promise<Error> }> {
  let fail: (error: Error) => void = () => undefined
  const failed = new Promise<Error>((resolve) => {
    fail = resolve
  })
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger, onUnexpectedExit: fail })
  lifecycle.onClose('embedded database', () => postgres.stop())
  return { url: postgres.url, failed }
}

/** Drops what imports have left beside stages, and puts event logs right, now and then again and again. */
function startSweeping(container: Container, lifecycle: Lifecycle): void {
  const sweep = async (): Promise<void> => {
    await logStages(container)
    await repairLogs(container)
    await sweepDoubts(container, container.logger)
    await sweepShadowSchemas(container, container.logger)
    await sweepScratchProjects(container)
    await shortenLogs(container, { days: container.config.logDays, events: container.config.logEvents })
  }
  const sweeping = repeat(SWEEP_INTERVAL_MS, sweep, (error) =>
    container.logger[retryLevel(error)]({ err: error }, 'sweeping failed; it is tried again later'),
  )
  lifecycle.onClose('sweep', sweeping.stop)
}

/** The demo project is made once: after it is deleted, the next start does not make it again. */
async function makeDemoOnce(container: Container): Promise<void> {
  const marker = demoMarker(container.config.dataDir)
  if (await unlessMissing(stat(marker))) return
  await ensureDemoProject(container, AbortSignal.timeout(60_000))
  await writeFile(marker, '')
}
