import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts'
import { createLogger } from '../../../src/logger.ts'
import {
  createDatabaseIn,
  createMigratedDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../database/database.ts'
import { startWharf, type TestWharf, type TestWharfOptions } from '../service/wharf.ts'
import { assertNothingForeign, startRecording } from '../statements/record-statements.ts'
import { isThorough } from '../thorough.ts'
import { installedCluster } from './installed-cluster.ts'
import { installedPrograms } from './installed-programs.ts'
import { startOwnCluster } from './own-cluster.ts'

export interface EachServerOptions {
  readonly wharf?: TestWharfOptions
  /** Whether no other test file uses the server: for tests that take of it what all share, such as its connections. */
  readonly alone?: boolean
  /** Whether the installed one is enough unless tests are thorough: for what hardly depends on its version. */
  readonly oneIsEnough?: boolean
}

interface Server {
  createDatabase(): Promise<TestDatabase>
  /** For the service; it may have Wharf's tables already. */
  createServiceDatabase(): Promise<TestDatabase>
  remove(): Promise<void>
}

/** Gets the running service, and what makes an empty database beside it; both to be called in tests and hooks only. */
type DescribeOn = (wharf: () => TestWharf, createDatabase: () => Promise<TestDatabase>) => void

/** Describes something on the embedded PostgreSQL, and on the one that the system has installed, where it has one. */
export function describeOnEachServer(describeOn: DescribeOn, options: EachServerOptions = {}): void {
  const programs = installedPrograms()
  const embedded = options.alone ? startEmbedded : async () => SHARED
  if (programs === undefined || isThorough || !options.oneIsEnough) {
    describe('on the embedded PostgreSQL', () => describeWharf(embedded, describeOn, options.wharf))
  }
  if (programs === undefined) {
    if (process.env.CI) throw new Error('no PostgreSQL is installed, which .ci/run should have seen to')
    return
  }
  const installed = async (): Promise<Server> => {
    const shared = options.alone ? undefined : installedCluster()
    return shared ? { ...shared, remove: async () => undefined } : startOwnCluster(programs)
  }
  describe(`on the PostgreSQL of ${programs}`, () => describeWharf(installed, describeOn, options.wharf))
}

/** Describes something on an embedded PostgreSQL that no other test file uses. */
export function describeOnOwnEmbedded(describeOn: DescribeOn, wharf?: TestWharfOptions): void {
  describe('on an embedded PostgreSQL of its own', () => describeWharf(startEmbedded, describeOn, wharf))
}

function describeWharf(
  startServer: () => Promise<Server>,
  describeOn: DescribeOn,
  options: TestWharfOptions = {},
): void {
  let server: Server | undefined
  let service: TestWharf | undefined
  beforeAll(async () => {
    server = await startServer()
    service = await startWharf({ ...options, database: await server.createServiceDatabase() })
  })
  afterAll(async () => {
    await service?.close()
    await server?.remove()
  })
  const wharf = (): TestWharf => {
    if (!service) throw new Error('the service does not run yet')
    return service
  }
  describeOn(wharf, async () => {
    if (!server) throw new Error('the server does not run yet')
    return server.createDatabase()
  })
}

/** The server that all test files share. */
const SHARED: Server = {
  createDatabase: createTestDatabase,
  createServiceDatabase: createMigratedDatabase,
  remove: async () => undefined,
}

/** An embedded PostgreSQL that belongs to one test file. */
async function startEmbedded(): Promise<Server> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  await chmod(dataDir, 0o755)
  const postgres = await startEmbeddedPostgres({ dataDir, logger: createLogger('error') })
  await startRecording(postgres.superuserUrl)
  const createDatabase = () => createDatabaseIn(postgres)
  return {
    createDatabase,
    createServiceDatabase: createDatabase,
    async remove() {
      await postgres.stop()
      await assertNothingForeign(join(dataDir, 'postgres.log')).finally(() =>
        rm(dataDir, { recursive: true, force: true }),
      )
    },
  }
}
