import type pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { fireDue } from '../../src/jobs/schedules/fire.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, askImport, jobOf, type SeenJob, showJob, untilEnded } from '../support/jobs/jobs.ts'
import { afterDue, makeSchedule, showSchedule, untilSettled } from '../support/jobs/schedules.ts'
import { openSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * A project whose own login has as many sessions as it may have: others use its password.
 */

const LIMIT = 12
const environment = { WHARF_PROJECT_CONNECTIONS: String(LIMIT) }

let wharf: TestWharf
let archive: string
let held: pg.Client[] = []

beforeAll(async () => {
  wharf = await startWharf({ environment })
  await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
  await createProject(wharf, 'copy')
  archive = await exportOf(wharf.root, 'shop')
})

afterEach(letGo)
afterAll(() => wharf.close())

async function letGo(): Promise<void> {
  await Promise.all(held.map((session) => session.end()))
  held = []
}

/** Takes every session that the login may have, from the service's pools, too. */
async function takeAllSessions(of: TestWharf = wharf): Promise<void> {
  const { href, username } = await loginUrl(of, 'shop')
  await eventually(async () => {
    await of.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND application_name LIKE 'wharf%'`,
      [username],
    )
    for (;;) {
      const session = await openSession(href).catch(() => undefined)
      if (!session) return held.length
      held.push(session)
    }
  }).toBe(LIMIT)
}

/** More often than a job may fail. */
const OFTEN = 5

/** Lets the job be tried again and again while the login has no session to spare, and lets go then. */
async function workInVain(job: SeenJob): Promise<void> {
  await takeAllSessions()
  const worker = await startWharf({ beside: wharf, worker: true, environment })
  onTestFinished(() => worker.close())
  await eventually(async () => (await showJob(wharf.root, job.id)).attempt).toBeGreaterThanOrEqual(OFTEN)
  await letGo()
}

const JOBS: Readonly<Record<string, () => Promise<SeenJob>>> = {
  'an export': async () => jobOf(await askExport(wharf.root, [{ slug: 'shop' }])),
  'an import': async () => jobOf(await askImport(wharf.root, archive)),
  async 'a transfer'() {
    const json = { source: { project: 'shop' }, target: { project: 'copy' }, system: false }
    return jobOf(await wharf.root.post('/transfer', { json }))
  },
}

test.each(Object.entries(JOBS))('%s waits as a job until its project has a session to spare', async (_, ask) => {
  const job = await ask()
  await workInVain(job)
  expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded' })
})

test('a schedule waits until its project has a session to spare, and proves its archive then', async () => {
  const schedule = await makeSchedule(wharf.root, 'shop', { verify: true })
  const now = afterDue(await showSchedule(wharf.root, schedule))
  await fireDue(wharf.container, now)
  const { lastRun } = await showSchedule(wharf.root, schedule)
  await workInVain(await showJob(wharf.root, lastRun?.jobId ?? ''))
  const settled = await untilSettled(wharf, schedule, now)
  expect(settled.lastRun).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
})

test('a job does not wait for ever', async () => {
  const hasty = await startWharf({ worker: true, environment, jobTimings: { busyForMs: 0 } })
  onTestFinished(() => hasty.close())
  await createProject(hasty, 'shop', 'CREATE TABLE item (id int PRIMARY KEY)')
  await takeAllSessions(hasty)
  const job = await untilEnded(hasty.root, jobOf(await askExport(hasty.root, [{ slug: 'shop' }])))
  expect(job).toMatchObject({ status: 'failed', attempt: 3, error: { code: 'PROJECT_BUSY' } })
  const failed = { outcome: 'failed', error: { code: 'PROJECT_BUSY' }, endedAt: expect.any(String) }
  expect(job.attempts).toMatchObject([1, 2, 3].map((number) => ({ number, ...failed })))
  await letGo()
})

test('requests are told at once that the project has no session to spare', async () => {
  await takeAllSessions()
  const busy = { status: 503, headers: { 'retry-after': '30' }, json: { type: 'urn:wharf:error:project-busy' } }
  expect(await wharf.root.post('/export', { json: { projects: [{ slug: 'shop' }] } })).toMatchObject(busy)
  expect(await sendArchive(wharf.root, archive)).toMatchObject(busy)
  expect(await applyScript(wharf, 'shop', 'SELECT 1')).toMatchObject(busy)
  expect(await wharf.root.post('/content/shop/live/item', { json: { id: 7 } })).toMatchObject(busy)
})
