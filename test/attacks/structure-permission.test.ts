import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { buildArchive, column, type StageToWrite } from '../support/archives/archive-builder.ts'
import { sendArchive } from '../support/archives/import.ts'
import { readState } from '../support/database/database-state.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import type { ApiClient } from '../support/http/api-client.ts'
import { askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const LACKS = 'lacks the permission content.structure'
const TABLE: StageToWrite = { tables: [{ name: 't', columns: [column('n', 'integer')], rows: [[1]] }] }

let wharf: TestWharf
/** May import content and nothing else. */
let importer: ApiClient

beforeAll(async () => {
  wharf = await startWharf()
  await wharf.root.post('/projects', { json: { slug: 'shop', stages: ['live', 'empty'] } })
  await applyScript(wharf, 'shop', 'CREATE TABLE t (n integer)')
  await createProject(wharf, 'source', 'CREATE TABLE t AS SELECT 1 AS n')
  for (const slug of ['shop', 'source']) {
    const json = { content: { import: true, export: true }, system: { import: true } }
    await wharf.root.put(`/projects/${slug}/roles/importer`, { json })
  }
  const memberships = ['shop', 'source'].map((project) => ({ project, role: 'importer' }))
  const made = await wharf.root.post('/tokens', { json: { name: 'importer', memberships } })
  importer = wharf.root.withToken(z.object({ token: z.string() }).parse(made.json).token)
})

afterAll(() => wharf.close())

const tablesOf = (schema: string): Promise<{ name: string }[]> =>
  wharf.database.query('SELECT tablename::text AS name FROM pg_tables WHERE schemaname = $1', [schema])

const archiveFor = (slug: string): Buffer => buildArchive({ slug: 'shop', stages: [{ ...TABLE, slug }] })

test('runs SQL by a script, having every permission but content.structure', async () => {
  const content = { read: true, write: true, export: true, import: true }
  await wharf.root.put('/projects/shop/roles/almost', { json: { content, system: { export: true, import: true } } })
  const almost = await wharf.member('shop', 'almost')
  const before = await readState(wharf.database)
  const path = '/projects/shop/stages/empty/schema'
  const refused = await almost.post(path, { headers: { 'content-type': 'application/sql' }, body: 'CREATE TABLE x ()' })
  expect(refused.status).toBe(403)
  expect(refused.text).toContain(LACKS)
  expect(await readState(wharf.database)).toEqual(before)
})

test.for(['', '?dryRun=true'])('builds an empty stage from an archive (%s) by content.import alone', async (query) => {
  const before = await readState(wharf.database)
  const answer = await sendArchive(importer, archiveFor('empty'), { query })
  expect(answer, answer.text).toMatchObject({ status: 403 })
  expect(answer.text).toContain(LACKS)
  expect(answer.text).toContain('stage \\"empty\\" of project \\"shop\\" is empty')
  expect(await readState(wharf.database)).toEqual(before)
})

test('has an empty stage built by a job', async () => {
  const answer = await sendArchive(importer, archiveFor('empty'), { headers: { prefer: 'respond-async' } })
  expect(answer, answer.text).toMatchObject({ status: 403 })
  expect(answer.text).toContain(LACKS)
  expect(await wharf.database.query('SELECT FROM control.job')).toEqual([])
})

test('has an empty stage built by a transfer, or by a schedule of transfers', async () => {
  await wharf.root.post('/projects/source/stages', { json: { slug: 'empty' } })
  const transfer = { source: { project: 'source' }, target: { project: 'shop' }, stages: ['empty'] }
  const answer = await importer.post('/transfer', { json: transfer })
  expect(answer, answer.text).toMatchObject({ status: 403 })
  expect(answer.text).toContain(LACKS)
  const schedule = { kind: 'transfer', name: 'nightly', cron: '@daily', request: transfer }
  const scheduled = await importer.post('/schedules', { json: schedule })
  expect(scheduled, scheduled.text).toMatchObject({ status: 403 })
  expect(scheduled.text).toContain(LACKS)
})

test('has a stage built that was emptied after the job had been accepted', async () => {
  await createProject(wharf, 'later', 'CREATE TABLE t (n integer)')
  await wharf.root.put('/projects/later/roles/importer', { json: { content: { import: true } } })
  const member = await wharf.member('later', 'importer')
  const accepted = jobOf(await askImport(member, buildArchive({ slug: 'later', stages: [TABLE] })))
  await applyScript(wharf, 'later', 'DROP TABLE t')
  const worker = await startWharf({ beside: wharf, worker: true })
  try {
    const job = await untilEnded(member, accepted)
    expect(job).toMatchObject({ status: 'failed', error: { code: 'FORBIDDEN' } })
    expect(JSON.stringify(job.error)).toContain(LACKS)
  } finally {
    await worker.close()
  }
  expect(await tablesOf('later.live')).toEqual([])
})

test('has a stage built by an import that was still loading when the permission was taken away', async () => {
  await createProject(wharf, 'slow')
  const role = (structure: boolean) => ({ json: { content: { import: true, structure } } })
  await wharf.root.put('/projects/slow/roles/builder', role(true))
  const member = await wharf.member('slow', 'builder')
  const checks = [{ name: 'c', definition: `CHECK (${PAUSE})` }]
  const pausing: StageToWrite = { tables: [{ name: 't', columns: [column('n', 'integer')], checks, rows: [[1]] }] }
  const answer = await withPausePoint(wharf, async (pausePoint) => {
    const importing = sendArchive(member, buildArchive({ slug: 'slow', stages: [pausing] }))
    await pausePoint.reached()
    await wharf.root.put('/projects/slow/roles/builder', role(false))
    await pausePoint.release()
    return importing
  })
  expect(answer, answer.text).toMatchObject({ status: 403 })
  expect(answer.text).toContain(LACKS)
  expect(await tablesOf('slow.live')).toEqual([])
})

test('an import of rows goes on working without it', async () => {
  const answer = await sendArchive(importer, archiveFor('live'))
  expect(answer, answer.text).toMatchObject({ status: 200 })
})

test('a role that may import and change structure builds an empty stage', async () => {
  await createProject(wharf, 'built')
  await wharf.root.put('/projects/built/roles/builder', { json: { content: { import: true, structure: true } } })
  const builder = await wharf.member('built', 'builder')
  const answer = await sendArchive(builder, buildArchive({ slug: 'built', stages: [TABLE] }))
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(await tablesOf('built.live')).toEqual([{ name: 't' }])
})

test('admin and content_admin have it in a new project, editor and viewer have not', async () => {
  await createProject(wharf, 'fresh')
  const roles = z.object({
    items: z.array(z.object({ name: z.string(), content: z.looseObject({ structure: z.boolean() }) })),
  })
  const { items } = roles.parse((await wharf.root.get('/projects/fresh/roles')).json)
  expect(items.map(({ name, content }) => [name, content.structure])).toEqual([
    ['admin', true],
    ['content_admin', true],
    ['editor', false],
    ['viewer', false],
  ])
})

test('gets it from an archive of a version that did not know it', async () => {
  await createProject(wharf, 'old', 'CREATE TABLE t (n integer)')
  await wharf.root.put('/projects/old/roles/builder', { json: { content: { structure: true } } })
  const content = { read: true, write: true, export: true, import: true }
  const roles = ['builder', 'newcomer'].map((name) => ({ name, content }))
  const answer = await sendArchive(wharf.root, buildArchive({ slug: 'old', roles, stages: [TABLE] }))
  expect(answer, answer.text).toMatchObject({ status: 200 })
  const { json } = await wharf.root.get('/projects/old/roles')
  expect(json).toMatchObject({
    items: [
      { name: 'builder', content: { ...content, structure: true } },
      { name: 'newcomer', content: { ...content, structure: false } },
    ],
  })
})
