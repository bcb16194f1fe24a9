import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { FindProjectDatabase } from '../../src/projects/stage-database.ts'
import { withExport } from '../../src/transfer/export/with-export.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'
import { type Operator, operatorOf } from '../support/database/operator.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { eventually } from '../support/eventually.ts'
import { askExport } from '../support/jobs/jobs.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const ITEM = '/content/shop/live/item'
const READ_ONLY = { status: 503, json: { type: 'urn:wharf:error:database-read-only' } }
const UNAVAILABLE = { status: 503, json: { type: 'urn:wharf:error:database-unavailable' } }
const FULL = { status: 507, json: { type: 'urn:wharf:error:storage-full' } }

let database: TestDatabase
let operator: Operator
let wharf: TestWharf
beforeAll(async () => {
  database = await createMigratedDatabase()
  operator = operatorOf(database)
  wharf = await startWharf({ database })
  await createProject(
    wharf,
    'shop',
    'CREATE TABLE item (id integer PRIMARY KEY, name text); INSERT INTO item SELECT 1, NULL',
  )
})
afterAll(() => wharf.close())

const status = async (path: string): Promise<number> => (await wharf.root.get(path)).status

/** Ends all sessions, and waits until the service has seen that. */
async function beginSessionsAnew(): Promise<void> {
  await operator.endSessions()
  await eventually(() => status('/projects')).toBe(200)
  await eventually(() => status(ITEM)).toBe(200)
}

test('a database that its operator has closed to writes takes none, says so, and is read on', async () => {
  const archive = await exportOf(wharf.root, 'shop')
  await operator.set({ default_transaction_read_only: 'on' })
  await beginSessionsAnew()
  onTestFinished(async () => {
    await operator.resetAll()
    await beginSessionsAnew()
  })
  expect(await wharf.root.post('/projects', { json: { slug: 'other' } })).toMatchObject(READ_ONLY)
  expect(await wharf.root.post(ITEM, { json: { id: 2 } })).toMatchObject(READ_ONLY)
  expect(await sendArchive(wharf.root, archive)).toMatchObject(READ_ONLY)
  expect(await applyScript(wharf, 'shop', 'CREATE TABLE other ()')).toMatchObject(READ_ONLY)
  expect(await askExport(wharf.root, [{ slug: 'shop' }])).toMatchObject(READ_ONLY)
  expect(await wharf.root.delete('/projects/shop')).toMatchObject(READ_ONLY)
  expect(await wharf.root.get(`${ITEM}?limit=7`)).toMatchObject({ status: 200, json: [{ id: 1, name: null }] })
  expect(await exportOf(wharf.root, 'shop')).toContain('{"end":')
  expect(await wharf.root.get('/readyz')).toMatchObject({
    status: 503,
    json: { errors: [{ detail: 'database takes no writes' }] },
  })
})

test('a database that can be written to again is ready', async () => {
  expect(await wharf.root.post(ITEM, { json: { id: 3 } })).toMatchObject({ status: 201 })
  expect(await wharf.root.get('/readyz')).toMatchObject({ status: 200 })
})

test('a process that could open no connection is not ready, though those that it has go on', async () => {
  const name = new URL(database.url).pathname.slice(1)
  await eventually(() => status('/readyz')).toBe(200)
  await operator.run(`ALTER DATABASE ${name} CONNECTION LIMIT 0`)
  onTestFinished(() => operator.run(`ALTER DATABASE ${name} CONNECTION LIMIT -1`))
  expect(await status('/projects')).toBe(200)
  expect(await wharf.root.get('/readyz')).toMatchObject({
    status: 503,
    json: { errors: [{ detail: 'database does not answer' }] },
  })
})

test('metrics are there while the database is away, and say so', async () => {
  await operator.run(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} CONNECTION LIMIT 0`)
  onTestFinished(async () => {
    await operator.run(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} CONNECTION LIMIT -1`)
    await beginSessionsAnew()
  })
  await operator.endSessions()
  const { status: answered, text } = await wharf.root.get('/metrics')
  expect(answered).toBe(200)
  expect(text).toMatch(/^wharf_dependency_up\{dependency="database"\} 0$/m)
  expect(text).toMatch(/^process_resident_memory_bytes [1-9]/m)
  expect(text).not.toMatch(/^wharf_jobs\{/m)
})

test("a project's login that the operator has locked is the operator's affair, and no bug", async () => {
  const login = (await loginUrl(wharf, 'shop')).username
  await operator.run(`ALTER ROLE "${login}" NOLOGIN`)
  onTestFinished(async () => {
    await operator.run(`ALTER ROLE "${login}" LOGIN`)
    await beginSessionsAnew()
  })
  await operator.endSessions()
  await eventually(() => status('/projects')).toBe(200)
  await eventually(async () => (await wharf.root.get(`${ITEM}?limit=8`)).json).toMatchObject(UNAVAILABLE.json)
  // Each waits for its login for a while.
  const asked = await Promise.all([
    wharf.root.get(`${ITEM}?limit=9`),
    wharf.root.post(ITEM, { json: { id: 4 } }),
    applyScript(wharf, 'shop', 'CREATE TABLE other ()'),
    wharf.root.post('/export', { json: { projects: [{ slug: 'shop' }] } }),
  ])
  for (const answer of asked) expect(answer).toMatchObject(UNAVAILABLE)
})

/** Takes more temporary files than the login may have for every row after the first, and for all of an import. */
const DISK_FULL = `
  CREATE SEQUENCE filled_blocks START 10;
  SELECT setval('filled_blocks', 1);
  CREATE FUNCTION fill() RETURNS boolean LANGUAGE plpgsql SET work_mem = '64kB' AS $$ BEGIN
    IF nextval('filled_blocks') < 3 THEN RETURN true; END IF;
    RETURN count(*) > 0 FROM generate_series(1, 100000); END $$;
  CREATE TABLE filled (id integer PRIMARY KEY CHECK (fill()));
  INSERT INTO filled VALUES (1)`

test('a disk of the database that is full is told as such, whatever was written', async () => {
  await createProject(wharf, 'full')
  await operator.run(`ALTER ROLE "${(await loginUrl(wharf, 'full')).username}" SET temp_file_limit = '128kB'`)
  expect(await applyScript(wharf, 'full', DISK_FULL)).toMatchObject({ status: 200 })
  expect(await wharf.root.post('/content/full/live/filled', { json: { id: 2 } })).toMatchObject(FULL)
  expect(await applyScript(wharf, 'full', 'INSERT INTO filled VALUES (2)')).toMatchObject(FULL)
  expect(await sendArchive(wharf.root, await exportOf(wharf.root, 'full'))).toMatchObject(FULL)
})

test('a project that is deleted during an import to it is not found', async () => {
  const structure = `CREATE DOMAIN pausing AS integer CHECK (${PAUSE}); CREATE TABLE item (id pausing PRIMARY KEY)`
  await createProject(wharf, 'short-lived', `${structure}; INSERT INTO item VALUES (1)`)
  const archive = await exportOf(wharf.root, 'short-lived')
  await withPausePoint(wharf, async (pausePoint) => {
    const importing = sendArchive(wharf.root, archive)
    await pausePoint.reached()
    expect(await wharf.root.delete('/projects/short-lived')).toMatchObject({ status: 204 })
    expect(await importing).toMatchObject({
      status: 404,
      json: { detail: 'project "short-lived" was deleted meanwhile; nothing was changed' },
    })
  })
})

test('a project that is deleted while an export of it begins is not found', async () => {
  await createProject(wharf, 'fleeting')
  const { container, root } = wharf
  const projectDatabase: FindProjectDatabase = async (project, use) => {
    await root.delete('/projects/fleeting')
    return container.projectDatabase(project, use)
  }
  const exporting = withExport(
    { ...container, projectDatabase },
    [{ slug: 'fleeting', system: false }],
    async () => 'begun',
  )
  await expect(exporting).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'there is no project "fleeting"' })
})
