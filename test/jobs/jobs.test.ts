import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { eventually } from '../support/eventually.ts'
import {
  askExport,
  askImport,
  BACKENDS,
  jobOf,
  showJob,
  startBackend,
  untilEnded,
  untilStatus,
} from '../support/jobs/jobs.ts'
import type { RedisServer } from '../support/servers/redis.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE item (id integer PRIMARY KEY, name text, n pausing);`
const ROWS = `INSERT INTO item SELECT n, 'item ' || n, n FROM generate_series(1, 500) n`

const itemsOf = (wharf: TestWharf, slug: string): Promise<unknown[]> =>
  wharf.database.query(`SELECT count(*)::int AS n FROM "${slug}.live".item`)

describe.each(BACKENDS)('with the queue on %s', (backend) => {
  let wharf: TestWharf
  let redis: RedisServer | undefined

  beforeAll(async () => {
    const queue = await startBackend(backend)
    redis = queue.redis
    wharf = await startWharf({ worker: true, environment: queue.environment })
    await createProject(wharf, 'shop', `${STRUCTURE} ${ROWS}`)
  })

  afterAll(async () => {
    await wharf?.close()
    await redis?.kill()
  })

  test('an export is accepted at once, and its archive is the one that a waiting client gets', async () => {
    const answer = await askExport(wharf.root, [{ slug: 'shop' }])
    const asked = jobOf(answer)
    expect(answer).toMatchObject({
      status: 202,
      headers: { location: `/jobs/${asked.id}`, 'preference-applied': 'respond-async' },
    })
    const job = await untilEnded(wharf.root, asked)
    expect(job, JSON.stringify(job.error)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      progress: { rows: 500, percent: 100 },
      links: { file: `/jobs/${job.id}/file` },
    })
    const file = await wharf.root.get(`/jobs/${job.id}/file`)
    expect(file.status).toBe(200)
    const waited = await exportOf(wharf.root, 'shop')
    expect(comparableLines(gunzipSync(file.bytes).toString())).toEqual(comparableLines(waited))
  })

  test('an import is checked before it is accepted, and then replaces the rows', async () => {
    await createProject(wharf, 'copy', STRUCTURE)
    const archive = await exportOf(wharf.root, 'shop')
    const refused = await askImport(wharf.root, `${archive.slice(0, -20)}`, '?targetSlug=copy')
    expect(refused).toMatchObject({ status: 400 })
    expect(await itemsOf(wharf, 'copy')).toEqual([{ n: 0 }])
    const job = await untilEnded(wharf.root, jobOf(await askImport(wharf.root, archive, '?targetSlug=copy')))
    expect(job, JSON.stringify(job.error)).toMatchObject({
      status: 'succeeded',
      result: { projects: [{ slug: 'shop', targetSlug: 'copy', stages: [{ slug: 'live', tables: 1, rows: 500 }] }] },
      progress: { rows: 500, rowsTotal: 500, percent: 100 },
    })
    expect(await itemsOf(wharf, 'copy')).toEqual([{ n: 500 }])
    await eventually(() =>
      wharf.database.query(`SELECT state, count(*)::int AS n FROM control.artifact WHERE kind = 'input' GROUP BY 1`),
    ).toEqual([{ state: 'removed', n: 1 }])
  })

  test('a stage that is loaded where it is has its rows just when the job has succeeded', async () => {
    await createProject(
      wharf,
      'placed',
      `${STRUCTURE} CREATE CONVERSION odd FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;`,
    )
    const archive = await exportOf(wharf.root, 'shop')
    const job = await untilEnded(wharf.root, jobOf(await askImport(wharf.root, archive, '?targetSlug=placed')))
    expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(await wharf.database.query(`SELECT count(*)::int AS n FROM "placed.live".item`)).toEqual([{ n: 500 }])
  })

  test('a transfer on one server copies a project over another', async () => {
    await createProject(wharf, 'mirror', STRUCTURE)
    const asked = jobOf(
      await wharf.root.post('/transfer', { json: { source: { project: 'shop' }, target: { project: 'mirror' } } }),
    )
    expect(await untilEnded(wharf.root, asked)).toMatchObject({ kind: 'transfer', status: 'succeeded' })
    expect(comparableLines(await exportOf(wharf.root, 'mirror'))).toEqual(
      comparableLines(await exportOf(wharf.root, 'shop')),
    )
  })

  test('a job that fails says why, as a waiting client would be told', async () => {
    const asked = jobOf(await askExport(wharf.root, [{ slug: 'shop', excludeTables: ['missing'] }]))
    expect(await untilEnded(wharf.root, asked)).toMatchObject({
      status: 'failed',
      error: { code: 'NOT_FOUND', detail: expect.stringContaining('missing') },
    })
    expect(await wharf.root.get(`/jobs/${asked.id}/file`)).toMatchObject({ status: 409 })
  })

  test('a running import ends when it is cancelled, and the rows are as they were', async () => {
    await createProject(wharf, 'kept', `${STRUCTURE} INSERT INTO item VALUES (1, 'old', 1)`)
    const archive = await exportOf(wharf.root, 'shop')
    const job = await withPausePoint(wharf, async (pausePoint) => {
      const asked = jobOf(await askImport(wharf.root, archive, '?targetSlug=kept'))
      await pausePoint.reached()
      await expect
        .poll(() => showJob(wharf.root, asked.id))
        .toMatchObject({ status: 'running', progress: { phase: expect.stringMatching('loading|finishing') } })
      expect(await wharf.root.post(`/jobs/${asked.id}/cancel`)).toMatchObject({ status: 202 })
      return untilStatus(wharf.root, asked.id, 'cancelled')
    })
    expect(await itemsOf(wharf, 'kept')).toEqual([{ n: 1 }])
    expect(await wharf.root.post(`/jobs/${job.id}/cancel`)).toMatchObject({ status: 409 })
    await eventually(() =>
      wharf.database.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'kept.live.new-%'`),
    ).toEqual([])
  })

  test('of ten requests with one key that come at once, one makes a job', async () => {
    const headers = { 'idempotency-key': 'the-same-for-all' }
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => askExport(wharf.root, [{ slug: 'shop' }], headers)),
    )
    const ids = new Set(answers.map((answer) => jobOf(answer).id))
    expect(ids.size).toBe(1)
    const other = await askExport(wharf.root, [{ slug: 'shop', system: true }], headers)
    expect(other).toMatchObject({ status: 422, json: { type: 'urn:wharf:error:idempotency-key-reused' } })
    const [row] = await wharf.database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM control.job WHERE idempotency_key IS NOT NULL`,
    )
    expect(row).toEqual({ n: 1 })
  })

  test('a job that the queue has forgotten is queued again', async () => {
    const { queue } = wharf.container
    const idle = await startWharf({ beside: wharf, environment: redis ? { REDIS_URL: redis.url } : {} })
    await wharf.container.control.prisma.job.deleteMany({})
    const asked = jobOf(await askExport(idle.root, [{ slug: 'shop' }]))
    await queue.remove('export', asked.id)
    expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded' })
    await idle.close()
  })
})
