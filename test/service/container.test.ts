import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { createContainer, rootTokenOf } from '../../src/container.ts'
import { createLifecycle } from '../../src/lifecycle.ts'
import { createLogger } from '../../src/logger.ts'
import { authenticate, hashToken } from '../../src/projects/access.ts'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

const logger = createLogger('silent')

async function openContainer(database: Pick<TestDatabase, 'url'>, environment: Record<string, string> = {}) {
  const config = loadConfig({ WHARF_DATA_DIR: await temporaryFolder(), ...environment })
  const lifecycle = createLifecycle(logger)
  const container = await createContainer({ config, databaseUrl: database.url, version: '0.0.0', logger, lifecycle })
  return { container, lifecycle, config }
}

test('everything that was opened is closed: no session is left in the database', async () => {
  const database = await createMigratedDatabase()
  const { container, lifecycle } = await openContainer(database)
  await Promise.all([container.control, container.snapshots].map(({ prisma }) => prisma.$queryRaw`SELECT 1`))
  const sessions = () =>
    database.query<{ application: string }>(
      `SELECT application_name AS application FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'wharf%'`,
    )
  expect((await sessions()).length).toBeGreaterThan(1)
  await lifecycle.close()
  await eventually(sessions).toEqual([])
  await database.drop()
})

test('the root token and the key are made once, for nobody else to read', async () => {
  const config = loadConfig({ WHARF_DATA_DIR: await temporaryFolder() })
  const token = await rootTokenOf(config)
  expect(token).toMatch(/^wharf_[\w-]{43}$/)
  expect(await rootTokenOf(config)).toBe(token)
  const file = join(config.dataDir, 'root-token')
  expect((await readFile(file, 'utf8')).trim()).toBe(token)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a configured root token is the root token, and none is kept', async () => {
  const database = await createMigratedDatabase()
  const token = 'a-root-token-of-at-least-thirty-two-characters'
  const { container, lifecycle } = await openContainer(database, { WHARF_ROOT_TOKEN: token })
  expect(container.rootTokenHash).toEqual(hashToken(token))
  expect(await authenticate(container.control.prisma, container.rootTokenHash, token)).toEqual({ kind: 'root' })
  await expect(stat(join(container.config.dataDir, 'root-token'))).rejects.toMatchObject({ code: 'ENOENT' })
  await lifecycle.close()
  await database.drop()
})

test('a database that cannot be reached is an expected failure that does not say where it would be', async () => {
  const opening = openContainer({ url: 'postgresql://someone:a-password@127.0.0.1:1/wharf' })
  await expect(opening).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.not.stringContaining('a-password'),
  })
})
