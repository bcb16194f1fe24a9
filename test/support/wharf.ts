import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { z } from 'zod'
import { startApi } from '../../src/api/start-api.ts'
import { loadConfig } from '../../src/config.ts'
import { type Container, createContainer } from '../../src/container.ts'
import { createLifecycle } from '../../src/lifecycle.ts'
import { createLogger } from '../../src/logger.ts'
import { type ApiClient, createApiClient } from './api-client.ts'
import { createMigratedDatabase, type TestDatabase } from './database.ts'

export const ROOT_TOKEN = 'root-token-of-the-tests-with-many-characters'

export interface TestWharf {
  readonly url: string
  readonly container: Container
  readonly database: TestDatabase
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
}

/** Starts the whole service in this process, on a database of its own. */
export async function startWharf(options: TestWharfOptions = {}): Promise<TestWharf> {
  const database = options.database ?? (await createMigratedDatabase())
  const databaseUrl = options.databaseUrl ?? database.url
  const dataDir = await mkdtemp(join(tmpdir(), 'wharf-test-'))
  await chmod(dataDir, 0o755)
  const lines: string[] = []
  const logger = createLogger('debug', collector(lines))
  const lifecycle = createLifecycle(logger)
  const needed = { WHARF_DATA_DIR: dataDir, WHARF_ROOT_TOKEN: ROOT_TOKEN, WHARF_PORT: '0' }
  const config = loadConfig({ ...needed, ...options.environment })
  const container = await createContainer({ config, databaseUrl, version: '0.0.0', logger, lifecycle })
  const api = await startApi(container, config)
  lifecycle.onClose('api', () => api.close())
  const root = createApiClient(api.url, ROOT_TOKEN)

  return {
    url: api.url,
    container,
    database,
    root,
    log: () => lines.join(''),
    async member(project, role) {
      const json = { name: `${role} of ${project}`, memberships: [{ project, role }] }
      const answer = await root.post('/tokens', { json })
      return root.withToken(tokenSchema.parse(answer.json).token)
    },
    async close() {
      await lifecycle.close()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

const tokenSchema = z.object({ token: z.string() })

const collector = (lines: string[]): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    },
  })
