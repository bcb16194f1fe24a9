import { randomUUID } from 'node:crypto'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Checked } from '../../src/doctor/check.ts'
import { checkClock } from '../../src/doctor/check-database.ts'
import { checkVersions } from '../../src/doctor/check-machine.ts'
import { runCommand, spawnWharf } from '../support/cli/cli.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createExternalDatabase } from '../support/database/external-database.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { canMakeCertificates } from '../support/servers/certificates.ts'
import { isRedisInstalled, type RedisServer, startRedis } from '../support/servers/redis.ts'
import { startRedisCluster } from '../support/servers/redis-cluster.ts'
import { startRedisWithSentinel } from '../support/servers/redis-sentinel.ts'
import { S3_BUCKET, startS3Server, stubS3Settings } from '../support/servers/s3-server.ts'
import { query, withSession } from '../support/servers/sessions.ts'
import { MAY_ATTACH } from '../support/service/attached-location.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let login: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop')
  login = (await loginUrl(wharf, 'shop')).username
})
afterAll(() => wharf?.close())

const asSuperuser = (sql: string) => query(wharf.database.superuserUrl, sql)

/** Runs SQL as the superuser, and other SQL after the test. */
async function until(sql: string, undo: string): Promise<void> {
  await asSuperuser(sql)
  onTestFinished(async () => void (await asSuperuser(undo)))
}

/** What there is nothing of to be checked, and what is said of it. */
const SKIPPED: ReadonlyMap<string, string> = new Map([
  ['backup of Wharf itself', 'set WHARF_BACKUP_KEY to have backups of Wharf itself'],
  ['attached databases', 'no project is attached'],
])

interface Report {
  readonly code: number | null
  readonly ok: boolean
  readonly checks: readonly Checked[]
}

/** What it says of the service that runs, or with other variables. */
async function examine(variables: Readonly<Record<string, string>> = {}): Promise<Report> {
  const needed = { DATABASE_URL: wharf.database.url, WHARF_DATA_DIR: wharf.dataDir }
  const { code, stdout } = await runCommand(['doctor', '--json'], { variables: { ...needed, ...variables } })
  return { code, ...JSON.parse(stdout) }
}

/** Expects one fault, and nothing else to be wrong. */
async function expectFault(name: string, detail: string, variables?: Readonly<Record<string, string>>): Promise<void> {
  const { code, ok, checks } = await examine(variables)
  const wrong = checks.filter(({ status }) => status === 'fault')
  expect(wrong).toEqual([{ name, status: 'fault', detail: expect.stringContaining(detail) }])
  expect({ code, ok }).toEqual({ code: 1, ok: false })
}

test('an installation in which nothing is wrong has no faults, and is not changed', async () => {
  const before = await readdir(wharf.dataDir, { recursive: true })
  const { code, ok, checks } = await examine()
  expect(checks.map(({ name, status, detail }) => ({ name, status: status === 'ok' ? status : detail }))).toEqual(
    [
      ...['versions', 'data folder', 'disk of the data folder', 'disk of archives', 'storage of archives'],
      ...['database', 'clock', 'rights in the database', 'migrations'],
      ...['backup of Wharf itself', 'secret key', 'logins of projects', 'attached databases'],
    ].map((name) => ({ name, status: SKIPPED.get(name) ?? 'ok' })),
  )
  expect({ code, ok }).toEqual({ code: 0, ok: true })
  expect(await readdir(wharf.dataDir, { recursive: true })).toEqual(before)
})

test('people get a line for each check, and how many faults there are', async () => {
  const variables = { DATABASE_URL: wharf.database.url, WHARF_DATA_DIR: wharf.dataDir }
  const { code, stdout } = await runCommand(['doctor'], { variables })
  expect(stdout).toMatch(/^ok +database +PostgreSQL \d+/m)
  expect(stdout).toMatch(/\n0 faults, 0 warnings in 13 checks\n$/)
  expect(code).toBe(0)
})

test('where nothing was started yet, nothing is made', async () => {
  const dataDir = join(await temporaryFolder(), 'data')
  const { code, stdout } = await runCommand(['doctor', '--json'], { variables: { WHARF_DATA_DIR: dataDir } })
  const { checks }: Pick<Report, 'checks'> = JSON.parse(stdout)
  expect(checks.slice(1).map(({ status }) => status)).toEqual(checks.slice(1).map(() => 'skipped'))
  expect(code).toBe(0)
  await expect(readdir(dataDir)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a database that is not there is one fault', async () => {
  const DATABASE_URL = 'postgresql://wharf:hidden@127.0.0.1:1/wharf'
  await expectFault('database', 'check DATABASE_URL, and that PostgreSQL runs', { DATABASE_URL })
  expect(JSON.stringify(await examine({ DATABASE_URL }))).not.toContain('hidden')
})

test('a database that takes no writes', async () => {
  const [row] = await query<{ name: string }>(wharf.database.url, 'SELECT current_database() AS name')
  const database = `DATABASE "${row?.name}"`
  await until(
    `ALTER ${database} SET default_transaction_read_only = on`,
    `BEGIN READ WRITE; ALTER ${database} RESET ALL; COMMIT`,
  )
  await expectFault('database', 'takes no writes: use the primary server')
})

test('a login of Wharf’s that may not make logins', async () => {
  const name = `plain_${randomUUID().slice(0, 8)}`
  const database = await createTestDatabase()
  onTestFinished(async () => {
    await database.drop()
    await asSuperuser(`DROP ROLE ${name}`)
  })
  const { pathname } = new URL(database.url)
  await query(
    database.superuserUrl,
    `CREATE ROLE ${name} LOGIN PASSWORD 'plain'; ALTER DATABASE ${pathname.slice(1)} OWNER TO ${name}`,
  )
  const url = Object.assign(new URL(database.url), { username: name, password: 'plain' }).href
  await expectFault('rights in the database', `ALTER ROLE "${name}" CREATEROLE`, { DATABASE_URL: url })
})

test('a database that is empty is made by the first start', async () => {
  const database = await createTestDatabase()
  onTestFinished(database.drop)
  const { code, checks } = await examine({ DATABASE_URL: database.url })
  expect(checks).toContainEqual({
    ...{ name: 'migrations', status: 'warning' },
    detail: 'the database is empty: the first start makes its tables',
  })
  expect(code).toBe(0)
})

test('a database that a newer version has migrated', async () => {
  await until(
    `INSERT INTO public._prisma_migrations (id, checksum, finished_at, migration_name) VALUES ('newer', '', now(), '2099_newer')`,
    `DELETE FROM public._prisma_migrations WHERE id = 'newer'`,
  )
  await expectFault('migrations', 'a newer version of Wharf has migrated this database, up to 2099_newer')
})

test('a secret key that is another one', async () => {
  const WHARF_SECRET_KEY = 'another-secret-key-with-more-than-32-characters'
  await expectFault('secret key', 'WHARF_SECRET_KEY does not open 1 of 1 stored secret', { WHARF_SECRET_KEY })
})

test('a secret key that was lost is not made anew', async () => {
  const dataDir = await temporaryFolder()
  await expectFault('secret key', 'there is no secret key, and 1 stored secret', { WHARF_DATA_DIR: dataDir })
  expect(await readdir(dataDir)).not.toContain('secret-key')
})

test('a time for backups that is none, and one that is off', async () => {
  const WHARF_BACKUP_KEY = 'a key of the operator of the tests'
  const variables = { WHARF_BACKUP_KEY, WHARF_BACKUP_CRON: 'never' }
  await expectFault('backup of Wharf itself', 'WHARF_BACKUP_CRON: "never" is no cron expression', variables)
  const { checks } = await examine({ WHARF_BACKUP_KEY, WHARF_BACKUP_CRON: 'off' })
  expect(checks).toContainEqual({
    ...{ name: 'backup of Wharf itself', status: 'warning' },
    detail: 'there is none yet: WHARF_BACKUP_CRON is off, so run "wharf backup"',
  })
})

test('a recovery that has not ended', async () => {
  await until(
    `UPDATE control.installation SET recovered_from = 'backup-of-yesterday'`,
    'UPDATE control.installation SET recovered_from = NULL',
  )
  await expectFault('backup of Wharf itself', 'a recovery from backup-of-yesterday has not ended')
})

test('a login of a project that is missing', async () => {
  await until(`ALTER ROLE ${login} RENAME TO ${login}_away`, `ALTER ROLE ${login}_away RENAME TO ${login}`)
  await expectFault('logins of projects', 'projects cannot be used: shop (its login is missing)')
})

test('a login of a project that lacks a right', async () => {
  await until(
    `REVOKE EXECUTE ON FUNCTION wharf.log_rows FROM ${login}`,
    `GRANT EXECUTE ON FUNCTION wharf.log_rows TO ${login}`,
  )
  await expectFault('logins of projects', 'projects cannot be used: shop (its login lacks rights)')
})

test('a login of a project that the server does not let in', async () => {
  await until(`ALTER ROLE ${login} NOLOGIN`, `ALTER ROLE ${login} LOGIN`)
  await expectFault('logins of projects', 'the login of project "shop" cannot log in')
})

test('a database of an attached project that cannot be reached any more', async () => {
  const theirs = await createExternalDatabase('CREATE TABLE item (id int PRIMARY KEY)')
  const attach = { address: theirs.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
  const service = await startWharf({ environment: MAY_ATTACH })
  const of = { ...MAY_ATTACH, DATABASE_URL: service.database.url, WHARF_DATA_DIR: service.dataDir }
  expect((await service.root.post('/projects', { json: { slug: 'theirs', attach } })).status).toBe(201)
  const found = async () => (await examine(of)).checks.find(({ name }) => name === 'attached databases')
  expect(await found()).toMatchObject({ status: 'ok', detail: '1 project, 1 tried' })
  await service.container.attached.closeAll()
  await theirs.drop()
  expect(await found()).toMatchObject({ status: 'fault', detail: expect.stringMatching(/theirs \(.+cannot be used/) })
  expect(JSON.stringify(await found())).not.toContain(theirs.password)
  await service.close()
})

test('a place for archives that takes none', async () => {
  const file = join(await temporaryFolder(), 'file')
  await writeFile(file, '')
  const { checks, code } = await examine({ WHARF_ARTIFACTS: join(file, 'archives') })
  expect(checks).toContainEqual({
    ...{ name: 'storage of archives', status: 'fault' },
    detail: expect.stringContaining(`see that this user may write to WHARF_ARTIFACTS, which is ${file}`),
  })
  expect(code).toBe(1)
})

test('a bucket from which nothing may be deleted', async () => {
  const s3 = await startS3Server()
  onTestFinished(s3.stop)
  stubS3Settings(s3)
  onTestFinished(() => void vi.unstubAllEnvs())
  const variables = { WHARF_ARTIFACTS: `s3://${S3_BUCKET}/kept` }
  const { checks } = await examine(variables)
  expect(checks).toContainEqual({
    ...{ name: 'storage of archives', status: 'ok' },
    detail: `written, read and removed in s3://${S3_BUCKET}/kept`,
  })
  s3.fail('DeleteObject', 403)
  await expectFault('storage of archives', 'see that this user may write to WHARF_ARTIFACTS', variables)
})

test('a bucket that clients do not reach where the configuration says', async () => {
  const s3 = await startS3Server()
  onTestFinished(s3.stop)
  stubS3Settings(s3)
  onTestFinished(() => void vi.unstubAllEnvs())
  const checkedWith = async (url: string) => {
    const variables = { WHARF_ARTIFACTS: `s3://${S3_BUCKET}/linked`, WHARF_ARTIFACTS_PUBLIC_URL: url }
    return (await examine(variables)).checks.find(({ name }) => name === 'storage of archives')
  }

  expect(await checkedWith(s3.url)).toMatchObject({ status: 'ok' })
  expect(await checkedWith(wharf.url)).toMatchObject({
    ...{ status: 'warning', detail: expect.stringContaining('WHARF_ARTIFACTS_PUBLIC_URL leads to the bucket') },
  })
})

test('a disk with less room than imports leave', async () => {
  const WHARF_SPOOL_RESERVE_BYTES = String(Number.MAX_SAFE_INTEGER)
  await expectFault('disk of the data folder', 'so they are refused: free some room', { WHARF_SPOOL_RESERVE_BYTES })
})

test('a secret that others may read, and a folder that others may write', async () => {
  const dataDir = await temporaryFolder()
  const files = ['root-token', 'secret-key'].map((name) => join(dataDir, name))
  for (const file of files) await writeFile(file, 'a secret', { mode: 0o644 })
  const { checks } = await examine({ WHARF_DATA_DIR: dataDir })
  expect(checks[1]?.detail).toBe(files.map((file) => `${file} is open to others: run chmod go-rwx on it`).join('; '))
  await chmod(dataDir, 0o777)
  const { checks: again } = await examine({ WHARF_DATA_DIR: dataDir })
  expect(again[1]?.detail).toBe(`${dataDir} can be written by others: run chmod go-w on it`)
})

test('a clock that is an hour behind that of the database', async () => {
  const checked = await withSession(wharf.database.url, (client) => checkClock(client, () => Date.now() - 3_600_000))
  expect(checked).toMatchObject({ status: 'warning', detail: expect.stringMatching(/^3600 s apart/) })
})

test('a version of Node.js that is too old', async () => {
  expect(await checkVersions('1.0.0', '20.18.3')).toMatchObject({
    status: 'fault',
    detail: 'Wharf 1.0.0 on Node.js 20.18.3: install Node.js 20.19 or newer',
  })
})

describe.skipIf(!isRedisInstalled || !canMakeCertificates)('a Redis that is reached over TLS', () => {
  /** By a process of its own, since Node.js reads once which authorities to trust. */
  const said = async (variables: Readonly<Record<string, string>>): Promise<string> => {
    const needed = { DATABASE_URL: wharf.database.url, WHARF_DATA_DIR: wharf.dataDir }
    return (await spawnWharf(['doctor'], { cwd: wharf.dataDir, variables: { ...needed, ...variables } }).ended).stdout
  }

  test('as a cluster', async () => {
    const redis = await startRedisCluster({ over: 'TLS', replicas: 0 })
    onTestFinished(redis.stop)
    expect(await said(redis.environment)).toMatch(/^ok +Redis +version .*, a cluster of 3 primaries$/m)
  })

  test('through Sentinels of which the first does not answer', async () => {
    const redis = await startRedisWithSentinel('TLS')
    onTestFinished(redis.stop)
    expect(await said(redis.environment)).toMatch(/^ok +Redis +version /m)
    // Who does not know the authority trusts none of them.
    const { NODE_EXTRA_CA_CERTS: _, ...untrusted } = redis.environment
    expect(await said(untrusted)).toMatch(/^fault +Redis .*check REDIS_URL/m)
    await redis.failOver()
    expect(await said(redis.environment)).toMatch(/^ok +Redis +version /m)
  })
})

describe.skipIf(!isRedisInstalled)('Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.kill())

  test('that keeps all is well, and keeps nothing of the check', async () => {
    const { checks, code } = await examine({ REDIS_URL: redis.url })
    expect(checks).toContainEqual({
      ...{ name: 'Redis', status: 'ok' },
      detail: expect.stringMatching(/^version \d.*, maxmemory-policy noeviction$/),
    })
    expect(code).toBe(0)
    expect(await redis.keys()).toEqual([])
  })

  test('that may drop what is queued', async () => {
    const client = new Redis(redis.url)
    onTestFinished(() => client.disconnect())
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await expectFault('Redis', '(maxmemory-policy allkeys-lru): set maxmemory-policy noeviction', {
      REDIS_URL: redis.url,
    })
  })

  test('that is not there', async () => {
    await expectFault('Redis', 'check REDIS_URL', { REDIS_URL: 'redis://127.0.0.1:1' })
  })
})
