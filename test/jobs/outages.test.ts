import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { exportOf } from '../support/archives/import.ts'
import { runCommand } from '../support/cli/cli.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import {
  askExport,
  askImport,
  BACKENDS,
  type Backend,
  jobOf,
  NO_LEASE,
  type SeenJob,
  startApiProcess,
  startBackend,
  startWorkerProcess,
  untilEnded,
} from '../support/jobs/jobs.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { isRedisInstalled, type RedisServer, startRedis } from '../support/servers/redis.ts'
import { startRedisCluster } from '../support/servers/redis-cluster.ts'
import { startRedisWithSentinel } from '../support/servers/redis-sentinel.ts'
import { withSession } from '../support/servers/sessions.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

/** Unless tests are thorough, the queue is on Redis only where Redis itself is killed. */
const BACKENDS_OF_OUTAGES = isThorough ? BACKENDS : BACKENDS.slice(0, 1)

// Servers and processes are started and ended in each test, which a busy machine takes its time for.
vi.setConfig({ testTimeout: 180_000 })

const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE item (id integer PRIMARY KEY, n pausing);`
const OLD = 'INSERT INTO item VALUES (1, 1), (2, 2)'
const NEW = 'INSERT INTO item SELECT n, n FROM generate_series(3, 100) n'

/** Makes the projects `source` and `target`. @returns an archive of the first. */
async function prepare(wharf: TestWharf): Promise<string> {
  await createProject(wharf, 'source', `${STRUCTURE} ${NEW}`)
  await createProject(wharf, 'target', `${STRUCTURE} ${OLD}`)
  return exportOf(wharf.root, 'source')
}

/** Has an import that is running and exports of which some run and some wait, while `use` does its harm to them. */
const withJobs = (wharf: TestWharf, archive: string, use: () => Promise<unknown>): Promise<readonly SeenJob[]> =>
  withPausePoint(wharf, async (pausePoint) => {
    const first = jobOf(await askImport(wharf.root, archive, '?targetSlug=target'))
    await pausePoint.reached()
    return withSession(wharf.database.url, async (blocker) => {
      await blocker.query('BEGIN; LOCK TABLE "source.live".item IN ACCESS EXCLUSIVE MODE')
      const others: SeenJob[] = []
      for (let index = 0; index < 6; index += 1) others.push(jobOf(await askExport(wharf.root, [{ slug: 'source' }])))
      await eventually(() => runningJobs(wharf)).toBe(5)
      await use()
      return [first, ...others]
    })
  })

const runningJobs = async ({ database }: TestWharf): Promise<number> =>
  (await database.query(`SELECT FROM control.job WHERE status = 'running'`)).length

/** Every job has succeeded, with one result. */
async function expectDoneOnce(wharf: TestWharf, jobs: readonly SeenJob[]): Promise<readonly SeenJob[]> {
  const ended: SeenJob[] = []
  for (const job of jobs) ended.push(await untilEnded(wharf.root, job))
  expect(ended.map(({ status }) => status)).toEqual(jobs.map(() => 'succeeded'))
  const exports = ended.filter(({ kind }) => kind === 'export').map(({ id }) => id)
  const artifacts = await wharf.database.query<{ id: string }>(
    `SELECT job_id AS id FROM control.artifact WHERE kind = 'output' AND state = 'ready' ORDER BY 1`,
  )
  expect(artifacts.map(({ id }) => id)).toEqual(exports.toSorted())
  await nothingIsLeft(wharf)
  return ended
}

async function expectImportedOnce({ database }: TestWharf): Promise<void> {
  expect(await database.query('SELECT count(*)::int AS n FROM "target.live".item')).toEqual([{ n: 98 }])
  const imports = await database.query(
    `SELECT FROM system.event JOIN system.stage_state USING (stage_id)
      WHERE kind = 'import' AND schema_name = 'target.live'`,
  )
  expect(imports).toHaveLength(1)
}

/** Keeps anything from being added to the queue while `use` runs, and lets nothing through that was tried meanwhile. */
async function withQueueClosed<T>(wharf: TestWharf, redis: RedisServer | undefined, use: () => Promise<T>): Promise<T> {
  if (redis) return redis.withoutWrites(use)
  return withSession(wharf.database.url, async (blocker) => {
    await blocker.query('BEGIN; LOCK TABLE bullmq.job IN SHARE MODE')
    const result = await use()
    // Where a client has died, PostgreSQL finds out only after the statement, which would be done by then.
    await blocker.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'bullmq.job'::regclass AND NOT granted`,
    )
    return result
  })
}

test.each(BACKENDS_OF_OUTAGES)(
  'a job whose API is killed between its record and the queue on %s is done, once',
  async (backend) => {
    const { redis, environment } = await startBackend(backend)
    const wharf = await startWharf({ environment })
    onTestFinished(async () => {
      await wharf.close()
      await redis?.kill()
    })
    await createProject(wharf, 'source', `${STRUCTURE} ${NEW}`)
    const api = await startApiProcess(wharf, environment)
    const record = (): Promise<{ id: string }[]> => wharf.database.query('SELECT id FROM control.job')
    const [asked, outcome] = await withSession(wharf.database.url, async (blocker) => {
      await blocker.query('BEGIN; LOCK TABLE control.job IN SHARE MODE')
      const answer = askExport(api.root, [{ slug: 'source' }]).catch((error: unknown) => error)
      await eventually(async () => {
        const open = await openTransactions(wharf)
        return open.filter(({ waits, query }) => waits === 'Lock' && query.includes('INSERT INTO control.job')).length
      }).toBe(1)
      return withQueueClosed(wharf, redis, async () => {
        await blocker.query('COMMIT')
        await eventually(async () => (await record()).length).toBe(1)
        await api.kill('SIGKILL')
        return [await record(), await answer] as const
      })
    })
    expect(outcome).toBeInstanceOf(Error)
    expect((await wharf.container.queue.depth()).get('export')).toBe(0)
    // A busy machine keeps even a worker that lives from renewing a short lock.
    await startWorkerProcess(wharf, environment, { ...NO_LEASE, lockMs: 60_000 })
    const jobs = await Promise.all(asked.map(async ({ id }) => jobOf(await wharf.root.get(`/jobs/${id}`))))
    expect(await expectDoneOnce(wharf, jobs)).toMatchObject([{ attempt: 1 }])
  },
)

describe.skipIf(!isRedisInstalled)('a Redis that is killed', () => {
  const ways = [
    ['and comes back with what it had written down', true],
    ['and comes back empty', false],
  ] as const
  test.each(isThorough ? ways : ways.slice(-1))('%s loses no job, and none is done twice', async (_, keeps) => {
    const folder = await mkdtemp(join(tmpdir(), 'wharf-test-redis-'))
    const redis = await startRedis(keeps ? folder : undefined)
    const environment = { REDIS_URL: redis.url }
    const wharf = await startWharf({ environment })
    onTestFinished(async () => {
      await wharf.close()
      await redis.kill()
      await rm(folder, { recursive: true })
    })
    const archive = await prepare(wharf)
    await startWorkerProcess(wharf, environment, NO_LEASE)
    const jobs = await withJobs(wharf, archive, async () => {
      await redis.kill()
      expect(await askExport(wharf.root, [{ slug: 'source' }])).toMatchObject({
        status: 503,
        headers: { 'retry-after': '5' },
        json: { type: 'urn:wharf:error:queue-unavailable' },
      })
      await redis.start()
    })
    expect(await expectDoneOnce(wharf, jobs)).toMatchObject(jobs.map(() => ({ attempt: 1 })))
    await expectImportedOnce(wharf)
  })
})

test.skipIf(!isRedisInstalled)(
  'a Redis that fails over to another, as Sentinel says, loses no job, and none is done twice',
  async () => {
    const redis = await startRedisWithSentinel()
    const wharf = await startWharf({ environment: redis.environment })
    onTestFinished(async () => {
      await wharf.close()
      await redis.stop()
    })
    const examined = await runCommand(['doctor'], {
      variables: { DATABASE_URL: wharf.database.url, WHARF_DATA_DIR: wharf.dataDir, ...redis.environment },
    })
    expect(examined.stdout).toMatch(/^ok +Redis +version /m)
    const archive = await prepare(wharf)
    await startWorkerProcess(wharf, redis.environment, NO_LEASE)
    const jobs = await withJobs(wharf, archive, redis.failOver)
    expect(await expectDoneOnce(wharf, jobs)).toMatchObject(jobs.map(() => ({ attempt: 1 })))
    await expectImportedOnce(wharf)
    await eventually(async () => (await wharf.root.get('/readyz')).json).toEqual({ status: 'ready', unavailable: [] })
    const after = jobOf(await askExport(wharf.root, [{ slug: 'source' }]))
    expect(await untilEnded(wharf.root, after)).toMatchObject({ status: 'succeeded' })
  },
)

test.skipIf(!isRedisInstalled)(
  'a cluster of Redis, of which the node that has the queue goes to its replica, loses no job, and none is done twice',
  async () => {
    const redis = await startRedisCluster()
    const wharf = await startWharf({ environment: redis.environment })
    onTestFinished(async () => {
      await wharf.close()
      await redis.stop()
    })
    const needed = { DATABASE_URL: wharf.database.url, WHARF_DATA_DIR: wharf.dataDir }
    const examine = async (variables: Readonly<Record<string, string>>): Promise<string> =>
      (await runCommand(['doctor'], { variables: { ...needed, ...variables } })).stdout
    expect(await examine(redis.environment)).toMatch(/^ok +Redis +version .*, a cluster of 3 primaries$/m)
    const { REDIS_URL } = redis.environment
    expect(await examine({ REDIS_URL })).toMatch(/^fault +Redis .*name all nodes in WHARF_REDIS_CLUSTER$/m)
    const archive = await prepare(wharf)
    await startWorkerProcess(wharf, redis.environment, NO_LEASE)
    const jobs = await withJobs(wharf, archive, () => redis.failOver('{wharf}'))
    expect(await expectDoneOnce(wharf, jobs)).toMatchObject(jobs.map(() => ({ attempt: 1 })))
    await expectImportedOnce(wharf)
    await eventually(async () => (await wharf.root.get('/readyz')).json).toEqual({ status: 'ready', unavailable: [] })
    const after = jobOf(await askExport(wharf.root, [{ slug: 'source' }]))
    expect(await untilEnded(wharf.root, after)).toMatchObject({ status: 'succeeded' })
  },
)

const programs = installedPrograms()

describe.skipIf(programs === undefined)('a PostgreSQL that crashes and comes back', () => {
  let cluster: OwnCluster

  beforeAll(async () => {
    cluster = await startOwnCluster(programs ?? '')
  })

  afterAll(() => cluster?.remove())

  test.each<[Backend]>(BACKENDS_OF_OUTAGES.map((backend) => [backend]))(
    'with the queue on %s, loses no job, and none is done twice',
    async (backend) => {
      const { redis, environment } = await startBackend(backend)
      const wharf = await startWharf({ environment, database: await cluster.createDatabase() })
      onTestFinished(async () => {
        await wharf.close()
        await redis?.kill()
      })
      const archive = await prepare(wharf)
      await startWorkerProcess(wharf, environment, { leaseMs: 6_000 })
      const jobs = await withJobs(wharf, archive, async () => {
        await cluster.crash()
        await cluster.start()
      })
      await expectDoneOnce(wharf, jobs)
      await expectImportedOnce(wharf)
    },
  )

  test('is said once when it goes, and once when it is back, however many need it', async () => {
    const wharf = await startWharf({
      worker: true,
      database: await cluster.createDatabase(),
      environment: { WHARF_BACKUP_KEY: 'a key of the operator of the tests' },
      jobTimings: { signMs: 200, sweepMs: 100, scheduleMs: 100, notifyMs: 100 },
    })
    onTestFinished(wharf.close)
    // The first is due at once.
    await eventually(wharf.log).toContain('Wharf itself was backed up')
    const before = wharf.log().length
    const said = () =>
      wharf
        .log()
        .slice(before)
        .split('\n')
        .filter((line) => line !== '')
        .map((line): { level: number; msg: string } => JSON.parse(line))
    const aboveDebug = () => said().flatMap(({ level, msg }) => (level > 20 ? [msg] : []))
    const silent = (text: string): number =>
      said().filter(({ level, msg }) => level === 20 && msg.startsWith(text)).length
    await cluster.crash()
    await eventually(async () => silent('sweeping jobs failed')).toBeGreaterThan(3)
    await eventually(async () => silent('the backup of Wharf itself failed')).toBeGreaterThan(3)
    await eventually(async () => silent('the database cannot be used')).toBeGreaterThan(3)
    const queue = 'the queue has trouble: jobs wait until it answers again'
    const database = 'the database cannot be used: what needs it waits, or is refused, until it answers again'
    expect(aboveDebug().toSorted()).toEqual([database, queue])
    await cluster.start()
    await eventually(async () => aboveDebug().toSorted()).toEqual([
      'the database answers again',
      database,
      'the queue answers again',
      queue,
    ])
  })
})
