import type { ErrorCode } from '../../src/errors.ts'
import { createMigratedDatabase } from '../support/database/database.ts'
import type { FailPoint } from '../support/faults/fail-point.ts'
import { watchFiles } from '../support/faults/failing-files.ts'
import { startFailingRelay } from '../support/faults/failing-relay.ts'
import { readPostgresCalls } from '../support/faults/postgres-calls.ts'
import { readRedisCalls } from '../support/faults/redis-calls.ts'
import { startRedis } from '../support/servers/redis.ts'
import { MAY_ATTACH } from '../support/service/attached-location.ts'
import type { Location, PlacedProject } from '../support/service/location.ts'
import { SHARED_LOCATION } from '../support/service/locations.ts'
import { startWharf, type TestWharf, type TestWharfOptions } from '../support/service/wharf.ts'

/** A service with a worker, and a point in it at which calls can be made to fail. */
export interface FailingService {
  readonly wharf: TestWharf
  readonly failPoint: FailPoint
  /** Where the projects are that jobs are asked for. */
  readonly createProject: (slug: string, script: string) => Promise<PlacedProject>
  /** One of these is said where a call failed, and the service could not do without. */
  readonly codes: readonly ErrorCode[]
  close(): Promise<void>
}

/**
 * Nothing is kept for `undo`: what is found beside a stage has been forgotten there. Whatever is done by the clock is
 * done seldom, so that the nth call is the same one each time.
 */
const OPTIONS: TestWharfOptions = {
  worker: true,
  environment: { ...MAY_ATTACH, WHARF_UNDO_HOURS: '0' },
  jobTimings: { sweepMs: 60 * 60_000, heartbeatMs: 1_000 },
}

/** Starts a process beside the service that sweeps, which no call fails for. */
const startSweeper = (wharf: TestWharf, environment: Readonly<Record<string, string>> = {}): Promise<TestWharf> =>
  startWharf({ beside: wharf, environment: { ...MAY_ATTACH, ...environment }, jobTimings: { sweepMs: 100 } })

const createIn =
  (wharf: TestWharf, location: Location, via?: string): FailingService['createProject'] =>
  (slug, script) =>
    location.createProject(wharf, slug, { script, ...(via !== undefined && { via }) })

/** The calls to the file system for the data folder. */
export async function withFailingFiles(
  systemCode: 'EIO' | 'ENOSPC',
  location = SHARED_LOCATION,
): Promise<FailingService> {
  const wharf = await startWharf(OPTIONS)
  const sweeper = await startSweeper(wharf)
  const files = watchFiles(wharf.dataDir, systemCode)
  return {
    wharf,
    failPoint: files,
    createProject: createIn(wharf, location),
    codes: [systemCode === 'EIO' ? 'STORAGE_UNAVAILABLE' : 'STORAGE_FULL'],
    async close() {
      files.restore()
      await sweeper.close()
      await wharf.close()
    },
  }
}

/** The sessions of the queue call themselves so; it is on the same PostgreSQL, and asks again and again if there is work. */
const QUEUE_SESSION = 'wharf queue'

/** The calls to PostgreSQL, but for those of the queue, which never end. */
export const withFailingPostgres = (location?: Location): Promise<FailingService> =>
  withFailingSessions((name) => name !== QUEUE_SESSION, 'DATABASE_UNAVAILABLE', { location })

/** The commits on PostgreSQL. */
export const withFailingCommits = (location?: Location): Promise<FailingService> =>
  withFailingSessions((name) => name !== QUEUE_SESSION, 'DATABASE_UNAVAILABLE', { only: 'COMMIT', location })

/** The calls to the queue on PostgreSQL. */
export const withFailingPostgresQueue = (): Promise<FailingService> =>
  withFailingSessions((name) => name === QUEUE_SESSION, 'QUEUE_UNAVAILABLE')

async function withFailingSessions(
  counts: (name: string) => boolean,
  code: ErrorCode,
  { only, location = SHARED_LOCATION }: { readonly only?: string; readonly location?: Location | undefined } = {},
): Promise<FailingService> {
  const database = await createMigratedDatabase()
  const relay = await startFailingRelay(database.url, () => readPostgresCalls(counts, only))
  const wharf = await startWharf({ ...OPTIONS, database, databaseUrl: relay.url })
  const sweeper = await startSweeper(wharf)
  return {
    wharf,
    failPoint: relay,
    createProject: createIn(wharf, location),
    codes: [code],
    async close() {
      await sweeper.close()
      await wharf.close()
      await relay.close()
    },
  }
}

/** The calls to databases that are attached; or, if told so, their commits. */
export async function withFailingAttached(location: Location, only?: string): Promise<FailingService> {
  const database = await createMigratedDatabase()
  const relay = await startFailingRelay(database.superuserUrl, () => readPostgresCalls(() => true, only))
  const wharf = await startWharf({ ...OPTIONS, database })
  const sweeper = await startSweeper(wharf)
  return {
    wharf,
    failPoint: relay,
    createProject: createIn(wharf, location, new URL(relay.url).host),
    // A session that ends in the middle ends as it does in Wharf's own database.
    codes: ['ATTACHED_FAILED', 'DATABASE_UNAVAILABLE'],
    async close() {
      await sweeper.close()
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
  const sweeper = await startSweeper(wharf, { REDIS_URL: redis.url })
  return {
    wharf,
    failPoint: relay,
    createProject: createIn(wharf, SHARED_LOCATION),
    codes: ['QUEUE_UNAVAILABLE'],
    async close() {
      await sweeper.close()
      await wharf.close()
      await relay.close()
      await redis.kill()
    },
  }
}
