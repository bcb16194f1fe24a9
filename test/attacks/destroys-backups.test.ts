import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ApiClient } from '../support/http/api-client.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { makeSchedule, type SeenSchedule, showSchedule } from '../support/jobs/schedules.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
/** A token that may export and nothing else. */
let exporter: ApiClient
/** Root's schedule, with an archive. */
let backup: SeenSchedule

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(wharf, 'shop', 'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)')
  await createProject(wharf, 'blog')
  await wharf.root.put('/projects/shop/roles/exporter', { json: { content: { export: true } } })
  exporter = await wharf.member('shop', 'exporter')
  const made = await makeSchedule(wharf.root, 'shop', { keep: { last: 30 } })
  await wharf.root.post(`/schedules/${made.id}/run`)
  await vi.waitFor(
    async () => {
      backup = await showSchedule(wharf.root, made)
      expect(backup.runs[0]?.status).toBe('succeeded')
    },
    { timeout: 30_000 },
  )
})

afterAll(() => wharf.close())

const archiveOf = ({ runs }: SeenSchedule): string => `/jobs/${runs[0]?.jobId}`

test.each([
  ['keeps fewer archives of', { keep: { last: 1 } }],
  ['pauses', { enabled: false }],
  ['puts off', { cron: '0 0 29 2 *' }],
  ['leaves tables out of', { request: { projects: [{ slug: 'shop', excludeTables: ['t'] }] } }],
])("%s another's schedule with a token that may only export", async (_, changes) => {
  const before = await showSchedule(wharf.root, backup)
  expect(await exporter.patch(`/schedules/${backup.id}`, { json: changes })).toMatchObject({
    status: 403,
    json: { type: 'urn:wharf:error:forbidden' },
  })
  expect(await showSchedule(wharf.root, backup)).toEqual(before)
})

test("runs another's schedule in the name of its author", async () => {
  expect((await exporter.post(`/schedules/${backup.id}/run`)).status).toBe(403)
  expect((await showSchedule(wharf.root, backup)).runs).toHaveLength(1)
})

test("deletes another's schedule with a token that may only export", async () => {
  expect((await exporter.delete(`/schedules/${backup.id}`)).status).toBe(403)
  expect((await wharf.root.get(`/schedules/${backup.id}`)).status).toBe(200)
})

test("deletes another's archives with a token that may only export", async () => {
  expect((await exporter.delete(archiveOf(backup))).status).toBe(403)
  expect((await wharf.root.get(`${archiveOf(backup)}/file`)).status).toBe(200)
})

test("cancels another's job with a token that may only export", async () => {
  const waiting = await wharf.root.post('/export', {
    json: { projects: [{ slug: 'shop' }] },
    headers: { prefer: 'respond-async' },
  })
  const job = jobOf(waiting)
  expect((await exporter.post(`/jobs/${job.id}/cancel`)).status).toBe(403)
  expect((await untilEnded(wharf.root, job)).status).toBe('succeeded')
})

test('who may export may go on seeing the schedule, its jobs and its archives', async () => {
  expect((await exporter.get(`/schedules/${backup.id}`)).status).toBe(200)
  expect((await exporter.get(archiveOf(backup))).status).toBe(200)
  expect((await exporter.get(`${archiveOf(backup)}/file`)).status).toBe(200)
})

test('its author changes, runs and deletes a schedule, and removes its archives', async () => {
  const own = await makeSchedule(exporter, 'shop')
  const path = `/schedules/${own.id}`
  expect((await exporter.patch(path, { json: { enabled: false } })).status).toBe(200)
  const job = jobOf(await exporter.post(`${path}/run`))
  await untilEnded(exporter, job)
  expect((await exporter.delete(`/jobs/${job.id}`)).status).toBe(204)
  expect((await exporter.delete(path)).status).toBe(204)
})

test("has a changed request run with the rights of the schedule's first author", async () => {
  const admin = await wharf.member('shop', 'admin')
  const own = await makeSchedule(admin, 'shop')
  const path = `/schedules/${own.id}`
  expect((await wharf.root.patch(path, { json: { name: 'nightly' } })).json).toMatchObject({
    createdBy: own.createdBy,
  })
  const request = { projects: [{ slug: 'shop' }, { slug: 'blog' }] }
  expect((await wharf.root.patch(path, { json: { request } })).json).toMatchObject({ createdBy: null })
  // What runs in the name of the root token is not the admin's any more: it may not even know of `blog`.
  expect((await admin.patch(path, { json: { enabled: false } })).status).toBe(404)
})

test('the root token deletes the schedule of a token that was revoked, and its jobs', async () => {
  const role = { project: 'shop', role: 'admin' }
  const created = await wharf.root.post('/tokens', { json: { name: 'leaver', memberships: [role] } })
  const { id, token } = created.json as { id: string; token: string }
  const leaver = wharf.root.withToken(token)
  const schedule = await makeSchedule(leaver, 'shop')
  const job = await untilEnded(leaver, jobOf(await askExport(leaver, [{ slug: 'shop' }])))
  await wharf.root.delete(`/tokens/${id}`)
  expect((await exporter.delete(`/schedules/${schedule.id}`)).status).toBe(403)
  expect((await exporter.delete(`/jobs/${job.id}`)).status).toBe(403)
  expect((await wharf.root.delete(`/schedules/${schedule.id}`)).status).toBe(204)
  expect((await wharf.root.delete(`/jobs/${job.id}`)).status).toBe(204)
})
