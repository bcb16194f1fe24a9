import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf } from '../../support/archives/import.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  for (const slug of ['shop', 'copy']) await createProject(wharf, slug, 'CREATE TABLE item (id int PRIMARY KEY)')
  // Twice, so that the log of the source has an order to keep.
  for (const _ of [1, 2]) await importInto('shop', await archiveOf('shop', false))
})

afterAll(() => wharf.close())

async function archiveOf(slug: string, system: boolean): Promise<string> {
  return await exportOf(wharf.root, slug, { system })
}

async function importInto(slug: string, archive: string): Promise<void> {
  const headers = { 'content-type': 'application/x-ndjson' }
  const answer = await wharf.root.post(`/import?targetSlug=${slug}`, { headers, body: archive })
  expect(answer.status).toBe(200)
}

const eventsOf = (archive: string): string[] => archive.split('\n').filter((line) => line.startsWith('{"event":'))

test('an import with the system section brings the event log, and logs itself after it', async () => {
  const source = await archiveOf('shop', true)
  await importInto('copy', source)
  const events = eventsOf(await archiveOf('copy', true))
  expect(eventsOf(source)).toHaveLength(4)
  expect(events.slice(0, 4)).toEqual(eventsOf(source))
  expect(events).toHaveLength(5)
  expect(events[4]).toContain('"kind":"import"')
})

test('an import without the system section leaves the event log, and adds itself to it', async () => {
  const before = eventsOf(await archiveOf('copy', true))
  await importInto('copy', await archiveOf('shop', false))
  const after = eventsOf(await archiveOf('copy', true))
  expect(after.slice(0, -1)).toEqual(before)
  expect(after).toHaveLength(before.length + 1)
})

test('an import that fails leaves the event log as it was, and nothing beside it', async () => {
  const before = await archiveOf('copy', true)
  const broken = (await archiveOf('shop', true)).replace('{"name":"id","type":"integer"', '{"name":"id","type":"text"')
  const headers = { 'content-type': 'application/x-ndjson' }
  const answer = await wharf.root.post('/import?targetSlug=copy', { headers, body: broken })
  expect(answer.status).toBe(409)
  expect(eventsOf(await archiveOf('copy', true))).toEqual(eventsOf(before))
  expect(await wharf.database.query('SELECT 1 FROM system.loading_event')).toEqual([])
})
