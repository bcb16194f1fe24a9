import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type ReceivedRequest, serveHttp, type TestServer } from '../support/http/serve-http.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { runWhenDue } from '../support/jobs/schedules.ts'
import { makeScheduleOfDraft } from '../support/notifications/failing-schedule.ts'
import { startReceiver } from '../support/notifications/receiver.ts'
import { deliveriesOf, makeWebhook, SENDING, untilDelivery } from '../support/notifications/webhooks.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf(SENDING)
  await createProject(wharf, 'shop', 'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)')
  await createProject(wharf, 'crm')
})
afterAll(() => wharf?.close())

/** A webhook for the time of a test. */
async function hook(url: string, fields: Readonly<Record<string, unknown>> = {}) {
  const webhook = await makeWebhook(wharf.root, url, fields)
  onTestFinished(async () => {
    await wharf.root.delete(`/webhooks/${webhook.id}`)
  })
  return webhook
}

/** Has the project exported by a job, and waits for its end. */
const runExport = async (slug = 'shop') => untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug }])))

/** What the unmodified verifier reads from a request. */
const verified = ({ body, headers }: ReceivedRequest, secret: string): unknown =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

const first = ({ requests }: TestServer): ReceivedRequest => {
  const [request] = requests
  if (!request) throw new Error('nothing was received')
  return request
}

test('the end of a job is told to a webhook, signed as Standard Webhooks wants it', async () => {
  const receiver = await startReceiver()
  const webhook = await hook(`${receiver.url}/secret-path?key=secret`)
  const { id } = await runExport()
  const delivery = await untilDelivery(wharf.root, webhook, { status: 'sent', answered: 204, attempt: 1, error: null })
  expect(delivery).toMatchObject({ type: 'job.succeeded', jobId: id })
  const request = first(receiver)
  expect(request).toMatchObject({ method: 'POST', path: '/secret-path?key=secret' })
  expect(request.headers).toMatchObject({
    'webhook-id': delivery.notificationId,
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^wharf\//),
  })
  expect(verified(request, webhook.secret)).toEqual({
    type: 'job.succeeded',
    timestamp: expect.stringMatching(/Z$/),
    data: {
      job: {
        ...{ id, kind: 'export', status: 'succeeded', attempt: 1, error: null, rows: 1 },
        createdAt: expect.any(String),
        startedAt: expect.any(String),
        finishedAt: expect.any(String),
        bytes: expect.any(Number),
        url: `https://wharf.example.org/jobs/${id}`,
      },
      projects: ['shop'],
      schedule: null,
    },
  })
  expect(receiver.requests).toHaveLength(1)
})

test('a request that was changed on its way is not verified', async () => {
  const receiver = await startReceiver()
  const webhook = await hook(receiver.url)
  await runExport()
  await untilDelivery(wharf.root, webhook, { status: 'sent' })
  const request = first(receiver)
  const changed = { ...request, body: request.body.replace('shop', 'crm') }
  expect(() => verified(changed, webhook.secret)).toThrow('No matching signature found')
})

test('a run of a schedule that fails says why, and whose it is', async () => {
  const receiver = await startReceiver()
  const { schedule, letFail } = await makeScheduleOfDraft(wharf, 'short', { name: 'nightly' })
  await hook(receiver.url, { schedules: [schedule.id], events: ['job.failed'] })
  await letFail()
  await runWhenDue(wharf, schedule)
  await eventually(() => receiver.requests.length).toBe(1)
  expect(JSON.parse(first(receiver).body)).toMatchObject({
    type: 'job.failed',
    data: {
      job: { status: 'failed', error: { code: 'NOT_FOUND', detail: expect.stringContaining('"draft"') } },
      projects: ['short'],
      schedule: { id: schedule.id, name: 'nightly' },
    },
  })
})

test('a job that is cancelled is told as such', async () => {
  const receiver = await startReceiver()
  const webhook = await hook(receiver.url)
  const { id } = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
  const ended = await wharf.root.post(`/jobs/${id}/cancel`)
  expect(ended.status).toBe(202)
  await untilDelivery(wharf.root, webhook, { status: 'sent', jobId: id, type: expect.stringMatching(/^job\./) })
})

test('a webhook hears only of the projects, jobs and outcomes that it chooses', async () => {
  const receiver = await startReceiver()
  const others = [{ projects: ['crm', 'x-*'] }, { jobKinds: ['import'] }, { events: ['job.failed', 'job.cancelled'] }]
  const silent = await Promise.all(others.map((fields) => hook(receiver.url, fields)))
  const webhook = await hook(receiver.url, { projects: ['sh?p'], jobKinds: ['export'], events: ['job.succeeded'] })
  await runExport()
  await untilDelivery(wharf.root, webhook, { status: 'sent' })
  for (const each of silent) expect(await deliveriesOf(wharf.root, each)).toEqual([])
})

test('what a receiver did not take is sent again later, under the same id and with the same body', async () => {
  const receiver = await startReceiver(500, 204)
  const webhook = await hook(receiver.url)
  await runExport()
  const failed = await untilDelivery(wharf.root, webhook, { status: 'waiting', attempt: 1, answered: 500 })
  expect(failed).toMatchObject({ error: 'the receiver answered with the status 500', dueAt: expect.any(String) })
  await wharf.database.query(`UPDATE control.delivery SET due_at = now() WHERE id = $1`, [failed.id])
  await untilDelivery(wharf.root, webhook, { status: 'sent', attempt: 2, answered: 204, error: null })
  const [one, two] = receiver.requests
  expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id'])
  expect(two?.body).toBe(one?.body)
})

test('a receiver that asks for time gets it', async () => {
  const busy = await serveHttp((_, response) => response.writeHead(429, { 'retry-after': '900' }).end())
  const webhook = await hook(busy.url)
  await wharf.root.post(`/webhooks/${webhook.id}/test`)
  const { dueAt, triedAt } = await untilDelivery(wharf.root, webhook, { status: 'waiting', answered: 429 })
  expect(Date.parse(String(dueAt)) - Date.parse(String(triedAt))).toBeGreaterThanOrEqual(900_000)
})

test('what could not be sent for a day is given up, and can be sent again by hand under the same id', async () => {
  const receiver = await startReceiver(503, 503, 204)
  const webhook = await hook(receiver.url)
  const { id: jobId } = await runExport()
  const { id, notificationId } = await untilDelivery(wharf.root, webhook, { status: 'waiting', attempt: 1 })
  const path = `/webhooks/${webhook.id}/deliveries/${id}`
  expect(await wharf.root.post(`${path}/resend`)).toMatchObject({ status: 409 })
  await wharf.database.query(`UPDATE control.delivery SET due_at = now(), retry_until = now() WHERE id = $1`, [id])
  await untilDelivery(wharf.root, webhook, { status: 'failed', attempt: 2, answered: 503, dueAt: null })
  expect((await wharf.root.post(`${path}/resend`)).json).toMatchObject({ status: 'waiting', jobId })
  await untilDelivery(wharf.root, webhook, { status: 'sent', attempt: 3 })
  expect((await wharf.root.get(path)).json).toMatchObject({ status: 'sent', notificationId })
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual(Array(3).fill(notificationId))
})

test('a receiver that says it is gone gets nothing more until its webhook is enabled again', async () => {
  const receiver = await startReceiver(500, 410, 204)
  const webhook = await hook(receiver.url)
  await runExport()
  await untilDelivery(wharf.root, webhook, { status: 'waiting', attempt: 1 })
  await runExport()
  await eventually(async () => (await deliveriesOf(wharf.root, webhook)).map(({ status }) => status)).toEqual([
    'failed',
    'failed',
  ])
  const path = `/webhooks/${webhook.id}`
  expect((await wharf.root.get(path)).json).toMatchObject({ enabled: false, goneAt: expect.any(String) })
  expect((await wharf.root.post(`${path}/test`)).status).toBe(409)
  expect((await wharf.root.patch(path, { json: { enabled: true } })).json).toMatchObject({
    enabled: true,
    goneAt: null,
  })
  expect((await wharf.root.post(`${path}/test`)).status).toBe(202)
  await untilDelivery(wharf.root, webhook, { status: 'sent', type: 'webhook.test' })
  expect(receiver.requests).toHaveLength(3)
})

test('what waits for a webhook that is disabled is given up', async () => {
  const receiver = await startReceiver(500)
  const webhook = await hook(receiver.url)
  await runExport()
  await untilDelivery(wharf.root, webhook, { status: 'waiting', attempt: 1 })
  await wharf.root.patch(`/webhooks/${webhook.id}`, { json: { enabled: false } })
  await untilDelivery(wharf.root, webhook, { status: 'failed', error: 'the webhook was disabled' })
  await runExport()
  expect(await deliveriesOf(wharf.root, webhook)).toHaveLength(1)
})

test('redirects are not followed', async () => {
  const receiver = await startReceiver(302)
  const webhook = await hook(receiver.url)
  await runExport()
  await untilDelivery(wharf.root, webhook, {
    status: 'waiting',
    answered: 302,
    error: expect.stringMatching(/redirects/),
  })
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/'])
})

test('a receiver that never answers delays neither jobs nor other receivers', async () => {
  const silent = await serveHttp(() => undefined)
  const receiver = await startReceiver()
  const slow = await hook(silent.url)
  const quick = await hook(receiver.url)
  for (let count = 0; count < 3; count += 1) expect((await runExport()).status).toBe('succeeded')
  await eventually(async () => (await deliveriesOf(wharf.root, quick)).map(({ status }) => status)).toEqual([
    'sent',
    'sent',
    'sent',
  ])
  expect(receiver.requests).toHaveLength(3)
  expect((await deliveriesOf(wharf.root, slow)).map(({ status }) => status)).toEqual(['waiting', 'waiting', 'waiting'])
  expect(silent.requests).toHaveLength(1)
})

test('a receiver whose answer never ends has said enough with its status', async () => {
  const endless = await serveHttp((_, response) => {
    const timer = setInterval(() => response.write(' '.repeat(65_536)), 5)
    response.on('close', () => clearInterval(timer))
  })
  const webhook = await hook(endless.url)
  await wharf.root.post(`/webhooks/${webhook.id}/test`)
  await untilDelivery(wharf.root, webhook, { status: 'sent', answered: 200, attempt: 1 })
})

test('after its secret was changed, requests are signed with both for a day', async () => {
  const receiver = await startReceiver()
  const webhook = await hook(receiver.url)
  const rotated = (await wharf.root.post(`/webhooks/${webhook.id}/rotate`)).json as { secret: string }
  expect(rotated.secret).toMatch(/^whsec_/)
  expect(rotated.secret).not.toBe(webhook.secret)
  await wharf.root.post(`/webhooks/${webhook.id}/test`)
  await untilDelivery(wharf.root, webhook, { status: 'sent' })
  const expected = {
    type: 'webhook.test',
    timestamp: expect.any(String),
    data: { webhook: { id: webhook.id, name: 'ours' } },
  }
  for (const secret of [webhook.secret, rotated.secret]) expect(verified(first(receiver), secret)).toEqual(expected)
})

test('neither the path of its URL nor its secret is shown or logged, or stored in the clear', async () => {
  const receiver = await startReceiver(500)
  const webhook = await hook(`${receiver.url}/T00/B00/very-secret-path`)
  await runExport()
  await untilDelivery(wharf.root, webhook, { status: 'waiting', attempt: 1 })
  const shown = await Promise.all(
    ['/webhooks', `/webhooks/${webhook.id}`, `/webhooks/${webhook.id}/deliveries`].map((path) => wharf.root.get(path)),
  )
  const stored = await wharf.database.query('SELECT row_to_json(webhook)::text FROM control.webhook')
  const all = JSON.stringify([shown.map(({ text }) => text), stored, wharf.log()])
  expect(all).toContain(new URL(receiver.url).origin)
  expect(all).not.toMatch(/very-secret-path|whsec_/)
})

test.each([
  ['a host that is not listed', 'https://example.org/', 403],
  ['an address inside', 'http://10.0.0.1/', 403],
  ['another protocol', 'ftp://127.0.0.1/', 400],
  ['a password', 'http://user:password@127.0.0.1/', 400],
  ['no URL at all', 'slack', 400],
])('a webhook with %s is refused', async (_, url, status) => {
  const answer = await wharf.root.post('/webhooks', { json: { name: 'x', url } })
  expect(answer).toMatchObject({ status })
  expect(answer.text).not.toContain('password@')
})

test('where all public hosts may be reached, addresses inside may not, by name or by address', async () => {
  const receiver = await startReceiver()
  const { port } = receiver
  const beside = await startWharf({ beside: wharf, environment: { WHARF_WEBHOOK_HOSTS: '*' }, worker: true })
  onTestFinished(beside.close)
  const create = (url: string) => beside.root.post('/webhooks', { json: { name: 'x', url, events: ['job.failed'] } })
  expect(await create(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 403 })
  expect(await create('http://169.254.169.254/latest')).toMatchObject({ status: 403 })
  expect(await create('http://[::ffff:10.0.0.1]/')).toMatchObject({ status: 403 })
  const named = await create(`http://localhost:${port}/`)
  const { id } = named.json as { id: string }
  onTestFinished(async () => {
    await wharf.root.delete(`/webhooks/${id}`)
  })
  await wharf.root.post(`/webhooks/${id}/test`)
  await untilDelivery(
    wharf.root,
    { id },
    { status: 'waiting', attempt: 1, error: expect.stringMatching(/may not reach|inside/) },
  )
  expect(receiver.requests).toEqual([])
})

test('metrics say how many notifications were sent, and how many wait', async () => {
  const receiver = await startReceiver(500)
  const webhook = await hook(receiver.url)
  await wharf.root.post(`/webhooks/${webhook.id}/test`)
  await untilDelivery(wharf.root, webhook, { status: 'waiting', attempt: 1 })
  const { text } = await wharf.root.get('/metrics')
  expect(text).toMatch(/^wharf_notification_attempts_total\{outcome="sent"\} [1-9]/m)
  expect(text).toMatch(/^wharf_notification_attempts_total\{outcome="retried"\} [1-9]/m)
  expect(text).toMatch(/^wharf_notifications_waiting [1-9]/m)
  expect(text).toMatch(/^wharf_notification_oldest_waiting_seconds [0-9.]+/m)
})
