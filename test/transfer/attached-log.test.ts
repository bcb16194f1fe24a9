import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf } from '../support/archives/import.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { installedCluster } from '../support/servers/installed-cluster.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { query } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const TABLES = `CREATE TABLE item (id int PRIMARY KEY, name text, at timestamptz DEFAULT '2026-01-01T00:00:00Z');
  CREATE TABLE line (item_id int REFERENCES item ON DELETE CASCADE, n numeric);
  CREATE TABLE price (name text, id int, PRIMARY KEY (id) INCLUDE (name))`

/** What is written, as a transaction each. */
const WRITES = [
  `INSERT INTO item VALUES (1, 'hat'), (2, NULL)`,
  `BEGIN; INSERT INTO line VALUES (1, 1.50); SAVEPOINT s; INSERT INTO line VALUES (2, 2); ROLLBACK TO s; UPDATE item SET name = 'cap' WHERE id = 1; COMMIT`,
  'UPDATE item SET name = name WHERE false',
  `BEGIN; INSERT INTO item VALUES (3, 'never'); ROLLBACK`,
  'DELETE FROM item WHERE id = 1',
  'TRUNCATE item CASCADE',
  `INSERT INTO price VALUES ('hat', 1)`,
  'INSERT INTO item (id) SELECT generate_series(1, 2500)',
]

const bin = installedPrograms()

let wharf: TestWharf
let external: ExternalDatabase
let before = ''

const dump = async (): Promise<string> => {
  const url = external.database.superuserUrl
  const { stdout } = await promisify(execFile)(join(bin ?? '', 'pg_dump'), ['-s', url], { maxBuffer: 2 ** 26 })
  return stdout.replace(/^\\(un)?restrict .*$/gm, '')
}

beforeAll(async () => {
  external = await createExternalDatabase(
    `${TABLES}; CREATE SCHEMA sales; CREATE TABLE sales.deal (id int);
    ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC`,
    installedCluster()?.createDatabase,
  )
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  if (bin !== undefined) before = await dump()
  const stages = [
    { slug: 'live', schema: 'public', logEvents: true },
    { slug: 'sales', schema: 'sales', logEvents: true },
  ]
  const attach = { address: external.owner.href, stages }
  const made = await wharf.root.post('/projects', { json: { slug: 'shop', attach } })
  expect(made.status, made.text).toBe(201)
  await createProject(wharf, 'hosted', TABLES)
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

interface LoggedEvent {
  readonly id: string
  readonly kind: string
  readonly stage: string
}

const eventsOf = async (slug: string, stages = ['live']): Promise<readonly LoggedEvent[]> =>
  (await exportOf(wharf.root, slug, { system: true, stages }))
    .split('\n')
    .filter((line) => line.startsWith('{"event":'))
    .map((line) => JSON.parse(line).event)

const importInto = async (slug: string, archive: string): Promise<void> => {
  const headers = { 'content-type': 'application/x-ndjson' }
  const answer = await wharf.root.post(`/import?targetSlug=${slug}`, { headers, body: archive })
  expect(answer.status, answer.text).toBe(200)
}

const reference = async (path: string): Promise<string> => {
  const { status, headers } = await wharf.root.get(`/content/shop/${path}`)
  expect(status).toBe(200)
  return headers['x-service-ref'] ?? ''
}

const statusFor = async (path: string, known: string): Promise<number> =>
  (await wharf.root.get(`/content/shop/${path}`, { headers: { 'x-service-ref': known } })).status

test('the log of an attached stage says of writes what that of a hosted one says', async () => {
  const hosted = (await loginUrl(wharf, 'hosted')).href
  for (const sql of WRITES) {
    await query(external.owner.href, sql)
    await query(hosted, `SET search_path = "hosted.live"; ${sql}`)
  }
  const comparable = (events: readonly LoggedEvent[]): unknown[] =>
    events.filter(({ kind }) => kind !== 'structure').map((event) => ({ ...event, id: '', occurredAt: '' }))
  const logged = comparable(await eventsOf('shop'))
  expect(logged).toHaveLength(11)
  expect(logged).toEqual(comparable(await eventsOf('hosted')))
})

test('nobody but the login has any rights on the log', async () => {
  const url = external.database.superuserUrl
  const rights = await query(
    url,
    `SELECT relname FROM pg_class c, aclexplode(relacl) a WHERE relnamespace = 'wharf_log'::regnamespace AND a.grantee <> relowner
      UNION ALL SELECT proname FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) a
       WHERE pronamespace = 'wharf_log'::regnamespace AND a.grantee <> proowner
      UNION ALL SELECT nspname FROM pg_namespace n, aclexplode(nspacl) a WHERE nspname = 'wharf_log' AND a.grantee <> nspowner`,
  )
  expect(rights).toEqual([])
})

test.each([
  ['object by object', 'live', 'item'],
  ['as a schema', 'sales', 'deal'],
])('what an import replaces %s keeps its log, and so does what an undo brings back', async (_, stage, table) => {
  const archive = await exportOf(wharf.root, 'shop', { stages: [stage] })
  const path = `${stage}/${table}`
  const [known, events] = [await reference(path), await eventsOf('shop', [stage])]
  expect(await statusFor(path, known)).toBe(304)
  await importInto('shop', archive)
  const imported = await reference(path)
  expect(await statusFor(path, known)).toBe(200)
  expect(await statusFor(path, imported), 'the triggers came with the tables').toBe(304)
  const undone = await wharf.root.post(`/projects/shop/stages/${stage}/undo?force=true`)
  expect(undone.status, undone.text).toBe(200)
  expect(await statusFor(path, imported)).toBe(200)
  expect(await statusFor(path, await reference(path))).toBe(304)
  const kinds = (await eventsOf('shop', [stage])).slice(events.length).map(({ kind }) => kind)
  expect(kinds).toEqual(['import', 'import'])
})

test('an archive with system data brings its log, which goes on with what happens here', async () => {
  const source = await exportOf(wharf.root, 'hosted', { system: true })
  const brought = await eventsOf('hosted')
  await importInto('shop', source)
  await query(external.owner.href, 'DELETE FROM item')
  const events = await eventsOf('shop')
  expect(events.slice(0, brought.length).map(({ id }) => id)).toEqual(brought.map(({ id }) => id))
  expect(events.slice(brought.length).map(({ kind }) => kind)).toEqual(['import', 'delete', 'delete', 'delete'])
  await importInto('hosted', await exportOf(wharf.root, 'shop', { system: true, stages: ['live'] }))
  expect((await eventsOf('hosted')).slice(0, events.length).map(({ id }) => id)).toEqual(events.map(({ id }) => id))
})

test('archives have nothing of the log but its events', async () => {
  const archive = await exportOf(wharf.root, 'shop', { system: false })
  expect(archive).not.toContain('wharf_log')
})

test('no log is kept where a publication would send it to subscribers that lack its tables', async () => {
  const change = (logEvents: boolean) => wharf.root.patch('/projects/shop/stages/sales', { json: { logEvents } })
  expect(await change(false)).toMatchObject({ status: 200, json: { logEvents: false } })
  await query(external.database.superuserUrl, 'CREATE PUBLICATION everything FOR ALL TABLES')
  const refused = await change(true)
  expect(refused).toMatchObject({
    status: 409,
    json: { errors: [{ detail: expect.stringContaining('publication "everything" is FOR ALL TABLES') }] },
  })
  await query(external.database.superuserUrl, 'DROP PUBLICATION everything')
  expect(await change(true)).toMatchObject({ status: 200, json: { logEvents: true } })
})

test('a login that does not own every table keeps no log, is told why, and leaves nothing', async () => {
  const attach = {
    address: external.reader.href,
    stages: [{ slug: 'live', schema: 'public', logEvents: true }],
  }
  await wharf.root.delete('/projects/shop/attachment')
  const refused = await wharf.root.post('/projects', { json: { slug: 'readers', attach } })
  expect(refused).toMatchObject({
    status: 409,
    json: {
      errors: expect.arrayContaining([
        { detail: expect.stringContaining('GRANT CREATE ON DATABASE') },
        { detail: expect.stringMatching(/table "item" belongs to .*GRANT owner/) },
      ]),
    },
  })
  expect(refused.text).not.toContain(external.password)
  expect(await wharf.root.get('/projects/readers')).toMatchObject({ status: 404 })
})

test.skipIf(bin === undefined)('detached, the database is as it was found', async () => {
  expect(await dump()).toBe(before)
})
