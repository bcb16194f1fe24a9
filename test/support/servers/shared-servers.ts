import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts'
import { prepareDatabase } from '../../../src/database/preparation.ts'
import { openPostgresBackend } from '../../../src/jobs/queue-backend.ts'
import { createLogger } from '../../../src/logger.ts'
import { assertNothingForeign, startRecording } from '../statements/record-statements.ts'
import { startCluster } from './cluster.ts'
import { query } from './sessions.ts'
import { TEMPLATE_DATABASE } from './template-database.ts'

/** A PostgreSQL server that all test files share. */
export interface SharedServer {
  readonly url: string
  readonly superuserUrl: string
  /**
   * Ends and removes it.
   *
   * @returns how many statements of Wharf's own login there were. @throws {Error} where one used what is a project's.
   */
  end(): Promise<number>
}

/** The services of several test files share a server; each may take as many as a server of its own gives. */
const MAX_CONNECTIONS = 600

/** Starts the embedded PostgreSQL. */
export async function startEmbedded(): Promise<SharedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  await chmod(folder, 0o755)
  const logger = createLogger('error')
  const { url, superuserUrl, stop } = await startEmbeddedPostgres({
    dataDir: folder,
    logger,
    maxConnections: MAX_CONNECTIONS,
  })
  // Nothing outlives it, so that it need not wait for disks: to make and drop a database for each file took seconds.
  await query(superuserUrl, 'ALTER SYSTEM SET fsync = off')
  await query(superuserUrl, 'SELECT pg_reload_conf()')
  return share({ url, superuserUrl, folder, stop })
}

/** Starts the PostgreSQL of these programs. */
export async function startInstalled(bin: string): Promise<SharedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  const { url, superuserUrl, stop } = await startCluster(folder, {
    programs: { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') },
    settings: { fsync: 'off', max_connections: String(MAX_CONNECTIONS) },
  })
  return share({ url, superuserUrl, folder, stop: () => stop('SIGINT') })
}

interface Started extends Omit<SharedServer, 'end'> {
  /** Has the log, and is removed with it. */
  readonly folder: string
  stop(): Promise<void>
}

async function share({ url, superuserUrl, folder, stop }: Started): Promise<SharedServer> {
  await makeTemplate(superuserUrl, url)
  await startRecording(superuserUrl)
  return {
    url,
    superuserUrl,
    async end() {
      await stop()
      const log = join(folder, 'postgres.log')
      return assertNothingForeign(log).finally(() => rm(folder, { recursive: true, force: true }))
    },
  }
}

async function makeTemplate(superuserUrl: string, wharfUrl: string): Promise<void> {
  await query(superuserUrl, `CREATE DATABASE ${TEMPLATE_DATABASE} OWNER wharf`)
  const url = new URL(wharfUrl)
  url.pathname = `/${TEMPLATE_DATABASE}`
  await prepareDatabase(url.href, { logger: createLogger('error') })
  const queue = await openPostgresBackend(url.href, createLogger('error'))
  await queue.close()
}
