import { afterAll, beforeAll, expect, test } from 'vitest'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { makeSchedule } from '../support/jobs/schedules.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
})

afterAll(() => wharf?.close())

/** The value of a figure with its labels; undefined where it is left out. */
async function figure(name: string, of = wharf): Promise<number | undefined> {
  const { text } = await of.root.get('/metrics')
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

test('bytes of archives are counted by the kind of their jobs', async () => {
  expect(await figure('wharf_job_bytes_total{kind="export"}')).toBe(0)
  const job = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'shop' }])))
  expect(job).toMatchObject({ status: 'succeeded' })
  expect(await figure('wharf_job_bytes_total{kind="export"}')).toBeGreaterThan(100)
  expect(await figure('wharf_job_bytes_total{kind="import"}')).toBe(0)
})

test('of when the newest archive of a project is, proven or not, is said by its slug', async () => {
  await createProject(wharf, 'new', 'CREATE TABLE item (id int)')
  const secondsAgo =
    Date.now() / 1_000 - ((await figure('wharf_project_last_archive_timestamp_seconds{project="shop"}')) ?? 0)
  expect(Math.abs(secondsAgo)).toBeLessThan(600)
  expect(await figure('wharf_project_last_proven_timestamp_seconds{project="shop"}')).toBe(0)
  expect(await figure('wharf_project_last_archive_timestamp_seconds{project="new"}')).toBe(0)
  const { prisma } = wharf.container.control
  await prisma.artifact.updateMany({ data: { provenAt: new Date() } })
  expect(await figure('wharf_project_last_proven_timestamp_seconds{project="shop"}')).toBeGreaterThan(1e9)
  await prisma.artifact.updateMany({ data: { damagedAt: new Date() } })
  expect(await figure('wharf_project_last_proven_timestamp_seconds{project="shop"}')).toBe(0)
})

test('what was made, proven or backed up while the clock was ahead does not pass for the newest once it is right again', async () => {
  const { prisma } = wharf.container.control
  const { id } = await makeSchedule(wharf.root, 'shop', { verify: true })
  const secondsAgo = async (name: string) => Math.round(Date.now() / 1_000 - ((await figure(name)) ?? 0))
  const hours = (count: number) => new Date(Date.now() + count * 3_600_000)
  const run = (endedAt: Date) => ({ scheduleId: id, dueAt: endedAt, finishedAt: endedAt, provenAt: endedAt })
  const [right, ahead] = [hours(-1), hours(9_000)]
  await prisma.scheduleRun.createMany({
    data: [
      { ...run(right), outcome: 'succeeded' },
      { ...run(ahead), outcome: 'succeeded' },
      { ...run(hours(9_001)), outcome: 'failed', provenAt: null },
    ],
  })
  for (const figure of ['last_success', 'last_proven']) {
    expect(await secondsAgo(`wharf_schedule_${figure}_timestamp_seconds{schedule="${id}"}`), figure).toBeLessThan(7_200)
    expect(await secondsAgo(`wharf_schedule_${figure}_timestamp_seconds{schedule="${id}"}`), figure).toBeGreaterThan(0)
  }
  expect(await figure(`wharf_schedule_last_run_failed{schedule="${id}"}`)).toBe(0)
  await prisma.job.updateMany({ data: { finishedAt: ahead } })
  await prisma.artifact.updateMany({ data: { damagedAt: null, provenAt: ahead } })
  expect(await figure('wharf_project_last_archive_timestamp_seconds{project="shop"}')).toBe(0)
  expect(await figure('wharf_project_last_proven_timestamp_seconds{project="shop"}')).toBe(0)
  await prisma.backup.createMany({
    data: [right, ahead].map((beganAt) => ({ key: `of ${beganAt.getTime()}`, beganAt, bytes: 1 })),
  })
  expect(await figure('wharf_backup_last_success_timestamp_seconds')).toBe(right.getTime() / 1_000)
})

test('answers that were kept are counted, and those that were not', async () => {
  const read = () => wharf.root.get('/content/shop/live/item')
  await read()
  expect(await figure('wharf_content_cache_lookups_total{outcome="miss"}')).toBe(1)
  expect(await figure('wharf_content_cache_lookups_total{outcome="hit"}')).toBe(0)
  await read()
  expect(await figure('wharf_content_cache_lookups_total{outcome="hit"}')).toBe(1)
})

test('connections are told by what they are for', async () => {
  expect(await figure('wharf_database_connections{pool="wharf",state="used"}')).toBeGreaterThanOrEqual(0)
  expect(await figure('wharf_database_connections{pool="projects content",state="idle"}')).toBeGreaterThan(0)
  expect(await figure('wharf_database_connections_wanted{pool="wharf"}')).toBeGreaterThanOrEqual(0)
})

test('event logs have a size, and as many events as PostgreSQL knows of', async () => {
  expect(await figure('wharf_event_log_bytes')).toBeGreaterThan(8_192)
  await wharf.database.query('ANALYZE system.event')
  expect(await figure('wharf_event_log_events')).toBeGreaterThan(0)
})

test('a schedule that nothing runs is late', async () => {
  const idle = await startWharf()
  await createProject(idle, 'shop', 'CREATE TABLE item (id int)')
  const { id } = await makeSchedule(idle.root, 'shop')
  const name = `wharf_schedule_late_seconds{schedule="${id}"}`
  const before = await figure(name, idle)
  await idle.database.query("UPDATE control.schedule SET next_run_at = now() - interval '1 hour'")
  const after = await figure(name, idle)
  await idle.close()
  expect(before).toBe(0)
  expect(after).toBeGreaterThanOrEqual(3_600)
})
