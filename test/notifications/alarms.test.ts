import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { noteOverdue } from '../../src/jobs/schedules/alarms.ts'
import { fireDue } from '../../src/jobs/schedules/fire.ts'
import { eventually } from '../support/eventually.ts'
import { serveHttp, type TestServer } from '../support/http/serve-http.ts'
import {
  afterDue,
  askSchedule,
  makeSchedule,
  runWhenDue,
  type SeenSchedule,
  showSchedule,
} from '../support/jobs/schedules.ts'
import { makeScheduleOfDraft } from '../support/notifications/failing-schedule.ts'
import { startReceiver } from '../support/notifications/receiver.ts'
import { deliveriesOf, makeWebhook, SENDING } from '../support/notifications/webhooks.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf(SENDING)
  await createProject(wharf, 'shop', 'CREATE TABLE t (n int PRIMARY KEY, text text); INSERT INTO t VALUES (1)')
})
afterAll(() => wharf?.close())

/** A schedule for the time of a test. */
async function schedule(fields: Readonly<Record<string, unknown>> = {}, slug = 'shop'): Promise<SeenSchedule> {
  const made = await makeSchedule(wharf.root, slug, fields)
  onTestFinished(async () => {
    await wharf.root.delete(`/schedules/${made.id}`)
  })
  return made
}

/** A webhook, for the time of a test, that hears only of one schedule's alarms. */
async function watch(receiver: TestServer, { id }: SeenSchedule) {
  const events = ['schedule.missed', 'archive.overdue', 'archive.shrunk']
  const webhook = await makeWebhook(wharf.root, receiver.url, { schedules: [id], events })
  onTestFinished(async () => {
    await wharf.root.delete(`/webhooks/${webhook.id}`)
  })
  return webhook
}

const pathsOf = ({ requests }: TestServer) => requests.map(({ method, path }) => `${method} ${path}`)
const bodiesOf = ({ requests }: TestServer) => requests.map(({ body }) => JSON.parse(body))

test('when a run succeeds, its ping is asked for, and nothing else', async () => {
  const receiver = await startReceiver(200)
  const made = await schedule({ ping: { url: `${receiver.url}/uuid?key=1` } })
  await runWhenDue(wharf, made)
  await eventually(() => pathsOf(receiver)).toEqual(['GET /uuid?key=1'])
  expect(receiver.requests[0]).toMatchObject({ body: '', headers: { 'user-agent': expect.stringMatching(/^wharf\//) } })
})

test('a ping is told of starts and failures, if it asks for them', async () => {
  const receiver = await startReceiver(200)
  const ping = { url: `${receiver.url}/uuid/?key=1`, start: true, fail: true }
  const { schedule: made, letFail } = await makeScheduleOfDraft(wharf, 'short', { ping })
  onTestFinished(async () => {
    await wharf.root.delete(`/schedules/${made.id}`)
  })
  await runWhenDue(wharf, made)
  await eventually(() => pathsOf(receiver)).toEqual(['GET /uuid/start?key=1', 'GET /uuid/?key=1'])
  await letFail()
  await runWhenDue(wharf, made)
  await eventually(() => pathsOf(receiver).slice(2)).toEqual(['GET /uuid/start?key=1', 'GET /uuid/fail?key=1'])
})

test('a ping takes the place of an earlier one that did not arrive', async () => {
  const receiver = await serveHttp(({ url = '' }, response) => {
    response.statusCode = url.endsWith('/start') ? 500 : 200
    response.end()
  })
  const made = await schedule({ ping: { url: receiver.url, start: true } })
  const [ping] = await pings(made)
  await runWhenDue(wharf, made)
  await eventually(async () =>
    (await deliveriesOf(wharf.root, ping)).map(({ type, status }) => [type, status]),
  ).toEqual([
    ['job.succeeded', 'sent'],
    ['job.started', 'failed'],
  ])
})

test('a ping that was on its way when a newer one was written down is not tried again', async () => {
  let answerStart: () => void = () => undefined
  const receiver = await serveHttp(({ url = '' }, response) => {
    response.statusCode = url.endsWith('/start') ? 500 : 200
    if (url.endsWith('/start')) answerStart = () => response.end()
    else response.end()
  })
  const made = await schedule({ ping: { url: receiver.url, start: true } })
  const [ping] = await pings(made)
  await runWhenDue(wharf, made)
  const statuses = async () => (await deliveriesOf(wharf.root, ping)).map(({ type, status }) => [type, status])
  await eventually(statuses).toEqual([
    ['job.succeeded', 'waiting'],
    ['job.started', 'waiting'],
  ])
  await eventually(() => receiver.requests.length).toBe(1)
  answerStart()
  await eventually(statuses).toEqual([
    ['job.succeeded', 'sent'],
    ['job.started', 'failed'],
  ])
  expect(pathsOf(receiver)).toHaveLength(2)
})

/** The webhooks that are the pings of a schedule. */
async function pings({ id }: SeenSchedule): Promise<[{ id: string }, ...{ id: string }[]]> {
  const { items } = (await wharf.root.get('/webhooks')).json as { items: { id: string; scheduleId: string | null }[] }
  const [first, ...others] = items.filter(({ scheduleId }) => scheduleId === id)
  if (!first) throw new Error('the schedule has no ping')
  return [first, ...others]
}

test('the URL of a ping is a secret, and goes with its schedule', async () => {
  const receiver = await startReceiver(200)
  const made = await makeSchedule(wharf.root, 'shop', { ping: { url: `${receiver.url}/hidden-uuid`, fail: true } })
  expect(made).toMatchObject({ ping: { address: receiver.url, start: false, fail: true, enabled: true } })
  const [{ id }] = await pings(made)
  const shown = [await wharf.root.get('/schedules'), await wharf.root.get('/webhooks')].map(({ text }) => text)
  expect(shown.join()).not.toContain('hidden-uuid')
  expect(await wharf.root.patch(`/webhooks/${id}`, { json: { name: 'x' } })).toMatchObject({ status: 409 })
  expect(await wharf.root.delete(`/webhooks/${id}`)).toMatchObject({ status: 409 })
  const path = `/schedules/${made.id}`
  await wharf.root.patch(path, { json: { name: 'weekly' } })
  expect((await wharf.root.get(`/webhooks/${id}`)).json).toMatchObject({ kind: 'ping', name: 'ping of weekly' })
  expect((await wharf.root.patch(path, { json: { ping: null } })).json).toMatchObject({ ping: null })
  await wharf.root.patch(path, { json: { ping: { url: receiver.url } } })
  const [again] = await pings(made)
  await wharf.root.delete(path)
  for (const each of [id, again.id]) expect((await wharf.root.get(`/webhooks/${each}`)).status).toBe(404)
})

test('a ping leads to no address inside, whichever token asks for it', async () => {
  const exporter = await wharf.member('shop', 'admin')
  const answer = await askSchedule(exporter, 'shop', { ping: { url: 'http://10.0.0.1/admin' } })
  expect(answer).toMatchObject({ status: 403 })
})

test('a time at which the run before still goes on is told as missed, and one that comes late', async () => {
  const receiver = await startReceiver()
  const made = await schedule()
  await watch(receiver, made)
  await wharf.database.query(
    `INSERT INTO control.job (id, kind, status, request, schedule_id, max_attempts)
     VALUES (gen_random_uuid(), 'export', 'queued', '{}', $1, 0)`,
    [made.id],
  )
  await fireDue(wharf.container, afterDue(made))
  await eventually(() => bodiesOf(receiver)).toEqual([
    expect.objectContaining({
      type: 'schedule.missed',
      data: {
        run: { dueAt: made.nextRunAt, reason: 'skipped' },
        projects: ['shop'],
        schedule: { id: made.id, name: 'shop at night', url: `https://wharf.example.org/schedules/${made.id}` },
      },
    }),
  ])
  await wharf.database.query('DELETE FROM control.job WHERE schedule_id = $1', [made.id])
  const next = await showSchedule(wharf.root, made)
  await fireDue(wharf.container, new Date(afterDue(next).getTime() + 6 * 60_000))
  await eventually(() => bodiesOf(receiver)[1]).toMatchObject({
    data: { run: { dueAt: next.nextRunAt, reason: 'late' } },
  })
})

test('an archive that is much smaller than the one before it is told, and one that is not is not', async () => {
  const receiver = await startReceiver()
  await createProject(wharf, 'large', 'CREATE TABLE t (n int PRIMARY KEY, text text)')
  const fill = `INSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 2000) AS n`
  await applyScript(wharf, 'large', fill)
  const made = await schedule({ alarms: { shrinkPercent: 50 } }, 'large')
  await watch(receiver, made)
  await runWhenDue(wharf, made)
  await runWhenDue(wharf, made)
  await applyScript(wharf, 'large', 'DELETE FROM t WHERE n > 10')
  const { lastRun } = await runWhenDue(wharf, made)
  await eventually(() => bodiesOf(receiver)).toHaveLength(1)
  expect(bodiesOf(receiver)[0]).toMatchObject({
    type: 'archive.shrunk',
    data: { archive: { jobId: lastRun?.jobId, bytes: expect.any(Number), bytesBefore: expect.any(Number) } },
  })
  expect(bodiesOf(receiver)[0].data.archive.percent).toBeGreaterThan(50)
})

test('a last archive that is too old is told once, until there is a newer one; none of while the clock was ahead counts', async () => {
  const receiver = await startReceiver()
  const made = await schedule({ alarms: { maxAgeHours: 24 }, verify: true })
  const webhook = await watch(receiver, made)
  const agesSent = async (): Promise<string[]> => {
    for (let count = 0; count < 2; count += 1) await noteOverdue(wharf.container.control)
    await eventually(() => wharf.database.query('SELECT FROM control.notification WHERE addressed_at IS NULL')).toEqual(
      [],
    )
    await eventually(async () =>
      (await deliveriesOf(wharf.root, webhook)).filter(({ status }) => status === 'waiting'),
    ).toEqual([])
    return bodiesOf(receiver).map(({ data }) => data.archive.lastAt)
  }
  expect(await agesSent()).toEqual([])
  await wharf.database.query(
    `INSERT INTO control.schedule_run (schedule_id, due_at, outcome, finished_at, proven_at)
     SELECT $1, ahead, 'succeeded', ahead, ahead FROM (SELECT now() + interval '400 days') AS clock (ahead)`,
    [made.id],
  )
  await wharf.database.query(`UPDATE control.schedule SET created_at = now() - interval '25 hours' WHERE id = $1`, [
    made.id,
  ])
  expect(await agesSent()).toEqual([null])
  expect(await showSchedule(wharf.root, made)).toMatchObject({ overdueSince: expect.any(String) })
  expect(await runWhenDue(wharf, made)).toMatchObject({ lastProven: { provenAt: expect.any(String) } })
  expect(await agesSent()).toEqual([null])
  expect(await showSchedule(wharf.root, made)).toMatchObject({ overdueSince: null })
  await wharf.database.query(
    `UPDATE control.schedule_run SET proven_at = now() - interval '25 hours' WHERE schedule_id = $1`,
    [made.id],
  )
  expect(await agesSent()).toEqual([null, expect.stringMatching(/Z|\+00/)])
})

test('what makes no archive has no alarms of archives', async () => {
  await createProject(wharf, 'copy')
  const request = { source: { project: 'shop' }, target: { project: 'copy' } }
  const answer = await askSchedule(wharf.root, 'shop', { kind: 'transfer', request, alarms: { shrinkPercent: 10 } })
  expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('/alarms') })
})
