import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { loadConfig } from '../../../src/config.ts'
import type { Container } from '../../../src/container.ts'
import type { JobTimings } from '../../../src/jobs/timings.ts'
import { createLogger } from '../../../src/logger.ts'
import { startService } from '../../../src/service.ts'
import { createMigratedDatabase, type TestDatabase } from '../database/database.ts'
import { type ApiClient, createApiClient } from '../http/api-client.ts'
import { createToken } from './tokens.ts'

export const ROOT_TOKEN = 'root-token-of-the-tests-with-many-characters'

export interface TestWharf {
  readonly url: string
  readonly container: Container
  readonly database: TestDatabase
  readonly dataDir: string
  /** A client with the root token. */
  readonly root: ApiClient
  /** Everything that was logged so far. */
  log(): string
  /** A client with a new token that has `role` in `project`. */
  member(project: string, role: string): Promise<ApiClient>
  close(): Promise<void>
}

export interface TestWharfOptions {
  /** Instead of a migrated one; dropped with the service. */
  readonly database?: TestDatabase
  /** Where that is reached, instead of directly. */
  readonly databaseUrl?: string
  /** Variables on top of those that a test needs anyway. */
  readonly environment?: Readonly<Record<string, string>>
  /** Whether jobs are worked on, and swept again and again; only where it is true. */
  readonly worker?: boolean
  readonly jobTimings?: Partial<JobTimings>
  /** Another process of the service that this one has database and data folder with; it outlives this one. */
  readonly beside?: TestWharf
}

/** Starts the service in this process as the program does, on a database of its own. */
export async function startWharf(options: TestWharfOptions = {}): Promise<TestWharf> {
  const database = options.beside?.database ?? options.database ?? (await createMigratedDatabase())
  const dataDir = options.beside?.dataDir ?? (await mkdtemp(join(tmpdir(), 'wharf-test-')))
  await chmod(dataDir, 0o755)
  const lines: string[] = []
  const needed = {
    DATABASE_URL: options.databaseUrl ?? database.url,
    WHARF_DATA_DIR: dataDir,
    WHARF_ROOT_TOKEN: ROOT_TOKEN,
  }
  const { url, container, close } = await startService({
    config: loadConfig({ ...needed, ...options.environment }),
    logger: createLogger('debug', collector(lines)),
    shared: false,
    parts: options.worker ? ['api', 'worker'] : ['api'],
    jobTimings: {
      ...SHORT_TIMINGS,
      ...(options.worker ? {} : { sweepMs: NEVER_MS }),
      ...BY_HAND,
      ...options.jobTimings,
    },
  })
  if (url === undefined) throw new Error('the service has no API')
  const root = createApiClient(url, ROOT_TOKEN)

  return {
    url,
    container,
    database,
    dataDir,
    root,
    log: () => lines.join(''),
    member: async (project, role) => (await createToken({ root }, role, project)).client,
    async close() {
      await close()
      if (options.beside) return
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** So that no test has to wait for what a crash takes in production. */
export const SHORT_TIMINGS: Partial<JobTimings> = {
  heartbeatMs: 250,
  leaseMs: 4_000,
  authorisationMs: 200,
  sweepMs: 700,
  lockMs: 4_000,
  stalledMs: 1_000,
  queueLookMs: 200,
  graceMs: 1_000,
  watchMs: 100,
  eventsMs: 500,
  retryMs: [200],
  busyMs: 300,
  remoteQueueMs: 2_000,
}

/** Longer than any test takes. */
const NEVER_MS = 60 * 60_000

/**
 * Tests give the time by which schedules are due, say where notifications are to be sent, and share their process: no
 * watchdog may kill it.
 */
const BY_HAND: Partial<JobTimings> = {
  scheduleMs: NEVER_MS,
  notifyMs: NEVER_MS,
  hangMs: NEVER_MS,
  // So that records stay the same while nothing is done.
  signMs: NEVER_MS,
}

const collector = (lines: string[]): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    },
  })
