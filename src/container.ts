import { PrismaPg } from '@prisma/adapter-pg'
import { Redis } from 'ioredis'
import type { ArtifactStore } from './artifacts/artifact-store.ts'
import { createArtifactStore } from './artifacts/create-artifact-store.ts'
import type { Config } from './config.ts'
import { type Content, createContent } from './content/content.ts'
import { createRedisCache } from './content/redis-cache.ts'
import { createMemoryCache, layerCaches, type ResponseCache } from './content/response-cache.ts'
import { ROOT_TOKEN_FILE } from './data-folder/root-token.ts'
import { readOrCreateSecret } from './data-folder/secrets.ts'
import { openSpoolFolder } from './data-folder/spool-folder.ts'
import type { Database, OpenDatabase } from './database/database.ts'
import { PrismaClient } from './database/generated/client.ts'
import { createLoginDatabases, type Login, type LoginDatabases } from './database/login-databases.ts'
import { createPool } from './database/pool.ts'
import { prepareDatabase } from './database/preparation.ts'
import { type JobQueue, openJobQueue } from './jobs/queue.ts'
import { openPostgresBackend, openRedisBackend, type QueueBackend } from './jobs/queue-backend.ts'
import { JOB_TIMINGS, type JobTimings } from './jobs/timings.ts'
import { createJobWatcher, type JobWatcher } from './jobs/watch-jobs.ts'
import { createSeal, type Seal } from './lib/seal.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Logger } from './logger.ts'
import { hashToken } from './projects/access.ts'
import { restoreProjectPassword } from './projects/project-login.ts'
import { createProjectDatabases, type FindProjectDatabase } from './projects/stage-database.ts'
import { generateToken } from './projects/tokens.ts'

/** Connections of Wharf's own login for short questions. */
const MAX_CONNECTIONS = 20

/** Connections of Wharf's own login for snapshots: as many exports can run at once in this process. */
const MAX_SNAPSHOTS = 16

/**
 * How long a transaction may wait for its connection, and last, in milliseconds, where its user says nothing else.
 * Prisma's own two and five seconds are too short for a machine that is busy.
 */
const TRANSACTIONS = { maxWait: 10_000, timeout: 60_000 }

/** Memory for answers of the content endpoint, in bytes. */
const MAX_CACHE_BYTES = 64 * 1024 * 1024

/** The longest answer of the content endpoint, in bytes. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

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
  /** The login databases behind `projectDatabase`, which forget a login that was dropped. */
  readonly logins: LoginDatabases
  readonly projectDatabase: FindProjectDatabase
  /** Rows over HTTP. */
  readonly content: Content
  readonly seal: Seal
  readonly rootTokenHash: Uint8Array
  /** Wharf's own version. */
  readonly version: string
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
  /** Where this process keeps uploads while it checks and loads them. */
  readonly spoolFolder: string
}

/**
 * Turns the configuration into services, and opens what has to be opened.
 *
 * @param databaseUrl the database to use: the configured one, or the embedded one's.
 * @param lifecycle gets a closer for all that was opened.
 * @throws {AppError} as `prepareDatabase` does.
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
  await prepareDatabase(databaseUrl, logger)
  const seal = createSeal(config.secretKey ?? (await readOrCreateSecret(config.dataDir, 'secret-key')))
  const rootToken = await rootTokenOf(config)

  const open: OpenDatabase = (connectionString, options) => {
    const pool = createPool(connectionString, options, logger)
    const prisma = new PrismaClient({ adapter: new PrismaPg(pool), transactionOptions: TRANSACTIONS })
    const close = async (): Promise<void> => {
      await prisma.$disconnect()
      await pool.end()
    }
    // Prisma connects again when it is next used.
    return { prisma, pool, rest: () => prisma.$disconnect(), close }
  }
  const control = open(databaseUrl, { maxConnections: MAX_CONNECTIONS })
  lifecycle.onClose('database', control.close)
  const snapshots = open(databaseUrl, { maxConnections: MAX_SNAPSHOTS })
  lifecycle.onClose('snapshots', snapshots.close)
  const restorePassword = (login: Login) => restoreProjectPassword(control.prisma, login, logger)
  const logins = createLoginDatabases({ baseUrl: databaseUrl, open, restorePassword })
  lifecycle.onClose('project databases', logins.closeAll)

  const artifacts = await createArtifactStore(config.artifacts)
  lifecycle.onClose('artifacts', artifacts.close)
  const jobTimings = { ...JOB_TIMINGS, ...options.jobTimings }
  const queueBackend = config.redisUrl
    ? await openRedisBackend(config.redisUrl, logger)
    : await openPostgresBackend(databaseUrl, logger)
  const queue = openJobQueue(queueBackend, logger)
  lifecycle.onClose('queue', queue.close)
  const watcher = createJobWatcher(control, { watchMs: jobTimings.watchMs, logger })
  lifecycle.onClose('watcher', watcher.close)
  const projectDatabase = createProjectDatabases({ control: control.prisma, seal, logins })
  const rootTokenHash = hashToken(rootToken)
  const content = createContent({
    control,
    system: control,
    logins,
    projectDatabase,
    rootTokenHash,
    cache: openResponseCache(config, logger, lifecycle),
    limits: { timeoutMs: config.queryTimeoutMs, maxRows: config.maxRows, maxBytes: MAX_ANSWER_BYTES },
  })

  return {
    config,
    logger,
    control,
    system: control,
    snapshots,
    logins,
    projectDatabase,
    content,
    seal,
    rootTokenHash,
    version,
    generator: `wharf/${version}`,
    undoHours: config.undoHours,
    artifacts,
    queueBackend,
    queue,
    watcher,
    jobTimings,
    spoolFolder: await openSpoolFolder(config.dataDir),
  }
}

/** Answers are kept in memory, and where Redis is configured there too, for the other processes. */
function openResponseCache({ redisUrl }: Config, logger: Logger, lifecycle: Lifecycle): ResponseCache {
  const memory = createMemoryCache(MAX_CACHE_BYTES)
  if (redisUrl === undefined) return memory
  const redis = new Redis(redisUrl, {
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
