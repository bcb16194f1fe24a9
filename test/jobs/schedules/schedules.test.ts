import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { fireDue } from '../../../src/jobs/schedules/fire.ts'
import { startSchedules } from '../../../src/jobs/schedules/tick.ts'
import { JOB_TIMINGS } from '../../../src/jobs/timings.ts'
import { eventually } from '../../support/eventually.ts'
import { jobOf, untilEnded } from '../../support/jobs/jobs.ts'
import { afterDue, askSchedule, type SeenSchedule, scheduleOf, showSchedule } from '../../support/jobs/schedules.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Without a worker: jobs that are made stay queued, unless a test ends them. */
let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', 'CREATE TABLE item (id integer PRIMARY KEY);')
  await createProject(wharf, 'copy')
})
afterAll(() => wharf?.close())

/** Makes a schedule for this test alone: others let time pass, too. */
async function makeSchedule(...args: Parameters<typeof askSchedule>): Promise<SeenSchedule> {
  const schedule = scheduleOf(await askSchedule(...args))
  deleteLater(schedule)
  return schedule
}

const deleteLater = (schedule: SeenSchedule): void =>
  onTestFinished(async () => {
    await wharf.root.delete(`/schedules/${schedule.id}`)
    await endJobs(schedule)
  })

const runsOf = async (schedule: { id: string }) =>
  wharf.database.query<{ due: Date; job: string | null; outcome: string | null }>(
    'SELECT due_at AS due, job_id AS job, outcome FROM control.schedule_run WHERE schedule_id = $1 ORDER BY due_at',
    [schedule.id],
  )

const endJobs = (schedule: { id: string }): Promise<unknown> =>
  wharf.database.query(
    `UPDATE control.job SET status = 'cancelled', finished_at = now() WHERE schedule_id = $1 AND status = 'queued'`,
    [schedule.id],
  )

test('a schedule is shown with the times to come, and with what is kept secret masked', async () => {
  const answer = await askSchedule(wharf.root, 'shop', {
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    keep: { last: 7, days: 30 },
    verify: true,
  })
  expect(answer).toMatchObject({ status: 201, headers: { location: expect.stringMatching(/^\/schedules\//) } })
  deleteLater(scheduleOf(answer))
  const shown = await wharf.root.get(answer.headers.location ?? '')
  expect(shown.json).toMatchObject({
    name: 'shop at night',
    kind: 'export',
    request: { projects: [{ slug: 'shop', system: false }] },
    keep: { last: 7, days: 30 },
    verify: true,
    enabled: true,
    lastRun: null,
    lastSuccess: null,
    lastProven: null,
    runs: [],
  })
  const { nextRunAt, nextRuns } = shown.json as { nextRunAt: string; nextRuns: string[] }
  expect(nextRuns).toHaveLength(5)
  expect(nextRuns[0]).toBe(nextRunAt)
  expect(Date.parse(nextRunAt)).toBeGreaterThan(Date.now())
  expect(nextRunAt).toMatch(/T0[01]:30:00\.000Z$/)
})

test('of any number of processes that find a schedule due, one runs it, once', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { cron: '* * * * *' })
  const others = await Promise.all([startWharf({ beside: wharf }), startWharf({ beside: wharf })])
  const containers = [wharf, ...others].map(({ container }) => container)
  try {
    for (let minute = 0; minute < 5; minute += 1) {
      const now = afterDue(await showSchedule(wharf.root, schedule))
      const fired = await Promise.all(containers.map((container) => fireDue(container, now)))
      expect(fired.flat().filter(({ scheduleId }) => scheduleId === schedule.id)).toHaveLength(1)
      await endJobs(schedule)
    }
  } finally {
    for (const other of others) await other.close()
  }
  const runs = await runsOf(schedule)
  expect(new Set(runs.map(({ due }) => due.toISOString())).size).toBe(5)
  expect(new Set(runs.map(({ job }) => job)).size).toBe(5)
})

test('a time at which the run before goes on is skipped, and said', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop')
  await fireDue(wharf.container, afterDue(schedule))
  const second = afterDue(await showSchedule(wharf.root, schedule))
  expect(await fireDue(wharf.container, second)).toEqual([])
  const shown = await showSchedule(wharf.root, schedule)
  expect(shown.runs).toMatchObject([
    { status: 'skipped', jobId: null, dueAt: second.toISOString() },
    { status: 'queued', jobId: expect.any(String), dueAt: schedule.nextRunAt },
  ])
  // As the clock has it, the other one has ended in times to come.
  expect(shown.lastRun).toMatchObject({ status: 'queued' })

  await endJobs(schedule)
  const [job] = await fireDue(wharf.container, afterDue(shown))
  expect(job).toMatchObject({ scheduleId: schedule.id })
})

test('times that were missed while nothing ran are made up for by one run', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { cron: '0 * * * *' })
  const later = afterDue(schedule, 3)
  expect(await fireDue(wharf.container, later)).toHaveLength(1)
  await endJobs(schedule)
  expect(await fireDue(wharf.container, later)).toEqual([])
  const shown = await showSchedule(wharf.root, schedule)
  expect(shown.runs).toMatchObject([{ dueAt: schedule.nextRunAt }])
  expect(afterDue(shown).getTime() - later.getTime()).toBeLessThanOrEqual(60 * 60_000)
})

test('a schedule that is paused runs no more, and makes up for nothing when it goes on', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { cron: '0 * * * *' })
  const paused = await wharf.root.patch(`/schedules/${schedule.id}`, { json: { enabled: false } })
  expect(paused.json).toMatchObject({ enabled: false, nextRunAt: null, nextRuns: [] })
  await wharf.database.query(`UPDATE control.schedule SET created_at = now() - interval '9 days' WHERE id = $1`, [
    schedule.id,
  ])
  await fireDue(wharf.container, afterDue(schedule, 5))
  const resumed = scheduleOf(await wharf.root.patch(`/schedules/${schedule.id}`, { json: { enabled: true } }))
  await fireDue(wharf.container, new Date())
  expect(await runsOf(schedule)).toEqual([])
  expect(afterDue(resumed).getTime()).toBeGreaterThan(Date.now())
})

test('a schedule is changed in what is named alone', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { cron: '0 2 * * *', keep: { last: 3 } })
  const change = (json: object) => wharf.root.patch(`/schedules/${schedule.id}`, { json })
  const renamed = await change({ name: 'another name', verify: true })
  expect(renamed.json).toMatchObject({
    name: 'another name',
    verify: true,
    keep: { last: 3 },
    nextRunAt: schedule.nextRunAt,
  })
  const moved = await change({ cron: '0 3 * * *', keep: { days: 2 }, request: { projects: [{ slug: 'copy' }] } })
  expect(moved.json).toMatchObject({
    keep: { days: 2 },
    nextRunAt: expect.stringMatching(/T03:00:00/),
    request: { projects: [{ slug: 'copy' }] },
  })
  expect(await change({ request: { source: { project: 'shop' }, target: { project: 'copy' } } })).toMatchObject({
    status: 400,
  })
  expect(await change({ cron: 'never' })).toMatchObject({ status: 400 })
})

test.each([
  [{ cron: '99 * * * *' }, 400, '/cron'],
  [{ timezone: 'Mars/Olympus' }, 400, '/timezone'],
  [{ keep: { last: 0 } }, 400, '/keep/last'],
  [{ kind: 'import' }, 400, '/kind'],
  [{ request: { projects: [] } }, 400, '/request/projects'],
  [{ request: { projects: [{ slug: 'nothing' }] } }, 404, undefined],
  [{ request: { projects: [{ slug: 'shop', stages: ['nothing'] }] } }, 404, undefined],
])('a schedule with %j is refused with %i', async (fields, status, pointer) => {
  const answer = await askSchedule(wharf.root, 'shop', fields)
  expect(answer.status, answer.text).toBe(status)
  if (pointer) expect(answer.json).toMatchObject({ errors: [expect.objectContaining({ pointer })] })
})

test('what makes no archive cannot keep or verify any', async () => {
  const request = { source: { project: 'shop' }, target: { project: 'copy' } }
  const transfer = { kind: 'transfer', request }
  const refused = await askSchedule(wharf.root, 'shop', { ...transfer, keep: { last: 1 }, verify: true })
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.json).toMatchObject({ errors: [{ pointer: '/verify' }, { pointer: '/keep' }] })
  await makeSchedule(wharf.root, 'shop', transfer)
})

test('the token of another server stands nowhere that anybody reads', async () => {
  const other = await startWharf({ beside: wharf, environment: { WHARF_TRANSFER_HOSTS: '127.0.0.1' } })
  try {
    const dsn = 'wharf://shop:a-very-secret-token@127.0.0.1:9'
    const request = { source: { dsn }, target: { project: 'copy' } }
    const schedule = await makeSchedule(other.root, 'shop', { kind: 'transfer', request })
    const shown = await wharf.root.get(`/schedules/${schedule.id}`)
    expect(shown.text).toContain(':***@127.0.0.1:9')
    const [row] = await wharf.database.query('SELECT schedule::text AS all FROM control.schedule WHERE id = $1', [
      schedule.id,
    ])
    for (const text of [shown.text, JSON.stringify(row), other.log()]) expect(text).not.toContain('very-secret')

    const [job] = await fireDue(other.container, afterDue(schedule))
    const secrets = await wharf.database.query<{ sealed: Buffer }>(
      'SELECT sealed_secrets AS sealed FROM control.job WHERE id = $1',
      [job?.id],
    )
    const sealed = secrets[0]?.sealed ?? Buffer.alloc(0)
    expect(JSON.parse(wharf.container.seal.unseal(sealed, `job ${job?.id}`))).toEqual({ source: 'a-very-secret-token' })
  } finally {
    await other.close()
  }
})

test('who may not have the job done may not make, see, change, run or delete its schedule', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop')
  const path = `/schedules/${schedule.id}`
  const viewer = await wharf.member('shop', 'viewer')
  const outsider = await wharf.member('copy', 'admin')
  expect((await askSchedule(viewer, 'shop')).status).toBe(403)
  expect((await askSchedule(outsider, 'shop')).status).toBe(404)
  for (const client of [viewer, outsider]) {
    expect((await client.get(path)).status).toBe(404)
    expect((await client.patch(path, { json: { enabled: false } })).status).toBe(404)
    expect((await client.post(`${path}/run`)).status).toBe(404)
    expect((await client.delete(path)).status).toBe(404)
    expect((await client.get('/schedules')).text).not.toContain(schedule.id)
  }
  const admin = await wharf.member('shop', 'admin')
  expect((await admin.get(path)).status).toBe(200)
  expect((await admin.get('/schedules?limit=200')).text).toContain(schedule.id)
  const own = await makeSchedule(admin, 'shop')
  const stolen = { projects: [{ slug: 'shop' }, { slug: 'copy' }] }
  expect((await admin.patch(`/schedules/${own.id}`, { json: { request: stolen } })).status).toBe(404)
})

test('schedules are listed page by page', async () => {
  for (let made = 0; made < 5; made += 1) await makeSchedule(wharf.root, 'shop')
  const all = (await wharf.root.get('/schedules?limit=200')).json as { items: { id: string }[]; next: null }
  const seen: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const { json } = await wharf.root.get(`/schedules?limit=2${after && `&after=${after}`}`)
    const page = json as { items: { id: string }[]; next: string | null }
    seen.push(...page.items.map(({ id }) => id))
    after = page.next
  }
  expect(seen.length).toBeGreaterThan(4)
  expect(seen).toEqual(all.items.map(({ id }) => id))
})

test('a run by hand is one more job, and no second while it goes on', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { enabled: false })
  const answer = await wharf.root.post(`/schedules/${schedule.id}/run`)
  expect(answer).toMatchObject({ status: 202, headers: { location: expect.stringMatching(/^\/jobs\//) } })
  expect(answer.json).toMatchObject({ scheduleId: schedule.id, status: 'queued', kind: 'export' })
  expect((await wharf.root.post(`/schedules/${schedule.id}/run`)).status).toBe(409)
  const shown = await showSchedule(wharf.root, schedule)
  expect(shown.runs).toMatchObject([{ byHand: true, status: 'queued' }])
  await endJobs(schedule)
})

test('a process looks by itself, and works on what is due', async () => {
  const worker = await startWharf({ beside: wharf, worker: true, jobTimings: { scheduleMs: 1_000 } })
  const schedule = await makeSchedule(wharf.root, 'shop', { cron: '* * * * * *' })
  try {
    await eventually(async () => (await showSchedule(wharf.root, schedule)).lastSuccess).toMatchObject({
      status: 'succeeded',
      byHand: false,
    })
  } finally {
    await worker.close()
  }
})

test('a schedule that ran while the clock was ahead runs when its cron says, once it is right again', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { cron: '@daily' })
  const soon = await makeSchedule(wharf.root, 'shop', { cron: '@yearly' })
  await wharf.database.query(`UPDATE control.schedule SET next_run_at = now() + interval '400 days' WHERE id = $1`, [
    schedule.id,
  ])
  const looking = startSchedules({ ...wharf.container, jobTimings: { ...JOB_TIMINGS, scheduleMs: 100 } })
  onTestFinished(() => looking.stop())
  await eventually(async () => (await showSchedule(wharf.root, schedule)).nextRunAt).toBe(schedule.nextRunAt)
  expect((await showSchedule(wharf.root, soon)).nextRunAt).toBe(soon.nextRunAt)
})

test('what a token may not do any more, its schedule may not either, and its run says so', async () => {
  const worker = await startWharf({ beside: wharf, worker: true })
  try {
    const { json } = await wharf.root.post('/tokens', {
      json: { name: 'nightly', memberships: [{ project: 'shop', role: 'admin' }] },
    })
    const { id, token } = json as { id: string; token: string }
    const schedule = await makeSchedule(wharf.root.withToken(token), 'shop')
    expect((await showSchedule(wharf.root, schedule)).createdBy).toBe(id)
    const first = await untilEnded(wharf.root, jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`)))
    expect(first).toMatchObject({ status: 'succeeded', createdBy: id })

    await wharf.root.delete(`/tokens/${id}`)
    await fireDue(wharf.container, afterDue(schedule))
    await eventually(async () => (await showSchedule(wharf.root, schedule)).lastRun).toMatchObject({
      status: 'failed',
      error: { code: 'AUTHORIZATION_REVOKED', detail: expect.stringContaining('revoked') },
    })
    expect((await showSchedule(wharf.root, schedule)).lastSuccess).toMatchObject({ jobId: first.id })
  } finally {
    await worker.close()
  }
})
