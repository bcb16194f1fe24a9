import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts'
import { prepareDatabase } from '../../../src/database/preparation.ts'
import { openPostgresBackend } from '../../../src/jobs/queue-backend.ts'
import { createLogger } from '../../../src/logger.ts'
import { isInstalled } from '../processes/is-installed.ts'
import { assertNothingForeign, startRecording } from '../statements/record-statements.ts'
import { query } from './sessions.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the cluster that all test files share; each makes databases of its own in it. */
    clusterUrl: string
    /** The login that Wharf uses in tests: like the embedded one, no superuser. */
    wharfUrl: string
    /** The home folder of programs that tests run, which is not that of who runs the tests. */
    home: string
  }
}

/** Name of the migrated database that test files clone. */
export const TEMPLATE_DATABASE = 'wharf_template'

/** From how many test files on a run is one of the whole suite, and how many statements it asks at least. */
const MANY_FILES = 100
const LEAST_STATEMENTS = 1_000

/** The services of several test files share the server; each may take as many as a server of its own gives. */
const MAX_CONNECTIONS = 600

/** Builds the program once, for the tests that run it, and starts one PostgreSQL for all test files. */
export default async function setup({ provide, vitest }: TestProject): Promise<() => Promise<void>> {
  execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
  if (!isInstalled('redis-server')) {
    if (process.env.CI) throw new Error('redis-server is not installed, which .ci/run should have seen to')
    process.stderr.write('redis-server is not installed: tests of Redis are left out\n')
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  await chmod(dataDir, 0o755)
  const home = await mkdtemp(join(tmpdir(), 'wharf-test-home-'))
  const logger = createLogger('error')
  const postgres = await startEmbeddedPostgres({ dataDir, logger, maxConnections: MAX_CONNECTIONS })
  await forgetDisks(postgres.superuserUrl)
  await makeTemplate(postgres.superuserUrl, postgres.url)
  await startRecording(postgres.superuserUrl)
  provide('clusterUrl', postgres.superuserUrl)
  provide('wharfUrl', postgres.url)
  provide('home', home)
  return async () => {
    await askAsWharf(postgres.url)
    await postgres.stop()
    try {
      assertRecorded(await assertNothingForeign(join(dataDir, 'postgres.log')), vitest.state.getFiles().length)
    } catch (error) {
      // Vitest prints what a teardown throws, and passes all the same.
      process.exitCode = 1
      throw error
    } finally {
      for (const folder of [dataDir, home]) await rm(folder, { recursive: true, force: true })
    }
  }
}

/**
 * Nothing outlives this server, so that it need not wait for disks: to make and drop a database of its own for each file took up
 * to two seconds on a busy machine. Where a server is to crash, it is one of the test's own.
 */
async function forgetDisks(superuserUrl: string): Promise<void> {
  await query(superuserUrl, 'ALTER SYSTEM SET fsync = off')
  await query(superuserUrl, 'SELECT pg_reload_conf()')
}

/** Asks something as Wharf does, so that there is at least one statement to be recorded, whichever files ran. */
async function askAsWharf(url: string): Promise<void> {
  await query(`${url}?application_name=wharf`, 'SELECT 1')
}

/** A recorder that sees nothing has nothing to object to. */
function assertRecorded(statements: number, files: number): void {
  const least = files < MANY_FILES ? 1 : LEAST_STATEMENTS
  if (statements >= least) return
  throw new Error(`${statements} statements of Wharf's own login were recorded, which must be at least ${least}`)
}

async function makeTemplate(superuserUrl: string, wharfUrl: string): Promise<void> {
  await query(superuserUrl, `CREATE DATABASE ${TEMPLATE_DATABASE} OWNER wharf`)
  const url = new URL(wharfUrl)
  url.pathname = `/${TEMPLATE_DATABASE}`
  await prepareDatabase(url.href, { logger: createLogger('error') })
  const queue = await openPostgresBackend(url.href, createLogger('error'))
  await queue.close()
}
