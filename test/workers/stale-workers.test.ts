import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sweepJobs } from '../../src/jobs/sweep.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf } from '../support/jobs/jobs.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop')
})
afterAll(() => wharf.close())

/** A job that is under way by its record, with a session of its own, and whose worker was last heard of an hour ago. */
async function silentJob() {
  const { id } = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
  await wharf.database.query(
    "UPDATE control.job SET status = 'running', attempt = 1, heartbeat_at = now() - interval '1 hour' WHERE id = $1",
    [id],
  )
  const session = new pg.Client({ connectionString: wharf.database.url, application_name: `wharf job ${id} 1` })
  session.on('error', () => undefined)
  await session.connect()
  const isConnected = async (): Promise<boolean> =>
    (await wharf.database.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [`wharf job ${id} 1`]))
      .length === 1
  return { id, session, isConnected }
}

const statusOf = async (id: string): Promise<unknown> =>
  (await wharf.database.query('SELECT status, attempt FROM control.job WHERE id = $1', [id]))[0]

const isSweeping = async (): Promise<boolean> =>
  (
    await wharf.database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'
         AND query LIKE '%control.lock%' AND pid <> pg_backend_pid()`,
    )
  ).length === 1

test('a worker that says something again, after PostgreSQL stood still, keeps its job and its sessions', async () => {
  const { id, session, isConnected } = await silentJob()
  const swept = sweepJobs(wharf.container, { leaseMs: 60_000, heartbeatMs: 1_500 })
  await eventually(isSweeping).toBe(true)
  await wharf.database.query('UPDATE control.job SET heartbeat_at = now() WHERE id = $1', [id])
  await swept
  expect(await isConnected()).toBe(true)
  expect(await statusOf(id)).toEqual({ status: 'running', attempt: 1 })
  await session.end()
})

test('a worker that stays silent loses its sessions and its job', async () => {
  const { id, session, isConnected } = await silentJob()
  await sweepJobs(wharf.container, { leaseMs: 60_000, heartbeatMs: 10 })
  expect(await isConnected()).toBe(false)
  expect(await statusOf(id)).toEqual({ status: 'queued', attempt: 1 })
  await session.end().catch(() => undefined)
})
