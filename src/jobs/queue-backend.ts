import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createPostgresBackend,
  type PgPool,
  type PgQueryable,
  type Processor,
  Queue,
  runMigrations,
  Worker,
  type WorkerOptions,
} from 'bullmq'
import type pg from 'pg'
import { JOB_KINDS } from '../contract/job.ts'
import type { QueueState } from '../contract/queue.ts'
import type { IdleConnections } from '../database/idle-connections.ts'
import { createPool } from '../database/pool.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { type StartLockOptions, withStartLock } from '../database/start-lock.ts'
import { AppError, databaseUnavailable } from '../errors.ts'
import { openRedis, type RedisAddress, type RedisClient } from '../lib/redis.ts'
import type { Logger } from '../logger.ts'
import { queueName } from './job.ts'
import { replaceAdvisoryLocks } from './queue-locks.ts'

/** BullMQ's own schema in PostgreSQL. */
const SCHEMA = 'bullmq'

/** Connections for short questions, and one for each worker, on which it listens. */
const MAX_CONNECTIONS = 4 + JOB_KINDS.length

/** How long Redis may take to answer when the service starts. */
const START_TIMEOUT_MS = 10_000

/** The name before all of the queue's keys in Redis. */
const PREFIX = 'wharf'

/** What Wharf reads of an entry of a queue. */
interface BackendEntry {
  readonly id?: string
  /** When it was put there, in milliseconds since 1970. */
  readonly timestamp: number
}

/** What Wharf uses of BullMQ's `Queue`, whatever it is on. */
export interface BackendQueue {
  addBulk(
    jobs: { name: string; data: object; opts: { jobId: string; removeOnComplete: boolean; removeOnFail: boolean } }[],
  ): Promise<unknown>
  remove(id: string): Promise<unknown>
  getWaitingCount(): Promise<number>
  getJobCounts(...states: QueueState[]): Promise<{ [state: string]: number }>
  /** Those of one state, the oldest first. */
  getJobs(
    state: QueueState,
    start: number,
    end: number,
    ascending: true,
  ): Promise<readonly (BackendEntry | undefined)[]>
  on(event: 'error', listener: (error: Error) => void): unknown
  close(): Promise<void>
}

/** What Wharf uses of BullMQ's `Worker`. */
export interface BackendWorker {
  on(event: 'error', listener: (error: Error) => void): unknown
  waitUntilReady(): Promise<unknown>
  pause(doNotWaitActive: boolean): Promise<void>
  close(force?: boolean): Promise<void>
}

export type WorkerRules = Omit<WorkerOptions, 'connection' | 'prefix'>

/** Where the queue is: the one place that knows whether that is Redis or PostgreSQL. */
export interface QueueBackend {
  readonly kind: 'redis' | 'postgres'
  openQueue(name: string): BackendQueue
  /** @param processor must have three parameters, else BullMQ gives it no signal. */
  openWorker(name: string, processor: Processor, rules: WorkerRules): BackendWorker
  /**
   * Asks for a sign of life over the connections by which workers hear of jobs. Settles where one is not open, too: it
   * is being opened again then.
   */
  ask(): Promise<unknown>
  close(): Promise<void>
}

/**
 * The queue on Redis. Producers fail at once where it does not answer; workers wait for it to come back.
 *
 * @param address of a Redis that evicts nothing (`maxmemory-policy noeviction`).
 * @throws {AppError} QUEUE_UNAVAILABLE where it does not answer: BullMQ gives a queue up for good that it could not
 *   open.
 */
export async function openRedisBackend(address: RedisAddress, logger: Logger): Promise<QueueBackend> {
  // A cluster keeps all keys with the same text in braces on one node, as BullMQ's scripts need them.
  const prefix = address.cluster.length > 0 ? `{${PREFIX}}` : PREFIX
  const clients: RedisClient[] = []
  const ofWorkers: RedisClient[] = []
  const connect = (options: { maxRetriesPerRequest: number | null; enableOfflineQueue: boolean }): RedisClient => {
    const client = openRedis(address, { ...options, retryStrategy: (times) => Math.min(times * 100, 2_000) })
    client.on('error', (error) => logger.debug({ err: error }, 'the connection to Redis has trouble'))
    clients.push(client)
    return client
  }
  const producer = connect({ maxRetriesPerRequest: 1, enableOfflineQueue: false })
  await untilReady(producer)
  return {
    kind: 'redis',
    openQueue: (name) => new Queue(name, { connection: producer, prefix, skipWaitingForReady: true }),
    openWorker(name, processor, rules) {
      const connection = connect({ maxRetriesPerRequest: null, enableOfflineQueue: true })
      ofWorkers.push(connection)
      return new Worker(name, processor, { ...rules, connection, prefix })
    },
    ask: () => Promise.all(ofWorkers.map(answer)),
    async close() {
      for (const client of clients) client.disconnect()
    },
  }
}

/** Without an answer, such a client asks again when it is connected again, for ever. */
async function answer(client: RedisClient): Promise<void> {
  if (client.status !== 'ready' && client.status !== 'connect') return
  const waiting = new AbortController()
  const closed = once(client, 'close', { signal: waiting.signal })
  const answered = client.ping()
  void Promise.allSettled([closed, answered])
  try {
    await Promise.race([answered, closed])
  } finally {
    waiting.abort()
  }
}

/** It says why it is not ready again and again; what counts is whether it comes to be. */
async function untilReady(client: RedisClient): Promise<void> {
  const until = performance.now() + START_TIMEOUT_MS
  while (client.status !== 'ready') {
    if (performance.now() > until) {
      client.disconnect()
      throw new AppError(
        'QUEUE_UNAVAILABLE',
        'Redis cannot be reached; check REDIS_URL and WHARF_REDIS_SENTINELS, and that it runs',
      )
    }
    await delay(20)
  }
}

/**
 * The queue on PostgreSQL, in a schema of its own, which is made or brought up to date first.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where another session keeps its tables locked.
 */
export async function openPostgresBackend(
  databaseUrl: string,
  logger: Logger,
  idle?: IdleConnections,
): Promise<QueueBackend> {
  const options = { maxConnections: MAX_CONNECTIONS, session: 'queue', applicationName: 'wharf queue' } as const
  const pool = createPool(databaseUrl, options, logger, idle)
  // BullMQ describes the part of a pool that it uses with types of its own, which only differ in how exact they are.
  const connection = pool as unknown as PgPool
  await migrateQueue(connection, pool, { logger })
  return {
    kind: 'postgres',
    openQueue: (name) => new Queue(name, { connection }, createPostgresBackend),
    openWorker: (name, processor, rules) =>
      new Worker(name, processor, { ...rules, connection }, createPostgresBackend),
    ask: () => pool.query('SELECT 1'),
    close: () => pool.end(),
  }
}

/** BullMQ's migrations, and then rows in the place of its advisory locks; also of the one that its migrations take. */
async function migrateQueue(connection: PgPool, pool: pg.Pool, options: StartLockOptions): Promise<void> {
  const lock = await pool.connect()
  const client = await connection.connect()
  const withoutLock: PgQueryable = {
    query: async (sql, values) =>
      sql.startsWith('SELECT pg_advisory_xact_lock(') ? { rows: [] } : client.query(sql, values),
  }
  try {
    await withStartLock(lock, options, async () => {
      await runMigrations(withoutLock, SCHEMA)
      await replaceAdvisoryLocks(client, JOB_KINDS.map(queueName))
    })
  } catch (error) {
    throw sqlState(error) === SQLSTATE.lockNotAvailable ? queueLocked(error) : error
  } finally {
    client.release()
    lock.release()
  }
}

const queueLocked = (cause: unknown): AppError =>
  databaseUnavailable(
    `another session holds the tables of the queue (schema ${SCHEMA}), and this start has waited for them: pg_locks has ` +
      'its pid; end it, and start again',
    cause,
  )
