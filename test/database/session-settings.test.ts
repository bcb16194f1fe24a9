import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../support/archives/import.ts'
import { openExport, readRest, readSome } from '../support/archives/open-export.ts'
import { createMigratedDatabase, createTestDatabase } from '../support/database/database.ts'
import { operatorOf } from '../support/database/operator.ts'
import { askExport, askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Longer than any time-out that is set here. */
const LONG_S = 1.2

/** What a DBA, or a project for its own login, may have set for every session. */
const SETTINGS = {
  idle_session_timeout: '1s',
  idle_in_transaction_session_timeout: '1s',
  transaction_timeout: '1s',
  statement_timeout: '1s',
  standard_conforming_strings: 'off',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  datestyle: 'German',
  intervalstyle: 'iso_8601',
  timezone: 'Asia/Tokyo',
  bytea_output: 'escape',
  extra_float_digits: '-10',
  search_path: 'nowhere',
  default_text_search_config: 'pg_catalog.simple',
}

const ALTER_OWN_ROLE = [...Object.entries(SETTINGS), ['default_transaction_read_only', 'on'], ['row_security', 'off']]
  .map(([name, value]) => `ALTER ROLE CURRENT_USER SET ${name} = '${value}'`)
  .join('; ')

/** With values and texts that settings would change, and a row that takes long to be checked. */
const SLOW = `
  CREATE TABLE slow (
    id integer PRIMARY KEY CHECK (pg_catalog.pg_sleep(${LONG_S}) IS NOT NULL),
    path text NOT NULL DEFAULT E'C:\\\\new\\\\table' CHECK (path ~ E'^[\\\\w:\\\\\\\\]+$'),
    at timestamptz DEFAULT '2026-02-03 04:05:06+00', took interval DEFAULT '1 day 02:03:04', bytes bytea DEFAULT '\\x00ff',
    ratio double precision DEFAULT 0.1::double precision + 0.2::double precision, day date DEFAULT '2026-02-03');
  INSERT INTO slow (id) VALUES (1);`

/** Runs `use` while a variable of the environment is set. */
async function withVariable<T>(name: string, value: string, use: () => Promise<T>): Promise<T> {
  const before = process.env[name]
  process.env[name] = value
  try {
    return await use()
  } finally {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  }
}

let wharf: TestWharf
beforeAll(async () => {
  const database = await createMigratedDatabase()
  await operatorOf(database).set(SETTINGS)
  wharf = await startWharf({ database, worker: true })
  await createProject(wharf, 'slow', ALTER_OWN_ROLE)
  // Its sessions start over, so that the role's own settings reach them.
  await operatorOf(database).endSessions()
  while ((await wharf.root.get('/projects')).status !== 200);
  expect(await applyScript(wharf, 'slow', SLOW)).toMatchObject({ status: 200 })
})
afterAll(() => wharf.close())

test('a change of structure takes longer than the time-outs of database and role', async () => {
  const script = `SELECT pg_catalog.pg_sleep(${LONG_S}); CREATE TABLE made_slowly ()`
  expect(await applyScript(wharf, 'slow', script)).toMatchObject({ status: 200 })
})

test('an import takes longer than the time-outs of database and role', async () => {
  const archive = await exportOf(wharf.root, 'slow')
  expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
  expect(comparableLines(await exportOf(wharf.root, 'slow'))).toEqual(comparableLines(archive))
})

test('jobs take longer than the time-outs of database and role', async () => {
  const archive = await exportOf(wharf.root, 'slow')
  const imported = await untilEnded(wharf.root, jobOf(await askImport(wharf.root, archive)))
  expect(imported).toMatchObject({ status: 'succeeded' })
  const exported = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'slow' }])))
  expect(exported).toMatchObject({ status: 'succeeded', attempt: 1 })
})

test('an export takes longer than the time-outs of database and role', async () => {
  await createProject(
    wharf,
    'large',
    `${ALTER_OWN_ROLE};
     CREATE TABLE large (id integer PRIMARY KEY, text text);
     INSERT INTO large SELECT id, repeat(md5(id::text), 100) FROM pg_catalog.generate_series(1, 6000) id`,
  )
  const response = await openExport(wharf, ['large'])
  const beginning = await readSome(response, 1)
  await delay(LONG_S * 1000)
  const archive = Buffer.concat([beginning, await readRest(response)])
  expect(archive.toString()).toContain('{"end":')
})

test('texts with backslashes come back as they were from an import into an empty stage', async () => {
  await createProject(wharf, 'empty', ALTER_OWN_ROLE)
  const archive = await exportOf(wharf.root, 'slow')
  const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=empty' })
  expect(imported, imported.text).toMatchObject({ status: 200 })
  // The stage's line names the check that sleeps, which archives can't have.
  const withoutStage = (text: string): string[] => comparableLines(text).filter((line) => !line.startsWith('{"stage":'))
  expect(withoutStage(await exportOf(wharf.root, 'empty'))).toEqual(withoutStage(archive))
})

test('rows are read and written over HTTP as if nothing had been set', async () => {
  await createProject(
    wharf,
    'times',
    `${ALTER_OWN_ROLE}; CREATE TABLE item (id int PRIMARY KEY, at timestamptz, path text)`,
  )
  const item = { id: 1, at: '2026-02-03T04:05:06+00:00', path: 'C:\\new' }
  const written = await wharf.root.post('/content/times/live/item', { json: item })
  expect(written, written.text).toMatchObject({ status: 201 })
  expect(await wharf.root.get('/content/times/live/item')).toMatchObject({ status: 200, json: [item] })
})

test('a search finds the same rows whatever the database searches with by default', async () => {
  await createProject(
    wharf,
    'words',
    `${ALTER_OWN_ROLE}; CREATE TABLE item (id int PRIMARY KEY, name text);
     INSERT INTO item VALUES (1, 'Warm Waters'), (2, 'Rat und Tat')`,
  )
  expect(await wharf.root.get('/content/words/live/item?name=fts.water')).toMatchObject({
    status: 200,
    json: [{ id: 1, name: 'Warm Waters' }],
  })
})

test('a trigger makes words of a text as the database does by default', async () => {
  await createProject(
    wharf,
    'stems',
    `CREATE TABLE item (id int PRIMARY KEY, name text, words tsvector);
     CREATE FUNCTION split() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN NEW.words := to_tsvector(NEW.name); RETURN NEW; END $$;
     CREATE TRIGGER split BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION split()`,
  )
  const json = { id: 1, name: 'Warm Waters' }
  expect(await wharf.root.post('/content/stems/live/item', { json })).toMatchObject({ status: 201 })
  expect((await wharf.root.get('/content/stems/live/item?select=words')).json).toEqual([
    { words: "'warm':1 'waters':2" },
  ])
})

test('what a trigger sets for its session changes no later request', async () => {
  await createProject(
    wharf,
    'poison',
    `CREATE TABLE item (id integer PRIMARY KEY, at timestamptz DEFAULT '2026-02-03 04:05:06+00');
     CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       SET timezone = 'Asia/Tokyo'; SET default_transaction_read_only = on;
       CREATE TEMPORARY TABLE item (id text); RETURN NULL; END $$;
     CREATE TRIGGER poison AFTER INSERT ON item FOR EACH STATEMENT EXECUTE FUNCTION poison()`,
  )
  expect(await wharf.root.post('/content/poison/live/item', { json: { id: 1 } })).toMatchObject({ status: 201 })
  for (let count = 0; count < 5; count += 1) {
    const read = await wharf.root.get(`/content/poison/live/item?limit=${count + 1}`)
    expect(read).toMatchObject({ status: 200, json: [{ id: 1, at: '2026-02-03T04:05:06+00:00' }] })
  }
})

test('a first start, with settings of the database and of the environment, builds all tables', async () => {
  const database = await createTestDatabase()
  const { transaction_timeout: _, ...settings } = SETTINGS
  await operatorOf(database).set({ ...settings, default_tablespace: '', check_function_bodies: 'off' })
  const first = await withVariable('PGOPTIONS', '-c search_path=nowhere -c nonsense=1', () => startWharf({ database }))
  onTestFinished(() => first.close())
  expect(await first.root.post('/projects', { json: { slug: 'first' } })).toMatchObject({ status: 201 })
})
