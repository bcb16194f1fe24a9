import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { operatorOf } from '../support/database/operator.ts'
import { eventually } from '../support/eventually.ts'
import { askExport } from '../support/jobs/jobs.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { type OwnServiceProcess, startOwnServiceProcess } from '../support/service/service-process.ts'

/** How often all sessions are ended while everything goes on. */
const ENDINGS = 25

const TABLE =
  'CREATE TABLE item (id serial PRIMARY KEY, text text); INSERT INTO item (text) SELECT md5(id::text) FROM pg_catalog.generate_series(1, 500) id'

let service: OwnServiceProcess
beforeAll(async () => {
  service = await startOwnServiceProcess({ jobTimings: { graceMs: 1_000 } })
})
afterAll(() => service.close())

/** Does something again and again, however it goes. @returns what ends it. */
function keepAsking(ask: (count: number) => Promise<unknown>): () => Promise<void> {
  let asking = true
  const ended = (async () => {
    for (let count = 0; asking; count += 1) await Promise.allSettled([ask(count)])
  })()
  return () => {
    asking = false
    return ended
  }
}

test('a process lives, whatever it does as its database sessions end', async () => {
  const { root } = service
  await createProject(service, 'busy', TABLE)
  const archive = await exportOf(root, 'busy')
  const stop = [
    ...[1, 2, 3].map((reader) =>
      keepAsking((count) => root.get(`/content/busy/live/item?limit=1&id=gt.${count * reader}`)),
    ),
    keepAsking((count) => root.post('/content/busy/live/item', { json: { text: String(count) } })),
    keepAsking(() => exportOf(root, 'busy')),
    keepAsking(() => sendArchive(root, archive)),
    keepAsking((count) => applyScript(service, 'busy', `COMMENT ON TABLE item IS '${count}'`)),
    keepAsking(() => askExport(root, [{ slug: 'busy' }])),
    keepAsking(() => root.get('/readyz')),
  ]
  const operator = operatorOf(service.database)
  let ended = 0
  for (let count = 0; count < ENDINGS; count += 1) ended += await operator.endSessions()
  await Promise.all(stop.map((end) => end()))
  expect(ended).toBeGreaterThan(ENDINGS)
  expect(await root.get('/healthz')).toMatchObject({ status: 200 })
  await eventually(async () => (await root.get('/readyz')).status).toBe(200)
  await eventually(async () => (await root.get('/content/busy/live/item?limit=2')).status).toBe(200)
})

test('a project that is deleted while it is read by four takes nothing else with it', async () => {
  const { root } = service
  const statuses = new Set<number>()
  for (const attempt of [1, 2, 3]) {
    await createProject(service, 'doomed', TABLE)
    const stop = [1, 2, 3, 4].map((reader) =>
      keepAsking(async (count) => {
        const answer = await root.get(`/content/doomed/live/item?limit=${count + 1}&id=gt.${reader}`)
        statuses.add(answer.status)
      }),
    )
    await eventually(async () => (await root.get('/content/doomed/live/item?limit=1')).status).toBe(200)
    const deleted = await root.delete('/projects/doomed')
    await Promise.all(stop.map((end) => end()))
    expect(deleted, `attempt ${attempt}: ${deleted.text}`).toMatchObject({ status: 204 })
    expect(await root.get('/projects/doomed')).toMatchObject({ status: 404 })
  }
  expect([200, 404, 503]).toEqual(expect.arrayContaining([...statuses]))
  expect(await root.get('/healthz')).toMatchObject({ status: 200 })
})

test('an export that waits for a lock is ended with the request that asked for it', async () => {
  const { root } = service
  await createProject(service, 'locked', TABLE)
  const waiting = () =>
    service.database.query(
      `SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
  await withSession(service.database.superuserUrl, async (blocker) => {
    const { rows } = await blocker.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname = (SELECT schema_name FROM control.stage JOIN control.project ON project.id = project_id
                           WHERE project.slug = 'locked')`,
    )
    await blocker.query(`BEGIN; LOCK TABLE ${rows[0]?.name} IN ACCESS EXCLUSIVE MODE`)
    const request = new AbortController()
    const asked = root.post('/export', { json: { projects: [{ slug: 'locked' }] }, signal: request.signal })
    void Promise.allSettled([asked])
    await eventually(waiting).toHaveLength(1)
    request.abort()
    await eventually(waiting).toHaveLength(0)
    await blocker.query('ROLLBACK')
  })
})
