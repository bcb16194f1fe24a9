import { spawnSync } from 'node:child_process'
import { request } from 'undici'
import { afterAll, beforeAll, expect } from 'vitest'
import { connectRemoteServer } from '../../src/transfer/remote/remote-server.ts'
import { collect } from '../support/archives/archive-sample.ts'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, askImport, jobOf, showJob, startBackend, untilEnded } from '../support/jobs/jobs.ts'
import { isInstalled } from '../support/processes/is-installed.ts'
import type { RedisServer } from '../support/servers/redis.ts'
import { redisTest as test } from '../support/servers/redis-test.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const ITEMS = 'CREATE TABLE item (id integer PRIMARY KEY, name text);'
const ROWS = `INSERT INTO item SELECT n, 'item ' || n FROM generate_series(1, 50) n`

let wharf: TestWharf
let other: TestWharf
let redis: RedisServer | undefined

beforeAll(async () => {
  const queue = await startBackend('Redis')
  redis = queue.redis
  other = await startWharf({ worker: true })
  const { host } = new URL(other.url)
  wharf = await startWharf({ worker: true, environment: { ...queue.environment, WHARF_TRANSFER_HOSTS: host } })
  await createProject(wharf, 'shop', `${ITEMS} ${ROWS}`)
  await createProject(wharf, 'empty', ITEMS)
  await createProject(other, 'far', ITEMS)
})

afterAll(async () => {
  await wharf?.close()
  await other?.close()
  await redis?.kill()
})

/** Keeps exports of a project waiting while `use` runs. */
const withExportsWaiting = <T>(use: () => Promise<T>): Promise<T> =>
  withSession(wharf.database.url, async (blocker) => {
    await blocker.query('BEGIN; LOCK TABLE "shop.live".item IN ACCESS EXCLUSIVE MODE')
    return use()
  })

test('jobs are listed page by page, the newest first, and by status, kind and project', async () => {
  const asked = [
    jobOf(await askExport(wharf.root, [{ slug: 'shop' }])),
    jobOf(await askExport(wharf.root, [{ slug: 'empty' }])),
    jobOf(await wharf.root.post('/transfer', { json: { source: { project: 'shop' }, target: { project: 'empty' } } })),
  ]
  for (const job of asked) await untilEnded(wharf.root, job)
  const ids = async (query: string): Promise<unknown> => {
    const { json } = await wharf.root.get(`/jobs?${query}`)
    return (json as { items: { id: string }[] }).items.map(({ id }) => id)
  }
  const newest = asked.map(({ id }) => id).toReversed()
  expect(await ids('limit=2')).toEqual(newest.slice(0, 2))
  expect(await ids(`limit=1&after=${newest[1]}`)).toEqual([newest[2]])
  expect(await ids('kind=transfer')).toEqual([newest[0]])
  expect(await ids('project=empty&status=succeeded')).toEqual(newest.slice(0, 2))
  expect(await ids('project=nowhere')).toEqual([])
  expect(await ids('status=failed')).toEqual([])
})

test('an answer that was asked to wait comes with the next change, or when its time is over', async () => {
  const job = await withExportsWaiting(async () => {
    const asked = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await eventually(async () => (await showJob(wharf.root, asked.id)).status).toBe('running')
    await eventually(async () => (await showJob(wharf.root, asked.id)).progress).not.toBeNull()
    const waited = await wharf.root.get(`/jobs/${asked.id}`, { headers: { prefer: 'wait=1' } })
    expect(waited).toMatchObject({
      status: 200,
      headers: { 'preference-applied': 'wait=1', 'retry-after': '1' },
      json: { status: 'running' },
    })
    for (const prefer of ['wait=-1', 'wait=1.5', 'wait=9999999999', 'wait=', 'wait']) {
      const answer = await wharf.root.get(`/jobs/${asked.id}`, { headers: { prefer } })
      expect(answer, prefer).toMatchObject({ status: 200, json: { status: 'running' } })
      expect(answer.headers, prefer).not.toHaveProperty('preference-applied')
    }
    return asked
  })
  await untilEnded(wharf.root, job)
  const ended = await wharf.root.get(`/jobs/${job.id}`, { headers: { prefer: 'wait=999999999' } })
  expect(ended).toMatchObject({ headers: { 'preference-applied': 'wait=60' } })
  expect(ended).toMatchObject({ json: { status: 'succeeded', links: { file: `/jobs/${job.id}/file` } } })
  expect(ended.headers).not.toHaveProperty('retry-after')
})

test('the events of a job begin with it as it is and end with its end', async () => {
  const { asked, stream } = await withExportsWaiting(async () => {
    const job = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    const headers = { authorization: `Bearer ${ROOT_TOKEN}` }
    const answer = await request(`${wharf.url}/jobs/${job.id}/events`, { headers })
    expect(answer.headers['content-type']).toBe('text/event-stream')
    return { asked: job, stream: answer.body.text() }
  })
  const events = (await stream).split('\n\n').filter((event) => event.startsWith('event: job'))
  const jobs = events.map((event) => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '{}'))
  expect(jobs.length).toBeGreaterThan(1)
  expect(jobs[0]).toMatchObject({ id: asked.id })
  expect(jobs.at(-1)).toMatchObject({ id: asked.id, status: 'succeeded' })
})

test('a queued job that is cancelled has ended at once, and is never begun', async () => {
  await withExportsWaiting(async () => {
    const busy = await Promise.all(Array.from({ length: 4 }, () => askExport(wharf.root, [{ slug: 'shop' }])))
    for (const answer of busy) {
      await eventually(async () => (await showJob(wharf.root, jobOf(answer).id)).status).toBe('running')
    }
    const waiting = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    const answer = await wharf.root.post(`/jobs/${waiting.id}/cancel`)
    expect(answer).toMatchObject({ status: 202, json: { status: 'cancelled', attempt: 0 } })
    for (const one of busy) await wharf.root.post(`/jobs/${jobOf(one).id}/cancel`)
    for (const one of busy) expect(await untilEnded(wharf.root, jobOf(one))).toMatchObject({ status: 'cancelled' })
  })
})

test('a job that has ended can be removed, with its file, and one that goes on cannot', async () => {
  const running = await withExportsWaiting(async () => {
    const job = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    expect(await wharf.root.delete(`/jobs/${job.id}`)).toMatchObject({ status: 409 })
    return job
  })
  await untilEnded(wharf.root, running)
  expect(await wharf.root.delete(`/jobs/${running.id}`)).toMatchObject({ status: 204 })
  expect(await wharf.root.get(`/jobs/${running.id}`)).toMatchObject({ status: 404 })
  expect(await wharf.root.get(`/jobs/${running.id}/file`)).toMatchObject({ status: 404 })
  await eventually(() =>
    wharf.database.query(`SELECT FROM control.artifact WHERE job_id IS NULL AND kind = 'output'`),
  ).toEqual([])
})

test('a job is known to who asked for it, and to who might have; to nobody else', async () => {
  const asker = await wharf.member('shop', 'admin')
  const colleague = await wharf.member('shop', 'content_admin')
  const viewer = await wharf.member('shop', 'viewer')
  const outsider = await wharf.member('empty', 'admin')
  const job = await untilEnded(asker, jobOf(await askExport(asker, [{ slug: 'shop' }])))
  for (const client of [asker, colleague, wharf.root]) {
    expect(await client.get(`/jobs/${job.id}`)).toMatchObject({ status: 200 })
    expect(await client.get(`/jobs/${job.id}/file`)).toMatchObject({ status: 200 })
  }
  for (const client of [viewer, outsider]) {
    expect(await client.get(`/jobs/${job.id}`)).toMatchObject({ status: 404 })
    expect(await client.get(`/jobs/${job.id}/file`)).toMatchObject({ status: 404 })
    expect((await client.get('/jobs')).text).not.toContain(job.id)
    expect(await client.post(`/jobs/${job.id}/cancel`)).toMatchObject({ status: 404 })
    expect(await client.get(`/jobs/${job.id}/events`)).toMatchObject({ status: 404 })
    expect(await client.delete(`/jobs/${job.id}`)).toMatchObject({ status: 404 })
  }
  expect(await askExport(viewer, [{ slug: 'shop' }])).toMatchObject({ status: 403 })
  expect(await askExport(outsider, [{ slug: 'shop' }])).toMatchObject({ status: 404 })
})

test('rows go to another server and come from it, and its token is to be found nowhere', async () => {
  const token = `wharf_${'canary'.repeat(8)}`
  const created = await other.root.post('/tokens', {
    json: { name: 'for transfers', memberships: [{ project: 'far', role: 'admin' }] },
  })
  const { token: real } = created.json as { token: string }
  const dsn = `wharf://far:${real}@${new URL(other.url).host}`
  const pushed = jobOf(await wharf.root.post('/transfer', { json: { source: { project: 'shop' }, target: { dsn } } }))
  const sent = await untilEnded(wharf.root, pushed)
  expect(sent, JSON.stringify(sent)).toMatchObject({ status: 'succeeded' })
  expect(comparableLines(await exportOf(other.root, 'far'))).toEqual(
    comparableLines(await exportOf(wharf.root, 'shop')),
  )

  await other.database.query(`DELETE FROM "far.live".item WHERE id > 10`)
  const pulled = jobOf(await wharf.root.post('/transfer', { json: { source: { dsn }, target: { project: 'empty' } } }))
  expect(await untilEnded(wharf.root, pulled)).toMatchObject({ status: 'succeeded' })
  expect(await wharf.database.query('SELECT count(*)::int AS n FROM "empty.live".item')).toEqual([{ n: 10 }])

  const wrong = dsn.replace(real, token)
  const refused = jobOf(
    await wharf.root.post('/transfer', { json: { source: { dsn: wrong }, target: { project: 'empty' } } }),
  )
  expect(await untilEnded(wharf.root, refused)).toMatchObject({ status: 'failed', error: { code: 'REMOTE_FAILED' } })

  const everywhere = [
    wharf.log(),
    await redis?.dump(),
    JSON.stringify(await wharf.database.query('SELECT job::text FROM control.job')),
    (await wharf.root.get('/jobs')).text,
  ].join('\n')
  expect(everywhere).toContain('***')
  for (const secret of [real, token]) expect(everywhere.includes(secret)).toBe(false)
})

test('a transfer reaches only servers that the operator has allowed, and no address inside', async () => {
  const transfer = (dsn: string) =>
    wharf.root.post('/transfer', { json: { source: { dsn }, target: { project: 'empty' } } })
  for (const host of ['example.org', '169.254.169.254', '127.0.0.1:1', '[::1]:4000', 'localhost:80']) {
    expect(await transfer(`wharf+http://far:secret-token@${host}`), host).toMatchObject({ status: 403 })
  }
  expect(await transfer('https://example.org/far')).toMatchObject({
    status: 400,
    json: { errors: [{ pointer: '/source/dsn' }] },
  })
})

test('localhost in the list is enough for the addresses of this machine', async () => {
  const { port } = new URL(wharf.url)
  const ask = async (...allowed: string[]): Promise<unknown> => {
    const options = {
      origin: `http://localhost:${port}`,
      token: ROOT_TOKEN,
      allowed,
      signal: AbortSignal.timeout(20_000),
    }
    const server = connectRemoteServer(options)
    try {
      await collect(await server.openExport({ slug: 'shop', system: false }))
      return 'reached'
    } catch (error) {
      return error
    } finally {
      await server.close()
    }
  }
  expect(await ask('localhost')).toBe('reached')
  expect(await ask(`localhost:${port}`)).toBe('reached')
})

test('a transfer from a project to itself is refused', async () => {
  const itself = { source: { project: 'shop' }, target: { project: 'shop' } }
  expect(await wharf.root.post('/transfer', { json: itself })).toMatchObject({ status: 400 })
})

test('an upload that is refused leaves neither a job nor a file', async () => {
  const before = await wharf.database.query('SELECT count(*)::int AS n FROM control.job')
  const archive = await exportOf(wharf.root, 'shop')
  expect(await askImport(wharf.root, archive.slice(0, 500))).toMatchObject({ status: 400 })
  expect(await askImport(wharf.root, archive, '?targetSlug=nowhere')).toMatchObject({ status: 404 })
  const viewer = await wharf.member('shop', 'viewer')
  expect(await askImport(viewer, archive)).toMatchObject({ status: 403 })
  expect(await wharf.database.query('SELECT count(*)::int AS n FROM control.job')).toEqual(before)
  await eventually(() =>
    wharf.database.query(`SELECT FROM control.artifact WHERE kind = 'input' AND state <> 'removed'`),
  ).toEqual([])
})

test('metrics tell of jobs, of the queue and of requests', async () => {
  const job = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'shop' }])))
  expect(job).toMatchObject({ status: 'succeeded' })
  const { text } = await wharf.root.withToken(undefined).get('/metrics')
  expect(text).toMatch(/^wharf_jobs\{kind="export",status="succeeded"\} [1-9]/m)
  expect(text).toMatch(/^wharf_queue_waiting\{kind="export"\} 0$/m)
  expect(text).toMatch(/^wharf_jobs_ended_total\{kind="export",status="succeeded"\} [1-9]/m)
  expect(text).toMatch(/^wharf_jobs_ended_total\{kind="import",status="failed"\} 0$/m)
  expect(text).toMatch(/^wharf_job_attempt_duration_seconds_count\{kind="export",status="succeeded"\} [1-9]/m)
  expect(text).toMatch(/^process_resident_memory_bytes [1-9]/m)
  expect(text).toMatch(/^wharf_dependency_up\{dependency="queue"\} 1$/m)
  expect(text).toMatch(/^wharf_http_request_duration_seconds_count\{operation="exportProjects",status="202"\} [1-9]/m)
})

test('metrics keep to the rules that Prometheus has for names and types', async () => {
  const { text } = await wharf.root.get('/metrics')
  const counters = [...text.matchAll(/^# TYPE (\w+) counter$/gm)].map(([, name]) => name)
  const totals = [...text.matchAll(/^(\w+_total)\b/gm)].map(([, name]) => name)
  expect(totals.filter((name) => !counters.includes(name))).toEqual([])
  expect(text).not.toMatch(/^\w+\{[^}]*quantile=/m)
  if (!isInstalled('promtool')) return
  const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  expect(stdout + stderr).toBe('')
})

test('without its queue the service is ready for all but jobs, and says so', async () => {
  const readiness = async () => (await wharf.root.get('/readyz')).json
  expect(await readiness()).toEqual({ status: 'ready', unavailable: [] })
  await redis?.kill()
  expect(await readiness()).toEqual({ status: 'ready', unavailable: ['queue'] })
  expect((await wharf.root.get('/metrics')).text).toMatch(/^wharf_dependency_up\{dependency="queue"\} 0$/m)
  expect((await wharf.root.get('/content/shop/live/item?limit=1')).status).toBe(200)
  expect(await exportOf(wharf.root, 'shop')).toContain('"end"')
  const said = (level: number): string[] =>
    wharf
      .log()
      .split('\n')
      .filter((line) => line.startsWith(`{"level":${level}`) && line.includes('"msg":"the queue '))
  await eventually(
    async () => said(20).filter((line) => line.includes('the queue has trouble')).length,
  ).toBeGreaterThan(20)
  expect(said(40)).toEqual([expect.stringContaining('the queue has trouble: jobs wait until it answers again')])
  await redis?.start()
  await eventually(readiness).toEqual({ status: 'ready', unavailable: [] })
  await eventually(async () => said(30)).toEqual([expect.stringContaining('the queue answers again')])
})
