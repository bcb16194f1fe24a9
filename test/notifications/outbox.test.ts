import { setTimeout as delay } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open-database.ts'
import { createDescribe } from '../../src/jobs/describe-notification.ts'
import { begin, endCancelled, fail, reclaim, requestCancel, succeed } from '../../src/jobs/transitions.ts'
import { createLogger } from '../../src/logger.ts'
import { removeNotifications } from '../../src/notifications/deliveries.ts'
import { startSending } from '../../src/notifications/start-sending.ts'
import { eventually } from '../support/eventually.ts'
import type { LostCall } from '../support/faults/fail-point.ts'
import { startFailingRelay } from '../support/faults/failing-relay.ts'
import { readPostgresCalls } from '../support/faults/postgres-calls.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { askExport, jobOf, startWorkerProcess } from '../support/jobs/jobs.ts'
import { makeWebhook, SENDING } from '../support/notifications/webhooks.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough, numbers, someOf } from '../support/thorough.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf({ ...SENDING, worker: false })
  await createProject(wharf, 'shop', 'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)')
})
beforeEach(() => wharf.database.query('DELETE FROM control.notification'))
afterAll(() => wharf?.close())

/** A receiver that verifies each request as it comes, by a verifier that Wharf has no part in. */
async function startVerifier(answer: (count: number) => 'take' | 'break off' | number) {
  const ids: string[] = []
  const secrets: string[] = []
  const broken: unknown[] = []
  /** Paths of requests that came before the one before them was answered. */
  const overlapping: string[] = []
  const open = new Set<string>()
  const server = await serveHttp(async (request, response) => {
    const received = server.requests.at(-1)
    try {
      const headers = received?.headers as Record<string, string>
      // Of all webhooks of a test, one has signed it.
      const isGood = secrets.some((secret) => verifies(secret, received?.body ?? '', headers))
      if (!isGood) broken.push(received)
    } catch (error) {
      broken.push(error)
    }
    const { url: path = '' } = request
    if (open.has(path)) overlapping.push(path)
    open.add(path)
    response.once('close', () => open.delete(path))
    ids.push(String(request.headers['webhook-id']))
    const what = answer(ids.length)
    if (what === 'break off') return void request.socket.destroy()
    if (typeof what === 'number') await delay(what)
    response.statusCode = 204
    response.end()
  })
  return { ...server, ids, secrets, broken, overlapping }
}

function verifies(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

async function hook(url: string): Promise<{ id: string; secret: string }> {
  const webhook = await makeWebhook(wharf.root, url)
  onTestFinished(async () => {
    await wharf.root.delete(`/webhooks/${webhook.id}`)
  })
  return webhook
}

const ask = async (): Promise<string> => jobOf(await askExport(wharf.root, [{ slug: 'shop' }])).id

const notedOf = (jobId: string) =>
  wharf.database.query('SELECT type FROM control.notification WHERE job_id = $1', [jobId])

const PROGRESS = {
  phase: 'finishing',
  stage: null,
  table: null,
  rows: 1,
  rowsTotal: 1,
  bytes: 1,
  parts: 0,
  partsBefore: 0,
  percent: 100,
} as const
const ERROR = { code: 'CONFLICT', detail: 'no', faults: [] }

test('whichever way a job ends, a notification is written with its end', async () => {
  await hook('http://127.0.0.1:1/')
  const { prisma } = wharf.container.control
  const running = async () => {
    const job = await begin(prisma, await ask())
    if (!job) throw new Error('the job is not queued')
    return job
  }
  const [good, bad, unproven, stopped, lost, queued] = [
    ...(await Promise.all([running(), running(), running(), running(), running()])),
    { id: await ask() },
  ] as const
  await prisma.$transaction((tx) => succeed(tx, good, { result: {}, progress: PROGRESS }))
  await fail(prisma, bad, ERROR)
  await fail(prisma, unproven, { ...ERROR, code: 'PROOF_FAILED' })
  await requestCancel(prisma, stopped.id)
  expect(await notedOf(stopped.id)).toEqual([])
  await endCancelled(prisma, stopped)
  await requestCancel(prisma, queued.id)
  await wharf.database.query('UPDATE control.job SET max_attempts = attempt WHERE id = $1', [lost.id])
  await reclaim(prisma, lost, { leaseMs: -1_000, error: ERROR })
  const noted = await Promise.all([good, bad, unproven, stopped, lost, queued].map(({ id }) => notedOf(id)))
  expect(noted.flat().map(({ type }) => type)).toEqual([
    'job.succeeded',
    'job.failed',
    'proof.failed',
    'job.cancelled',
    'job.failed',
    'job.cancelled',
  ])
})

test('where the end of a job is not committed, nothing is told of it', async () => {
  await hook('http://127.0.0.1:1/')
  const { prisma } = wharf.container.control
  const job = await begin(prisma, await ask())
  if (!job) throw new Error('the job is not queued')
  await expect(
    prisma.$transaction(async (tx) => {
      await succeed(tx, job, { result: {}, progress: PROGRESS })
      throw new Error('undone')
    }),
  ).rejects.toThrow('undone')
  expect(await notedOf(job.id)).toEqual([])
  await fail(prisma, job, ERROR)
})

test('several processes never send one notification twice, nor two at once to one webhook', async () => {
  const receiver = await startVerifier(() => 20)
  const webhooks = await Promise.all(numbers(0, 5).map((number) => hook(`${receiver.url}/${number}`)))
  receiver.secrets.push(...webhooks.map(({ secret }) => secret))
  for (const { id } of webhooks) {
    for (let count = 0; count < 4; count += 1) await wharf.root.post(`/webhooks/${id}/test`)
  }
  const senders = numbers(0, 4).map(() => startSender({ lease: 60_000 }))
  await eventually(() => receiver.ids.length).toBe(20)
  await Promise.all(senders.map(({ stop }) => stop()))
  expect(new Set(receiver.ids).size).toBe(20)
  expect(await leftOver()).toEqual([])
  expect([receiver.broken, receiver.overlapping]).toEqual([[], []])
})

interface SenderOptions {
  readonly lease: number
  readonly graceMs?: number
  readonly database?: Database
}

/** Sends, in this process, what there is to send. */
function startSender({ lease, graceMs = 5_000, database = wharf.container.control }: SenderOptions) {
  return startSending(
    {
      ...wharf.container,
      control: database,
      logger: createLogger('silent'),
      webhookHosts: wharf.container.config.webhookHosts,
      mail: undefined,
      describe: createDescribe(),
    },
    { notifyMs: 20, notifyLeaseMs: lease, graceMs },
  )
}

/** What is still to be sent. */
const leftOver = () =>
  wharf.database.query(
    `SELECT id FROM control.notification WHERE addressed_at IS NULL
     UNION ALL SELECT id FROM control.delivery WHERE status <> 'sent'`,
  )

test('a process that stops gives back what it is sending, and another goes on under the same id', async () => {
  let answers = false
  const ids: unknown[] = []
  const receiver = await serveHttp((request, response) => {
    ids.push(request.headers['webhook-id'])
    if (answers) response.writeHead(204).end()
  })
  const { id } = await hook(receiver.url)
  await wharf.root.post(`/webhooks/${id}/test`)
  const first = startSender({ lease: 60_000, graceMs: 50 })
  await eventually(() => ids.length).toBe(1)
  await first.stop()
  expect(await wharf.database.query('SELECT status, attempt, taken_until FROM control.delivery')).toEqual([
    { status: 'waiting', attempt: 1, taken_until: null },
  ])
  answers = true
  const second = startSender({ lease: 60_000 })
  await eventually(leftOver).toEqual([])
  await second.stop()
  expect(ids).toEqual([ids[0], ids[0]])
})

test('notifications are removed after thirty days, with what became of them', async () => {
  const { id } = await hook('http://127.0.0.1:1/')
  for (const days of [29, 31]) {
    await wharf.root.post(`/webhooks/${id}/test`)
    await wharf.database.query(
      `UPDATE control.notification SET type = $1::text, created_at = now() - make_interval(days => $1::text::int)
        WHERE type = 'webhook.test'`,
      [String(days)],
    )
  }
  await removeNotifications(wharf.container.control.prisma)
  expect(await wharf.database.query('SELECT type FROM control.notification')).toEqual([{ type: '29' }])
  expect(await wharf.database.query('SELECT count(*)::int AS n FROM control.delivery')).toEqual([{ n: 1 }])
})

const LOST: readonly LostCall[] = numbers(1, 17).flatMap((nth) =>
  (['call', 'answer'] as const).map((lost) => ({ nth, lost })),
)

test('whichever call to PostgreSQL fails, a notification arrives, and again only under the same id', async () => {
  const receiver = await startVerifier((count) => (count % 3 === 0 ? 'break off' : 'take'))
  const { id, secret } = await hook(receiver.url)
  receiver.secrets.push(secret)
  const jobId = await ask()
  await requestCancel(wharf.container.control.prisma, jobId)
  const relay = await startFailingRelay(wharf.database.url, () => readPostgresCalls(() => true))
  const database = openDatabase(relay.url, { maxConnections: 3, session: 'wharf' }, { logger: createLogger('silent') })
  onTestFinished(async () => {
    await database.close()
    await relay.close()
  })
  for (const lostCall of someOf(LOST, 5)) {
    const [written] = await wharf.database.query<{ id: string }>(
      `INSERT INTO control.notification (type, job_id) VALUES ('job.cancelled', $1) RETURNING id`,
      [jobId],
    )
    relay.arm(lostCall)
    const sender = startSender({ lease: 500, database })
    const hurry = `UPDATE control.delivery SET due_at = now() WHERE webhook_id = $1 AND status = 'waiting' RETURNING id`
    await eventually(async () => {
      await wharf.database.query(hurry, [id])
      return leftOver()
    }).toEqual([])
    await sender.stop()
    relay.disarm()
    expect(receiver.ids, JSON.stringify(lostCall)).toContain(written?.id)
  }
  expect(receiver.broken).toEqual([])
  const sent = await wharf.database.query<{ id: string }>('SELECT id FROM control.notification')
  expect(sent.map((row) => row.id)).toEqual(expect.arrayContaining([...new Set(receiver.ids)]))
})

const KILLS = isThorough ? 100 : 3

test(
  'workers that are killed lose no notification, and send none again under another id',
  async () => {
    const receiver = await startVerifier((count) => count % 7)
    const webhooks = await Promise.all(numbers(0, 3).map(() => hook(receiver.url)))
    receiver.secrets.push(...webhooks.map(({ secret }) => secret))
    const timings = { notifyMs: 20, notifyLeaseMs: 700 }
    const jobs: string[] = []
    for (let count = 0; count < KILLS; count += 1) {
      jobs.push(await ask(), await ask())
      for (const { id } of webhooks) await wharf.root.post(`/webhooks/${id}/test`)
      const worker = await startWorkerProcess(wharf, SENDING.environment, timings)
      await delay(Math.random() * 500)
      await worker.kill('SIGKILL')
    }
    await startWorkerProcess(wharf, SENDING.environment, timings)
    const unended = `SELECT id FROM control.job WHERE status IN ('queued', 'running')`
    await eventually(() => wharf.database.query(unended), 120_000).toEqual([])
    await eventually(leftOver, 120_000).toEqual([])
    expect(receiver.broken).toEqual([])
    for (const id of jobs) expect(await notedOf(id)).toHaveLength(1)
    const written = await wharf.database.query<{ id: string }>(
      'SELECT DISTINCT notification_id AS id FROM control.delivery WHERE webhook_id = ANY ($1)',
      [webhooks.map(({ id }) => id)],
    )
    expect(new Set(receiver.ids)).toEqual(new Set(written.map(({ id }) => id)))
  },
  KILLS * 20_000 + 120_000,
)
