import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect } from 'vitest'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'
import { readState } from '../support/database/database-state.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, askImport, jobOf, type SeenJob, untilEnded } from '../support/jobs/jobs.ts'
import { type RedisServer, startRedis } from '../support/servers/redis.ts'
import { redisTest as test } from '../support/servers/redis-test.ts'
import { withSession } from '../support/servers/sessions.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import {
  type MainProcess,
  type ServiceProcess,
  startServiceProcess,
  startWorkerOf,
} from '../support/service/service-process.ts'
import { isThorough } from '../support/thorough.ts'

/*
 * The processes of docker-compose.yml, with one API and one worker more, and without the containers: each has a data
 * folder of its own, and all share the folder of archives. Tests go on where the ones before have stopped.
 */

const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE item (id integer PRIMARY KEY, n pausing);`
const EXPORTS = isThorough ? 60 : 20
/** Each worker makes so many exports at once. */
const AT_ONCE = 4
/** Thorough tests wait as long for a worker that died as in production. */
const jobTimings = isThorough ? undefined : { leaseMs: 6_000, sweepMs: 1_000, lockMs: 6_000, stalledMs: 1_000 }
/** Longer than it takes until a worker that died is taken for dead, with all that is done after that. */
const LIMIT_MS = 180_000

let folder: string
let redis: RedisServer
let database: TestDatabase
let apis: [ServiceProcess, ServiceProcess]
let workers: [MainProcess, MainProcess, MainProcess]
let exports: readonly SeenJob[]

const optionsOf = (name: string) => ({
  databaseUrl: database.url,
  dataDir: join(folder, name),
  environment: { REDIS_URL: redis.url, WHARF_ARTIFACTS: join(folder, 'artifacts') },
  jobTimings,
})
const startApi = (number: number) => startServiceProcess(optionsOf(`api-${number}`), 'api')
const startWorker = (number: number) => {
  const options = optionsOf(`worker-${number}`)
  return startWorkerOf({ ...options, environment: { ...options.environment, WHARF_METRICS_PORT: '0' } })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wharf-test-topology-'))
  redis = await startRedis(await mkdtemp(join(folder, 'redis-')))
  database = await createMigratedDatabase()
  apis = await Promise.all([startApi(1), startApi(2)])
  workers = await Promise.all([startWorker(1), startWorker(2), startWorker(3)])
  await createProject(apis[0], 'source', `${STRUCTURE} INSERT INTO item SELECT n, n FROM generate_series(3, 100) n`)
  await createProject(apis[0], 'target', `${STRUCTURE} INSERT INTO item VALUES (1, 1), (2, 2)`)
})

afterAll(async () => {
  for (const process of [...(apis ?? []), ...(workers ?? [])]) await process.kill('SIGKILL')
  await redis?.kill()
  await database?.drop()
  if (folder) await rm(folder, { recursive: true, force: true })
})

const statuses = (ids: readonly string[]): Promise<unknown[]> =>
  database.query('SELECT status, count(*)::int AS n FROM control.job WHERE id = ANY ($1) GROUP BY 1 ORDER BY 1', [ids])

test('both APIs are alive and ready', async () => {
  for (const { root } of apis) {
    expect(await root.get('/healthz')).toMatchObject({ status: 200 })
    expect(await root.get('/readyz')).toMatchObject({ status: 200 })
  }
})

/** Where a worker says how it is. */
const metricsOf = (worker: MainProcess): string => /"metrics":"([^"]+)\/metrics"/.exec(worker.log())?.[1] ?? ''

/** The sum of a figure over what processes give; undefined where none gives it. */
async function sumsOf(figure: string, urls: readonly string[]): Promise<number | undefined> {
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  const given = texts.flatMap((text) => text.split('\n').filter((line) => line.startsWith(`${figure} `)))
  return given.length === 0 ? undefined : given.reduce((sum, line) => sum + Number(line.slice(figure.length)), 0)
}

test('each worker says how it is, and nothing else', async () => {
  for (const worker of workers) {
    const url = metricsOf(worker)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    await eventually(async () => (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready', unavailable: [] })
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^wharf_jobs_ended_total\{/m)
    expect((await fetch(`${url}/openapi.json`)).status).toBe(404)
  }
})

test('what processes count themselves, and what they say of the service, adds up to what was done', async () => {
  const [one, other] = apis
  const asked = await Promise.all([one, other, one].map(({ root }) => askExport(root, [{ slug: 'source' }])))
  for (const each of asked) expect(await untilEnded(one.root, jobOf(each))).toMatchObject({ status: 'succeeded' })
  const urls = [...apis.map(({ url }) => url), ...workers.map(metricsOf)]
  await eventually(() => sumsOf('wharf_jobs_ended_total{kind="export",status="succeeded"}', urls)).toBe(asked.length)
  expect(await sumsOf('wharf_jobs{kind="export",status="succeeded"}', urls)).toBe(asked.length)
  expect(await sumsOf('wharf_service_figures', urls)).toBe(1)
})

test('figures of the service are given by one process, at once where it is started again, and by another when it is gone', async () => {
  const [one, other] = apis
  const gives = ({ url }: ServiceProcess) => sumsOf('wharf_queue_waiting{kind="export"}', [url])
  await database.query('DELETE FROM control.metrics_lease')
  expect([await gives(other), await gives(one)]).toEqual([0, undefined])

  const seen = (process: ServiceProcess, at: string) =>
    database.query(`UPDATE control.process SET seen_at = ${at} WHERE pid = $1`, [process.pid])
  await other.kill('SIGKILL')
  await seen(other, `'infinity'`)
  expect(await gives(one)).toBeUndefined()
  apis[1] = await startApi(2)
  await eventually(() => gives(apis[1])).toBe(0)
  expect(await gives(one)).toBeUndefined()

  await apis[1].kill('SIGKILL')
  await seen(apis[1], `now() - interval '61 seconds'`)
  expect(await gives(one)).toBe(0)
  apis[1] = await startApi(2)
  expect([await gives(apis[1]), await gives(one)]).toEqual([undefined, 0])
})

test(
  'of exports that three workers share, those go on whose worker, or whose API, ends',
  async () => {
    exports = await withSession(database.url, async (blocker) => {
      await blocker.query('BEGIN; LOCK TABLE "source.live".item IN ACCESS EXCLUSIVE MODE')
      const askHalf = async ({ root }: ServiceProcess): Promise<SeenJob[]> => {
        const half: SeenJob[] = []
        while (half.length < EXPORTS / 2) half.push(jobOf(await askExport(root, [{ slug: 'source' }])))
        return half
      }
      const asked = (await Promise.all(apis.map(askHalf))).flat()
      await eventually(() => statuses(asked.map(({ id }) => id))).toEqual([
        { status: 'queued', n: EXPORTS - workers.length * AT_ONCE },
        { status: 'running', n: workers.length * AT_ONCE },
      ])
      await workers[0].kill('SIGKILL')
      await apis[1].kill('SIGKILL')
      return asked
    })
    expect(await workers[1].kill('SIGTERM')).toBe(0)
    apis[1] = await startApi(2)
    workers[0] = await startWorker(1)
    workers[1] = await startWorker(2)
    const lost = AT_ONCE
    const ids = exports.map(({ id }) => id)
    await eventually(() => statuses(ids)).toContainEqual({
      status: 'succeeded',
      n: expect.toSatisfy((n) => n >= EXPORTS - lost),
    })
  },
  LIMIT_MS,
)

test(
  'a job that one API was asked for is seen through the other, with its archive',
  async () => {
    const [one, other] = apis
    const archive = await exportOf(one.root, 'source')
    const made = await untilEnded(other.root, jobOf(await askExport(one.root, [{ slug: 'source' }])))
    expect(made).toMatchObject({ status: 'succeeded' })
    const file = await other.root.get(`/jobs/${made.id}/file`)
    expect(comparableLines(gunzipSync(file.bytes).toString())).toEqual(comparableLines(archive))
    const imported = await untilEnded(one.root, jobOf(await askImport(other.root, file.bytes, '?targetSlug=target')))
    expect(imported, JSON.stringify(imported.error)).toMatchObject({ status: 'succeeded' })
    expect(comparableLines(await exportOf(one.root, 'target'))).toEqual(comparableLines(archive))
  },
  LIMIT_MS,
)

test(
  'an import that runs is cancelled through another API than it was asked for, and its target is as it was',
  async () => {
    const [one, other] = apis
    const archive = await exportOf(one.root, 'source')
    const target = `nspname LIKE 'target.live%'`
    const before = await readState(database, target)
    await withPausePoint({ database }, async (pausePoint) => {
      const asked = jobOf(await askImport(one.root, archive, '?targetSlug=target'))
      await pausePoint.reached()
      expect(await other.root.post(`/jobs/${asked.id}/cancel`)).toMatchObject({ status: 202 })
      expect(await untilEnded(one.root, asked)).toMatchObject({ status: 'cancelled' })
    })
    await eventually(() => readState(database, target)).toEqual(before)
  },
  LIMIT_MS,
)

test(
  'every export has one archive in the end, and nothing is left of what died',
  async () => {
    const ids = exports.map(({ id }) => id)
    await expect
      .poll(() => statuses(ids), { timeout: LIMIT_MS, interval: 200 })
      .toEqual([{ status: 'succeeded', n: EXPORTS }])
    const archives = await database.query<{ id: string }>(
      `SELECT job_id AS id FROM control.artifact WHERE state = 'ready' AND job_id = ANY ($1) ORDER BY 1`,
      [ids],
    )
    expect(archives.map(({ id }) => id)).toEqual(ids.toSorted())
    await nothingIsLeft({ database, dataDir: folder })
  },
  LIMIT_MS,
)

test(
  'all processes end well when they are told to',
  async () => {
    const codes = await Promise.all([...apis, ...workers].map((process) => process.kill('SIGTERM')))
    expect(codes).toEqual([0, 0, 0, 0, 0])
  },
  LIMIT_MS,
)
