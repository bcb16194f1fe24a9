import { randomUUID } from 'node:crypto'
import type { ArtifactStore } from './artifacts/artifact-store.ts'
import { createArtifactStore } from './artifacts/create-artifact-store.ts'
import { type Config, redisAddressOf } from './config.ts'
import { type CacheLookups, createCacheLookups } from './content/cache-lookups.ts'
import { type Content, createContent } from './content/content.ts'
import { createRedisCache } from './content/redis-cache.ts'
import { createMemoryCache, layerCaches, MAX_CACHE_BYTES, type ResponseCache } from './content/response-cache.ts'
import {
  completeKeys,
  findSecretKeys,
  ROOT_TOKEN_FILE,
  readOrCreateSecret,
  type SecretKeys,
} from './data-folder/secrets.ts'
import { openSpoolFolder } from './data-folder/spool-folder.ts'
import { isConnectionLost } from './database/connection-lost.ts'
import type { Database, OpenDatabase } from './database/database.ts'
import { createIdleConnections, type IdleConnections } from './database/idle-connections.ts'
import { createLoginDatabases, type Login, type LoginDatabases } from './database/login-databases.ts'
import { openDatabase } from './database/open-database.ts'
import { prepareDatabase } from './database/preparation.ts'
import { createRoom, type Room } from './database/room.ts'
import { openSession } from './database/session-client.ts'
import { assertOpensAndTakesWrites } from './database/takes-writes.ts'
import { MAX_JOB_EXPORTS, MAX_JOB_IMPORTS } from './jobs/catalogue.ts'
import { assertOpensSecrets } from './jobs/check-secret-keys.ts'
import { createEndedJobs, type EndedJobs } from './jobs/ended-jobs.ts'
import { type JobQueue, openJobQueue } from './jobs/queue.ts'
import { openPostgresBackend, openRedisBackend, type QueueBackend } from './jobs/queue-backend.ts'
import { resealSecrets } from './jobs/reseal-secrets.ts'
import { JOB_TIMINGS, type JobTimings } from './jobs/timings.ts'
import { createJobWatcher, type JobWatcher } from './jobs/watch-jobs.ts'
import { createBatcher } from './lib/batcher.ts'
import { openRedis } from './lib/redis.ts'
import { createSeal, type Seal } from './lib/seal.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Logger } from './logger.ts'
import { createDeliveryCounts, type DeliveryCounts } from './notifications/delivery-counts.ts'
import { hashToken } from './projects/access.ts'
import { type AttachedDatabases, createAttachedDatabases } from './projects/attached/attached-databases.ts'
import { createLogRepair } from './projects/attached/repair-logs.ts'
import { createOwnDatabases, type OwnDatabases } from './projects/own-database/own-databases.ts'
import { createProjectDatabases } from './projects/project-databases.ts'
import { restoreProjectPassword } from './projects/project-login.ts'
import { restoreLogins } from './projects/restore-logins.ts'
import type { FindProjectDatabase } from './projects/stage-database.ts'
import { generateToken } from './projects/tokens.ts'
import { createTurns, type Turns } from './projects/turns.ts'
import { createHelperRoom, type HelperRoom } from './transfer/export/helper-room.ts'

/** Connections of Wharf's own login for short questions. */
const MAX_CONNECTIONS = 20

/** How many exports can be under way in this process at once: those that requests ask for, and those of jobs. */
const EXPORTS = { requests: 10, jobs: MAX_JOB_EXPORTS }

/** The same of imports, undos and changes of structure. */
const IMPORTS = { requests: 6, jobs: MAX_JOB_IMPORTS }

/** How many event logs can be loaded in this process at once. */
const MAX_EVENT_LOADS = 5

/** How long an import waits until it can load its event log, in milliseconds: others do so at this server's pace. */
const EVENT_LOAD_WAIT_MS = 60 * 60_000

/** Connections of Wharf's own login for snapshots: one for each export. */
const MAX_SNAPSHOTS = EXPORTS.requests + EXPORTS.jobs

/** Connections of Wharf's own login for each import, for each event log that is loaded, and for the sweep. */
const MAX_IMPORTS = IMPORTS.requests + IMPORTS.jobs + MAX_EVENT_LOADS + 1

const ownConnections = MAX_CONNECTIONS + MAX_SNAPSHOTS + MAX_IMPORTS

/** How many of each kind the requests for one project may have under way at once in this process. */
const MAX_REQUESTS_PER_PROJECT = 4

/** The longest answer of the content endpoint, in bytes. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/** How long opening a connection may take for the database to count as ready, in milliseconds. */
const READY_TIMEOUT_MS = 2_000

/** How long opening a connection may take until the server counts as hanging, in milliseconds. */
const ANSWER_TIMEOUT_MS = 4_000

/** How long the response cache may keep an answer waiting, in milliseconds: it is there to save time. */
const CACHE_TIMEOUT_MS = 200

/** Wharf's services, each made once. */
export interface Container {
  readonly config: Config
  readonly logger: Logger
  /** Control tables, as Wharf's own login. */
  readonly control: Database
  /** System tables, as Wharf's own login; today in the same database as the control tables. */
  readonly system: Database
  /** The same database as `system`, on connections of their own, which exports keep for as long as they take. */
  readonly snapshots: Database
  /**
   * Asks whether work can be done now: over a connection that is opened for it, whether the database takes writes.
   *
   * @throws {AppError} DATABASE_READ_ONLY. Whatever keeps the connection from being opened.
   */
  readonly assertDatabaseReady: () => Promise<void>
  /** The same again, for imports and changes of structure. */
  readonly imports: Database
  readonly exportTurns: Turns
  readonly importTurns: Turns
  /** Those of jobs, whatever requests have under way: none waits for its turn, since workers take no more jobs than these. */
  readonly jobTurns: { readonly exportTurns: Turns; readonly importTurns: Turns }
  readonly eventLoadTurns: Turns
  readonly helperRoom: HelperRoom
  /** How many sessions each project's login may have. */
  readonly room: Room
  /** The login databases behind `projectDatabase`, which forget a login that was dropped. */
  readonly logins: LoginDatabases
  /** The same of projects that are attached. */
  readonly attached: AttachedDatabases
  /** Makes databases for projects that want one for themselves. */
  readonly ownDatabases: OwnDatabases
  readonly projectDatabase: FindProjectDatabase
  /** Rows over HTTP. */
  readonly content: Content
  readonly seal: Seal
  readonly rootTokenHash: Uint8Array
  /** Wharf's own version. */
  readonly version: string
  /** What the processes of the service know this one by. */
  readonly processId: string
  /** Name and version, as archives carry them. */
  readonly generator: string
  /** How long what an import replaced is kept, in hours; 0 keeps nothing. */
  readonly undoHours: number
  /** Where archives of jobs are kept, and uploads that wait for theirs. */
  readonly artifacts: ArtifactStore
  readonly queueBackend: QueueBackend
  readonly queue: JobQueue
  readonly watcher: JobWatcher
  readonly jobTimings: JobTimings
  /** Counts those that end in this process. */
  readonly endedJobs: EndedJobs
  /** Counts how often this process had an answer about rows already. */
  readonly cacheLookups: CacheLookups
  /** Counts the notifications that this process sends. */
  readonly deliveryCounts: DeliveryCounts
  /** Where this process keeps uploads while it checks and loads them. */
  readonly spoolFolder: string
}

/**
 * Turns the configuration into services, and opens what has to be opened.
 *
 * @param databaseUrl the database to use: the configured one, or the embedded one's.
 * @param lifecycle gets a closer for all that was opened.
 * @throws {AppError} as `prepareDatabase`, `assertOpensSecrets`, `resealSecrets` and `restoreLogins` do.
 */
export async function createContainer(options: {
  readonly config: Config
  readonly databaseUrl: string
  /** Wharf's own. */
  readonly version: string
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly jobTimings?: Partial<JobTimings>
}): Promise<Container> {
  const { config, databaseUrl, version, logger, lifecycle } = options
  const shares = { logger, projectConnections: config.projectConnections, ownConnections }
  const idle = createIdleConnections()
  const open = databaseOpener(databaseUrl, logger, idle)
  const control = open(databaseUrl, { maxConnections: MAX_CONNECTIONS, session: 'wharf', endsWhenServerHangs: true })
  lifecycle.onClose('database', control.close)
  await prepareWith(control, () => prepareDatabase(databaseUrl, shares))
  const rootTokenHash = hashToken(await rootTokenOf(config))
  const keys = await secretKeysFor(control, config)
  const seal = createSeal(keys.current, keys.previous)
  await resealSecrets(control, seal, { logger, keySource: keys.source })
  const ownDatabases = createOwnDatabases(control, databaseUrl, { logger })
  const room = createRoom(control.pool, shares)
  await restoreLogins({ control, seal, room, ownDatabases, logger })
  const snapshots = open(databaseUrl, { maxConnections: MAX_SNAPSHOTS, session: 'wharf', givesByteText: true })
  lifecycle.onClose('snapshots', snapshots.close)
  const imports = open(databaseUrl, { maxConnections: MAX_IMPORTS, session: 'wharf' })
  lifecycle.onClose('imports', imports.close)
  const restorePassword = (login: Login) => restoreProjectPassword(control.prisma, login, logger)
  const logins = createLoginDatabases({ baseUrl: databaseUrl, open, restorePassword })
  lifecycle.onClose('project databases', logins.closeAll)
  const attached = createAttachedDatabases({ control: control.prisma, seal, open, allowedHosts: config.transferHosts })
  lifecycle.onClose('attached databases', attached.closeAll)

  const artifacts = await createArtifactStore(config.artifacts, config.artifactsPublicUrl)
  lifecycle.onClose('artifacts', artifacts.close)
  const jobTimings = { ...JOB_TIMINGS, ...options.jobTimings }
  const queueBackend = await openQueueBackend(config, databaseUrl, { logger, idle })
  const queue = openJobQueue(queueBackend, { logger, lookMs: jobTimings.queueLookMs })
  lifecycle.onClose('queue', queue.close)
  const watcher = createJobWatcher(control, { watchMs: jobTimings.watchMs, logger })
  lifecycle.onClose('watcher', watcher.close)
  const projectDatabase = createProjectDatabases({ control: control.prisma, seal, logins, attached })
  const cacheLookups = createCacheLookups()
  const content = createContent({
    control,
    system: control,
    logins,
    projectDatabase,
    rootTokenHash,
    cache: cacheLookups.counting(openResponseCache(config, logger, lifecycle)),
    limits: { timeoutMs: config.queryTimeoutMs, maxRows: config.maxRows, maxBytes: MAX_ANSWER_BYTES },
    onLogProblem: createLogRepair({ projectDatabase, logger }),
  })

  return {
    config,
    logger,
    control,
    system: control,
    snapshots,
    assertDatabaseReady: createReadiness(databaseUrl, { logger, idle }),
    imports,
    ...createAllTurns(config),
    room,
    logins,
    attached,
    ownDatabases,
    projectDatabase,
    content,
    seal,
    rootTokenHash,
    ...{ version, processId: randomUUID() },
    generator: `wharf/${version}`,
    artifacts,
    queueBackend,
    queue,
    ...{ watcher, jobTimings, cacheLookups, undoHours: config.undoHours },
    ...{ endedJobs: createEndedJobs(), deliveryCounts: createDeliveryCounts() },
    spoolFolder: await openSpoolFolder(config.dataDir),
  }
}

/** Prepares the database, and has Prisma load its engine meanwhile, which asks PostgreSQL nothing. */
async function prepareWith({ prisma }: Database, prepare: () => Promise<void>): Promise<void> {
  const [prepared, engine] = await Promise.allSettled([prepare(), prisma.$connect()])
  if (prepared.status === 'rejected') throw prepared.reason
  if (engine.status === 'rejected') throw engine.reason
}

/** A key is made only where nothing was encrypted yet: with another one, nothing of it could be read. */
async function secretKeysFor(control: Database, config: Config): Promise<SecretKeys> {
  const keys = await findSecretKeys(config)
  if (keys.current === undefined) await assertOpensSecrets(control, keys)
  return completeKeys(keys, config.dataDir)
}

interface Surroundings {
  readonly logger: Logger
  readonly idle: IdleConnections
}

const openQueueBackend = (
  config: Config,
  databaseUrl: string,
  { logger, idle }: Surroundings,
): Promise<QueueBackend> => {
  const redis = redisAddressOf(config)
  return redis ? openRedisBackend(redis, logger) : openPostgresBackend(databaseUrl, logger, idle)
}

/** Those who ask at the same time share one connection. */
function createReadiness(databaseUrl: string, { logger, idle }: Surroundings): Container['assertDatabaseReady'] {
  const session = { kind: 'wharf', applicationName: 'wharf readiness', connectTimeoutMs: READY_TIMEOUT_MS } as const
  const ask = createBatcher<undefined, void>(async () => {
    await idle.connecting(databaseUrl, () => assertOpensAndTakesWrites(databaseUrl, { ...session, logger }))
    return new Map()
  })
  return () => ask('', undefined)
}

/** Whether PostgreSQL lets anybody in, or says at least why not. Those who ask at the same time share one connection. */
function createAnswers(databaseUrl: string, logger: Logger): () => Promise<boolean> {
  const session = { kind: 'wharf', applicationName: 'wharf lives', connectTimeoutMs: ANSWER_TIMEOUT_MS } as const
  const ask = createBatcher<undefined, boolean>(async () => {
    const answers = await openSession(databaseUrl, { ...session, logger }).then(
      (client) => {
        void Promise.allSettled([client.end()])
        return true
      },
      (error: unknown) => !isConnectionLost(error),
    )
    return new Map([['', answers]])
  })
  return async () => (await ask('', undefined)) ?? false
}

function databaseOpener(databaseUrl: string, logger: Logger, idle: IdleConnections): OpenDatabase {
  const answers = createAnswers(databaseUrl, logger)
  return (target, options) => openDatabase(target, options, { logger, answers, idle })
}

function createAllTurns({
  turnWaitMs: waitMs,
  helpingSessions,
}: Config): Pick<Container, 'exportTurns' | 'importTurns' | 'jobTurns' | 'eventLoadTurns' | 'helperRoom'> {
  const ofRequests = (what: string, room: number): Turns =>
    createTurns({ what, perProject: MAX_REQUESTS_PER_PROJECT, room, waitMs })
  // Twice as many, since half of the room is for projects that have none under way.
  const ofJobs = (what: string, jobs: number): Turns => createTurns({ what, perProject: jobs, room: 2 * jobs, waitMs })
  return {
    helperRoom: createHelperRoom(helpingSessions),
    exportTurns: ofRequests('exports', EXPORTS.requests),
    importTurns: ofRequests('imports or changes of structure', IMPORTS.requests),
    jobTurns: { exportTurns: ofJobs('exports', EXPORTS.jobs), importTurns: ofJobs('imports', IMPORTS.jobs) },
    eventLoadTurns: createTurns({
      what: 'event logs',
      perProject: 1,
      room: MAX_EVENT_LOADS,
      waitMs: EVENT_LOAD_WAIT_MS,
    }),
  }
}

/** Answers are kept in memory, and where Redis is configured there too, for the other processes. */
function openResponseCache(config: Config, logger: Logger, lifecycle: Lifecycle): ResponseCache {
  const memory = createMemoryCache(MAX_CACHE_BYTES)
  const address = redisAddressOf(config)
  if (address === undefined) return memory
  const redis = openRedis(address, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: CACHE_TIMEOUT_MS,
  })
  let reached = true
  redis.on('ready', () => {
    reached = true
  })
  redis.on('error', (error) => {
    // Said once, and not with each of the attempts that follow.
    if (reached) logger.warn({ err: error }, 'Redis cannot be reached; answers are not kept there')
    reached = false
  })
  lifecycle.onClose('response cache', async () => redis.disconnect())
  return layerCaches(memory, createRedisCache(redis, logger))
}

/** The root token: configured, or made at the first start and kept in the data folder. */
export async function rootTokenOf(config: Config): Promise<string> {
  return config.rootToken ?? readOrCreateSecret(config.dataDir, ROOT_TOKEN_FILE, generateToken)
}
