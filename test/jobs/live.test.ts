import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { hostname } from 'node:os'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { begin, fail, giveBack, requestCancel, retryLater, succeed } from '../../src/jobs/transitions.ts'
import { runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, showJob } from '../support/jobs/jobs.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/* Nobody works on jobs here: the tests change them as workers do. */

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY)')
  await createProject(wharf, 'blog', 'CREATE TABLE post (id int PRIMARY KEY)')
})

afterAll(() => wharf?.close())

const prisma = () => wharf.container.control.prisma

const ask = async (slug = 'shop'): Promise<string> => jobOf(await askExport(wharf.root, [{ slug }])).id

async function attemptAt(id: string) {
  const job = await begin(prisma(), id)
  if (!job) throw new Error('the job is not queued')
  return job
}

const PROGRESS = {
  phase: 'finishing',
  ...{ stage: null, table: null, rows: 1, rowsTotal: 1, bytes: 1, parts: 0, partsBefore: 0 },
  percent: 100,
} as const

const succeedNow = async (id: string): Promise<void> => {
  const job = await attemptAt(id)
  await prisma().$transaction((tx) => succeed(tx, job, { result: {}, progress: PROGRESS }))
}

const AWAY = { code: 'DATABASE_UNAVAILABLE', detail: 'the database does not answer', faults: [] }

describe('the log of the attempts of a job', () => {
  test('has each attempt, why it ended, and to the root token alone where it ran', async () => {
    const id = await ask()
    await retryLater(prisma(), await attemptAt(id), AWAY)
    await giveBack(prisma(), await attemptAt(id))
    await attemptAt(id)
    const worker = `${hostname()}:${process.pid}`
    const times = { startedAt: expect.any(String), endedAt: expect.any(String) }
    const { code, detail } = AWAY
    const attempts = [
      { number: 1, worker, ...times, outcome: 'failed', error: { code, detail } },
      { number: 2, worker, ...times, outcome: 'stopped', error: null },
      { number: 3, worker, startedAt: expect.any(String), endedAt: null, outcome: null, error: null },
    ]
    expect((await showJob(wharf.root, id)).attempts).toEqual(attempts)
    const member = await wharf.member('shop', 'admin')
    const masked = attempts.map((attempt) => ({ ...attempt, worker: null }))
    expect((await showJob(member, id)).attempts).toEqual(masked)
    expect((await member.get('/jobs')).text).not.toContain(hostname())
    const shown = await runCommand(['job:show', id, '--server', dsnOf(wharf, 'shop')])
    expect(shown.stdout).toMatch(/attempt 1, .*: failed .*: the database does not answer \(DATABASE_UNAVAILABLE\)\n/)
    expect(shown.stdout).toMatch(/attempt 3, .*: under way\n/)
  })

  test('has the newest twenty', async () => {
    const id = await ask()
    for (let count = 1; count <= 25; count += 1) await giveBack(prisma(), await attemptAt(id))
    const { attempt, attempts } = await showJob(wharf.root, id)
    expect(attempt).toBe(25)
    expect((attempts as { number: number }[]).map(({ number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 6),
    )
  })

  test('goes on without the attempts that an earlier version began', async () => {
    const id = await ask()
    const job = await attemptAt(id)
    await wharf.database.query(`UPDATE control.job SET attempts = '[]' WHERE id = $1`, [id])
    await retryLater(prisma(), job, AWAY)
    await fail(prisma(), await attemptAt(id), AWAY)
    expect(await showJob(wharf.root, id)).toMatchObject({ attempt: 2, attempts: [{ number: 2, outcome: 'failed' }] })
  })
})

interface ListEvent {
  readonly ids: readonly string[]
  readonly items: readonly { readonly id: string; readonly status: string }[]
  readonly next: string | null
}

/** A stream of events that is read one by one. */
async function openEvents(path: string, { token = ROOT_TOKEN, url = wharf.url } = {}) {
  const asked = get(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  onTestFinished(() => void asked.destroy())
  // What the service breaks off is no error of the test.
  asked.on('error', () => undefined)
  const lines = createInterface({ input: answer })[Symbol.asyncIterator]()
  const next = async (): Promise<{ readonly event: string; readonly data: string } | undefined> => {
    for (let event = ''; ; ) {
      const { value: line, done } = await lines.next()
      if (done) return undefined
      if (line.startsWith('event: ')) event = line.slice('event: '.length)
      if (line.startsWith('data: ')) return { event, data: line.slice('data: '.length) }
    }
  }
  return {
    answer,
    next,
    async nextList(): Promise<ListEvent> {
      const said = await next()
      expect(said?.event).toBe('jobs')
      return JSON.parse(said?.data ?? '')
    },
    close: () => asked.destroy(),
  }
}

describe('the events of the list of jobs', () => {
  test('have the page at once, then what is new on it, has changed, or is gone', async () => {
    const first = await ask('blog')
    const events = await openEvents('/jobs/events?project=blog&limit=2')
    expect(events.answer.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    expect(await events.nextList()).toMatchObject({
      ids: [first],
      items: [{ id: first, status: 'queued' }],
      next: null,
    })

    await attemptAt(first)
    expect(await events.nextList()).toMatchObject({ ids: [first], items: [{ id: first, status: 'running' }] })

    const second = await ask('blog')
    expect(await events.nextList()).toMatchObject({ ids: [second, first], items: [{ id: second }], next: null })

    const third = await ask('blog')
    expect(await events.nextList()).toMatchObject({ ids: [third, second], items: [{ id: third }], next: second })

    await ask('shop')
    await requestCancel(prisma(), third)
    expect(await events.nextList()).toMatchObject({ items: [{ id: third, status: 'cancelled' }] })
    await wharf.root.delete(`/jobs/${third}`)
    expect(await events.nextList()).toMatchObject({ ids: [second, first], items: [{ id: first }], next: null })
  })

  test('have the jobs that a status or a kind says, and no others', async () => {
    const events = await openEvents('/jobs/events?project=blog&status=succeeded')
    expect(await events.nextList()).toEqual({ ids: [], items: [], next: null })
    const id = await ask('blog')
    await succeedNow(id)
    expect(await events.nextList()).toMatchObject({ ids: [id], items: [{ id, status: 'succeeded' }] })
    expect((await wharf.root.get('/jobs/events?status=done')).status).toBe(400)
  })

  test('are told to a token as far as it may list jobs, by what its role allows by then, until it is revoked', async () => {
    await wharf.root.put('/projects/blog/roles/exporter', { json: { content: { export: true } } })
    const { id: tokenId, token } = await createToken(wharf, 'exporter', 'blog')
    const [others, own] = [await ask('shop'), await ask('blog')]
    const events = await openEvents('/jobs/events', { token })
    const { ids } = await events.nextList()
    expect(ids).toContain(own)
    expect(ids).not.toContain(others)
    await wharf.root.put('/projects/blog/roles/exporter', { json: { content: { read: true } } })
    expect(await events.nextList()).toEqual({ ids: [], items: [], next: null })
    await wharf.root.delete(`/tokens/${tokenId}`)
    const last = await events.next()
    expect(last?.event).toBe('error')
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ type: 'urn:wharf:error:unauthenticated' })
    expect(await events.next()).toBeUndefined()
  })

  test('are known to every process of the service', async () => {
    const beside = await startWharf({ beside: wharf })
    const events = await openEvents('/jobs/events?project=shop&limit=1', { url: beside.url })
    await events.nextList()
    const id = await ask('shop')
    expect(await events.nextList()).toMatchObject({ ids: [id] })
    events.close()
    await beside.close()
  })

  test('are so many at once that a token has no more than a hundred streams, and those that have ended do not count', async () => {
    const { token } = await createToken(wharf, 'admin', 'blog')
    const path = '/jobs/events?limit=1'
    const open = await Promise.all(Array.from({ length: 100 }, () => openEvents(path, { token })))
    for (const events of open) await events.nextList()
    const refused = await openEvents(path, { token })
    expect(refused.answer.statusCode).toBe(429)
    expect(refused.answer.headers['retry-after']).toBe('5')
    // Another token is not kept out by it.
    expect((await openEvents(path)).answer.statusCode).toBe(200)
    for (const events of open) events.close()
    await eventually(async () => (await openEvents(path, { token })).answer.statusCode).toBe(200)
  })
})

test('streams of events, and answers that wait, end well as soon as the service is to stop, and do not keep it', async () => {
  const beside = await startWharf({ beside: wharf })
  const id = await ask('blog')
  const list = await openEvents('/jobs/events', { url: beside.url })
  const job = await openEvents(`/jobs/${id}/events`, { url: beside.url })
  await list.nextList()
  expect(await job.next()).toMatchObject({ event: 'job' })
  const waiting = beside.root.get(`/jobs/${id}`, { headers: { prefer: 'wait=60' } })
  // By then the request before it waits.
  for (const _ of [1, 2]) await beside.root.get('/me')
  await beside.close()
  expect(await waiting).toMatchObject({ status: 200, json: { id, status: 'queued' } })
  // A connection that was broken off has no whole answer.
  for (const { next, answer } of [list, job]) {
    expect(await next()).toBeUndefined()
    expect(answer.complete).toBe(true)
  }
})
