import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openRedisBackend } from '../../src/jobs/queue-backend.ts'
import { createLogger } from '../../src/logger.ts'
import { exportOf } from '../support/archives/import.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { AGAIN, askImport, jobOf, startWorkerProcess, untilEnded } from '../support/jobs/jobs.ts'
import type { ScriptProcess } from '../support/processes/processes.ts'
import { startRedis } from '../support/servers/redis.ts'
import { redisTest } from '../support/servers/redis-test.ts'
import { startTcpRelay } from '../support/servers/tcp-relay.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

// Processes are started and lost one after the other.
vi.setConfig({ testTimeout: 150_000 })

const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE item (id integer PRIMARY KEY, n pausing);`
/** Long enough for a process that a busy machine lets wait, and that does not hang. */
const jobTimings = { hangMs: 4_000 }

let wharf: TestWharf
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', `${STRUCTURE} INSERT INTO item SELECT n, n FROM generate_series(1, 100) n`)
  archive = await exportOf(wharf.root, 'source')
})

afterAll(() => wharf?.close())

/** Has `worker` begin an import, which `hang` happens to, and says how its process ended and another did the job. */
async function importHanging(options: {
  readonly to: string
  readonly worker: ScriptProcess
  readonly hang: () => void
  readonly service?: TestWharf
  readonly environment?: Readonly<Record<string, string>>
}) {
  const { to, worker, hang, service = wharf, environment = {} } = options
  await createProject(service, to, `${STRUCTURE} INSERT INTO item VALUES (0, 0)`)
  const { asked, end } = await withPausePoint(wharf, async (pausePoint) => {
    const job = jobOf(await askImport(service.root, archive, `?targetSlug=${to}`))
    await pausePoint.reached()
    hang()
    return { asked: job, end: await worker.ended }
  })
  await startWorkerProcess(wharf, environment)
  const job = await untilEnded(service.root, asked)
  const rows = await wharf.database.query(`SELECT count(*)::int AS n FROM "${to}.live".item`)
  return { end, job, rows }
}

const DONE = { job: { status: 'succeeded', attempt: AGAIN }, rows: [{ n: 100 }] }

test('a worker whose event loop hangs is killed, says why, and its job is done by another', async () => {
  const worker = await startWorkerProcess(wharf, {}, jobTimings, { preload: 'hang-on-signal.mjs' })
  const hang = (): unknown => process.kill(worker.pid, 'SIGUSR2')
  expect(await importHanging({ to: 'hung', worker, hang })).toMatchObject({
    ...DONE,
    end: { signal: 'SIGKILL', errorOutput: expect.stringMatching(/"level":60,.*the event loop of this process hangs/) },
  })
})

test('a worker whose connections to PostgreSQL are open and silent ends, says why, and its job is done by another', async () => {
  const relay = await startTcpRelay(wharf.database.url)
  const worker = await startWorkerProcess(wharf, { DATABASE_URL: relay.url }, jobTimings)
  expect(await importHanging({ to: 'silent', worker, hang: relay.silence })).toMatchObject({
    ...DONE,
    end: { code: 1, errorOutput: expect.stringMatching(/"level":60,.*a connection is open and silent/) },
  })
  await relay.cut()
})

redisTest('a worker whose connection to Redis is open and silent ends, and its job is done by another', async () => {
  const redis = await startRedis()
  const environment = { REDIS_URL: redis.url }
  const service = await startWharf({ beside: wharf, environment })
  const relay = await startTcpRelay(redis.url)
  const worker = await startWorkerProcess(wharf, { REDIS_URL: relay.url }, jobTimings)
  expect(await importHanging({ to: 'deaf', worker, hang: relay.silence, service, environment })).toMatchObject({
    ...DONE,
    end: { code: 1, errorOutput: expect.stringContaining('"connection":"queue"') },
  })
  await relay.cut()
  await service.close()
  await redis.kill()
})

redisTest('a Redis that is away, and not silent, is waited for', async () => {
  const redis = await startRedis()
  const backend = await openRedisBackend(
    { url: redis.url, sentinels: [], sentinelPassword: undefined, cluster: [] },
    createLogger('silent'),
  )
  const worker = backend.openWorker('patient', async (_job, _token, _signal) => undefined, {})
  worker.on('error', () => undefined)
  await worker.waitUntilReady()
  const answered = { settles: true }
  expect(await backend.ask().then(() => answered)).toBe(answered)
  await redis.kill()
  expect(await backend.ask().then(() => answered)).toBe(answered)
  await worker.close(true)
  await backend.close()
})
