import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { settleRuns } from '../../../src/jobs/schedules/settle.ts'
import { sweepJobs } from '../../../src/jobs/sweep.ts'
import { eventually } from '../../support/eventually.ts'
import { makeSchedule, runWhenDue, type SeenSchedule, showSchedule } from '../../support/jobs/schedules.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const DAY_MS = 24 * 60 * 60_000

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(wharf, 'shop', 'CREATE TABLE item (id integer PRIMARY KEY); INSERT INTO item VALUES (1), (2);')
})
afterAll(() => wharf?.close())

/** The ids of the jobs whose archives can be had, the oldest first. */
const keptOf = async ({ id }: SeenSchedule): Promise<string[]> => {
  const rows = await wharf.database.query<{ job: string }>(
    `SELECT job.id AS job FROM control.job JOIN control.artifact ON job_id = job.id
      WHERE schedule_id = $1 AND state = 'ready' ORDER BY finished_at`,
    [id],
  )
  return rows.map(({ job }) => job)
}

const previewSchema = z.object({ archives: z.array(z.object({ jobId: z.string(), kept: z.boolean() })) })

const lastJobOf = ({ lastRun }: SeenSchedule): string => lastRun?.jobId ?? ''

test('a run that succeeded lets older archives go, from the store too, and one that failed lets none go', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { keep: { last: 2 } })
  const jobs: string[] = []
  for (let night = 0; night < 3; night += 1) jobs.push(lastJobOf(await runWhenDue(wharf, schedule)))
  expect(await keptOf(schedule)).toEqual(jobs.slice(1))
  expect((await wharf.root.get(`/jobs/${jobs[0]}/file`)).status).toBe(410)
  expect((await wharf.root.get(`/jobs/${jobs[1]}/file`)).status).toBe(200)
  await eventually(() =>
    wharf.database.query('SELECT state FROM control.artifact WHERE job_id = $1', [jobs[0]]),
  ).toEqual([{ state: 'removed' }])

  const preview = async (keep: object) => {
    const { status, json } = await wharf.root.post(`/schedules/${schedule.id}/keep-preview`, { json: keep })
    expect(status).toBe(200)
    return previewSchema.parse(json).archives.map(({ jobId, kept }) => [jobId, kept])
  }
  // Before rules are saved, they say what they would let go of; and nothing goes.
  expect(await preview({ last: 1 })).toEqual([
    [jobs[2], true],
    [jobs[1], false],
  ])
  expect(await preview({})).toEqual([
    [jobs[2], true],
    [jobs[1], true],
  ])
  expect(await keptOf(schedule)).toEqual(jobs.slice(1))

  await wharf.root.post('/projects/shop/stages', { json: { slug: 'draft' } })
  const narrowed = { projects: [{ slug: 'shop', stages: ['draft'] }] }
  await wharf.root.patch(`/schedules/${schedule.id}`, { json: { request: narrowed, keep: { last: 1 } } })
  await wharf.root.delete('/projects/shop/stages/draft')
  expect(await runWhenDue(wharf, schedule)).toMatchObject({
    lastRun: { status: 'failed', error: { code: 'NOT_FOUND' } },
  })
  expect(await keptOf(schedule)).toEqual(jobs.slice(1))

  await wharf.root.patch(`/schedules/${schedule.id}`, { json: { request: { projects: [{ slug: 'shop' }] } } })
  const good = await runWhenDue(wharf, schedule)
  expect(await keptOf(schedule)).toEqual([lastJobOf(good)])
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('archives of a schedule go by its rules alone, however old they are', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { keep: { days: 100 } })
  const jobs = [lastJobOf(await runWhenDue(wharf, schedule)), lastJobOf(await runWhenDue(wharf, schedule))]
  await wharf.database.query(
    `UPDATE control.job SET finished_at = finished_at - interval '99 days', created_at = created_at - interval '99 days'
      WHERE schedule_id = $1`,
    [schedule.id],
  )
  await sweepJobs(wharf.container, { leaseMs: 60_000, heartbeatMs: 100 })
  expect(await keptOf(schedule)).toEqual(jobs)
  await settleRuns(wharf.container, new Date(Date.now() + 50 * DAY_MS))
  expect(await keptOf(schedule)).toEqual(jobs)

  await wharf.database.query(
    `UPDATE control.job SET finished_at = finished_at - interval '2 days' WHERE schedule_id = $1`,
    [schedule.id],
  )
  const third = lastJobOf(await runWhenDue(wharf, schedule))
  expect(await keptOf(schedule)).toEqual([third])
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('where an archive is proven, it outlives newer ones that are not', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { keep: { last: 1 }, verify: true })
  const proven = await runWhenDue(wharf, schedule)
  expect(proven).toMatchObject({ lastProven: { jobId: lastJobOf(proven), provenAt: expect.any(String) } })
  await wharf.root.patch(`/schedules/${schedule.id}`, { json: { verify: false } })
  const second = lastJobOf(await runWhenDue(wharf, schedule))
  const third = await runWhenDue(wharf, schedule)
  expect(third).toMatchObject({ lastRun: { provenAt: null }, lastProven: { jobId: lastJobOf(proven) } })
  expect(await keptOf(schedule)).toEqual([lastJobOf(proven), second, lastJobOf(third)])

  await wharf.root.patch(`/schedules/${schedule.id}`, { json: { verify: true } })
  const fourth = await runWhenDue(wharf, schedule)
  expect(await keptOf(schedule)).toEqual([lastJobOf(fourth)])
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('what a deleted schedule has made stays for as long as what any other job makes', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop')
  const job = lastJobOf(await runWhenDue(wharf, schedule))
  expect((await wharf.root.get(`/jobs/${job}`)).json).toMatchObject({ expiresAt: null })
  await wharf.root.delete(`/schedules/${schedule.id}`)
  expect((await wharf.root.get(`/schedules/${schedule.id}`)).status).toBe(404)
  const { expiresAt } = (await wharf.root.get(`/jobs/${job}`)).json as { expiresAt: string }
  expect((Date.parse(expiresAt) - Date.now()) / DAY_MS).toBeCloseTo(7, 1)
  expect((await wharf.root.get(`/jobs/${job}/file`)).status).toBe(200)
})

test('of many runs, the newest are remembered, and the last that succeeded', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop')
  const good = lastJobOf(await runWhenDue(wharf, schedule))
  await wharf.database.query(
    `INSERT INTO control.schedule_run (schedule_id, due_at, outcome, finished_at)
     SELECT $1, now() + make_interval(days => n), 'skipped', now() FROM generate_series(10, 400) AS n`,
    [schedule.id],
  )
  await wharf.database.query(`UPDATE control.schedule_run SET outcome = NULL WHERE job_id = $1`, [good])
  await settleRuns(wharf.container, new Date())
  expect(await showSchedule(wharf.root, schedule)).toMatchObject({
    lastRun: { status: 'skipped' },
    lastSuccess: { jobId: good },
  })
  expect(
    await wharf.database.query('SELECT count(*)::int AS n FROM control.schedule_run WHERE schedule_id = $1', [
      schedule.id,
    ]),
  ).toEqual([{ n: 202 }])
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('a scheduled transfer brings the rows over again and again', async () => {
  await createProject(wharf, 'source', 'CREATE TABLE item (id integer PRIMARY KEY); INSERT INTO item VALUES (1);')
  await createProject(wharf, 'mirror')
  const schedule = await makeSchedule(wharf.root, 'source', {
    kind: 'transfer',
    request: { source: { project: 'source' }, target: { project: 'mirror' } },
  })
  for (const rows of [1, 2, 3]) {
    expect(await runWhenDue(wharf, schedule)).toMatchObject({ lastRun: { status: 'succeeded' } })
    expect(await wharf.database.query('SELECT count(*)::int AS rows FROM "mirror.live".item')).toEqual([{ rows }])
    await applyScript(wharf, 'source', `INSERT INTO item VALUES (${rows + 1})`)
  }
  await wharf.root.delete(`/schedules/${schedule.id}`)
})
