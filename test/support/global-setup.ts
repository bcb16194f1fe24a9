import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { prepareDatabase } from '../../src/database/preparation.ts'
import { openPostgresBackend } from '../../src/jobs/queue-backend.ts'
import { createLogger } from '../../src/logger.ts'
import { isInstalled } from './is-installed.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the cluster that all test files share; each makes databases of its own in it. */
    clusterUrl: string
    /** The login that Wharf uses in tests: like the embedded one, no superuser. */
    wharfUrl: string
  }
}

/** Name of the migrated database that test files clone. */
export const TEMPLATE_DATABASE = 'wharf_template'

/** Builds the program once, for the tests that run it, and starts one PostgreSQL for all test files. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
  if (!isInstalled('redis-server')) {
    if (process.env.CI) throw new Error('redis-server is not installed, which .ci/run should have seen to')
    process.stderr.write('redis-server is not installed: tests of Redis are left out\n')
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  await chmod(dataDir, 0o755)
  const logger = createLogger('error')
  const postgres = await startEmbeddedPostgres({ dataDir, logger })
  await makeTemplate(postgres.superuserUrl, postgres.url)
  provide('clusterUrl', postgres.superuserUrl)
  provide('wharfUrl', postgres.url)
  return async () => {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function makeTemplate(superuserUrl: string, wharfUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE} OWNER wharf`)
  const url = new URL(wharfUrl)
  url.pathname = `/${TEMPLATE_DATABASE}`
  await prepareDatabase(url.href, createLogger('error'))
  const queue = await openPostgresBackend(url.href, createLogger('error'))
  await queue.close()
  await client.end()
}
