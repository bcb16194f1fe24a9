import type { ErrorCode } from '../../src/errors.ts'
import { createMigratedDatabase } from './database.ts'
import { watchFiles } from './failing-files.ts'
import { startFailingRelay } from './failing-relay.ts'
import type { Seam } from './nth-call.ts'
import { readPostgresCalls } from './postgres-calls.ts'
import { startRedis } from './redis.ts'
import { readRedisCalls } from './redis-calls.ts'
import { startWharf, type TestWharf, type TestWharfOptions } from './wharf.ts'

/** A service with a worker, and a seam of it at which calls can be made to fail. */
export interface FailingService {
  readonly wharf: TestWharf
  readonly seam: Seam
  /** Of what is said where a call failed, and the service could not do without. */
  readonly code: ErrorCode
  close(): Promise<void>
}

/** Nothing is kept for `undo`: what is found beside a stage has been forgotten there. */
const OPTIONS: TestWharfOptions = {
  worker: true,
  environment: { WHARF_UNDO_HOURS: '0' },
  jobTimings: { sweepMs: 150 },
}

/** The calls to the file system for the data folder. */
export async function withFailingFiles(systemCode: 'EIO' | 'ENOSPC'): Promise<FailingService> {
  const wharf = await startWharf(OPTIONS)
  const files = watchFiles(wharf.dataDir, systemCode)
  return {
    wharf,
    seam: files,
    code: systemCode === 'EIO' ? 'STORAGE_UNAVAILABLE' : 'STORAGE_FULL',
    async close() {
      files.restore()
      await wharf.close()
    },
  }
}

/** The sessions of the queue call themselves so; it is on the same PostgreSQL, and asks again and again if there is work. */
const QUEUE_SESSION = 'wharf queue'

/** The calls to PostgreSQL, but for those of the queue, which never end. */
export const withFailingPostgres = (): Promise<FailingService> =>
  withFailingSessions((name) => name !== QUEUE_SESSION, 'DATABASE_UNAVAILABLE')

/** The calls to the queue on PostgreSQL. */
export const withFailingPostgresQueue = (): Promise<FailingService> =>
  withFailingSessions((name) => name === QUEUE_SESSION, 'QUEUE_UNAVAILABLE')

async function withFailingSessions(counts: (name: string) => boolean, code: ErrorCode): Promise<FailingService> {
  const database = await createMigratedDatabase()
  const relay = await startFailingRelay(database.url, () => readPostgresCalls(counts))
  const wharf = await startWharf({ ...OPTIONS, database, databaseUrl: relay.url })
  return {
    wharf,
    seam: relay,
    code,
    async close() {
      await wharf.close()
      await relay.close()
    },
  }
}

/** The calls to the queue on Redis. */
export async function withFailingRedis(): Promise<FailingService> {
  const redis = await startRedis()
  const relay = await startFailingRelay(redis.url, readRedisCalls)
  const wharf = await startWharf({ ...OPTIONS, environment: { ...OPTIONS.environment, REDIS_URL: relay.url } })
  return {
    wharf,
    seam: relay,
    code: 'QUEUE_UNAVAILABLE',
    async close() {
      await wharf.close()
      await relay.close()
      await redis.kill()
    },
  }
}
