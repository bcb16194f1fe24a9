import { afterAll, beforeAll, expect, test } from 'vitest'
import { PAUSE, withPausePoint } from '../../support/database/pause-point.ts'
import { eventually } from '../../support/eventually.ts'
import { AGAIN, jobOf, showJob, startWorkerProcess, untilEnded } from '../../support/jobs/jobs.ts'
import { makeSchedule, restoreTraces, untilSettled } from '../../support/jobs/schedules.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'shop',
    `CREATE DOMAIN pausing AS integer CHECK (${PAUSE}); CREATE TABLE item (n pausing); INSERT INTO item VALUES (1), (2);`,
  )
})
afterAll(() => wharf?.close())

const scratchProjects = (): Promise<{ slug: string }[]> =>
  wharf.database.query(`SELECT slug FROM control.project WHERE slug LIKE 'scratch-%'`)

test('a worker that is killed in the middle of a proof leaves nothing once the next has done it', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { verify: true, enabled: false })
  const before = await restoreTraces(wharf)
  const worker = await startWorkerProcess(wharf)
  const job = await withPausePoint(wharf, async (pausePoint) => {
    const asked = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
    await pausePoint.reached()
    await worker.kill('SIGKILL')
    expect(await scratchProjects()).toHaveLength(1)
    return asked
  })
  await startWorkerProcess(wharf)
  expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
  expect(await untilSettled(wharf, schedule)).toMatchObject({ lastProven: { jobId: job.id } })
  expect(await restoreTraces(wharf)).toEqual(before)
})

test('a worker that was stopped in the middle of a proof and goes on does not disturb the next one', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { verify: true, enabled: false })
  const first = await startWorkerProcess(wharf)
  const job = await withPausePoint(wharf, async (pausePoint) => {
    const asked = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
    await pausePoint.reached()
    process.kill(first.pid, 'SIGSTOP')
    await startWorkerProcess(wharf)
    await eventually(async () => (await showJob(wharf.root, asked.id)).attempt).toEqual(AGAIN)
    await pausePoint.reached()
    process.kill(first.pid, 'SIGCONT')
    first.say('stop')
    expect(await first.nextLine()).toBe('stopped')
    return asked
  })
  expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
  expect(await untilSettled(wharf, schedule)).toMatchObject({ lastProven: { jobId: job.id } })
  expect(await scratchProjects()).toEqual([])
})
