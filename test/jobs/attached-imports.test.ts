import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { jobOf, type SeenJob, untilEnded } from '../support/jobs/jobs.ts'
import { query } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(
    'CREATE TABLE note (id int PRIMARY KEY, text text); INSERT INTO note VALUES (1, $$one$$), (2, $$two$$)',
  )
  wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  await createProject(
    wharf,
    'source',
    'CREATE TABLE note (id int PRIMARY KEY, text text); INSERT INTO note VALUES (9, $$nine$$)',
  )
  const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
  const made = await wharf.root.post('/projects', { json: { slug: 'notes', attach } })
  expect(made.status, made.text).toBe(201)
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const notes = () => query(external.owner.href, 'SELECT id, text FROM note ORDER BY id')

async function transfer(): Promise<SeenJob> {
  const answer = await wharf.root.post('/transfer', {
    json: { source: { project: 'source' }, target: { project: 'notes' } },
  })
  return untilEnded(wharf.root, jobOf(answer))
}

/** Gives a job back to the queue as it is found whose worker died after the other database had committed. */
async function workOnAgain(job: SeenJob): Promise<SeenJob> {
  await wharf.database.query(
    `UPDATE control.job SET status = 'queued', result = NULL, finished_at = NULL, heartbeat_at = NULL WHERE id = $1`,
    [job.id],
  )
  await wharf.container.queue.notify('transfer', [job.id])
  return untilEnded(wharf.root, job)
}

test('a job whose worker died when the other database had committed ends well, and imports nothing again', async () => {
  const first = await transfer()
  expect(first.status).toBe('succeeded')
  await query(external.owner.href, `INSERT INTO note VALUES (3, 'written since')`)
  expect(await workOnAgain(first)).toMatchObject({ status: 'succeeded', attempt: 2, result: first.result })
  expect(await notes()).toContainEqual({ id: 3, text: 'written since' })
})

test('where nothing can be written down, nobody imports again unasked', async () => {
  const database = new URL(external.database.superuserUrl).pathname.slice(1)
  await query(external.database.superuserUrl, 'DROP SCHEMA wharf_imports CASCADE')
  await query(external.database.superuserUrl, `REVOKE CREATE ON DATABASE ${database} FROM ${external.owner.username}`)
  const first = await transfer()
  expect(first.status).toBe('succeeded')
  await query(external.owner.href, `INSERT INTO note VALUES (4, 'written since')`)
  await wharf.database.query(
    `INSERT INTO system.side_schema (schema_name, stage_id, kind)
     SELECT 'import ' || $1, id, 'uncertain' FROM control.stage WHERE schema_name = 'public'`,
    [first.id],
  )
  expect(await workOnAgain(first)).toMatchObject({
    status: 'failed',
    error: { code: 'CONFLICT', detail: expect.stringMatching(/is not known/) },
  })
  expect(await notes()).toContainEqual({ id: 4, text: 'written since' })
})
