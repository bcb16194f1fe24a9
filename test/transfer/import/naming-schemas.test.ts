import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { runCommand } from '../../support/cli/cli.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { temporaryFolder } from '../../support/processes/processes.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Bodies that are texts, and name schemas: that of their own stage, and that of another. */
const NAMING = `
  CREATE FUNCTION plain(text) RETURNS text LANGUAGE sql IMMUTABLE RETURN translate($1, 'ë', 'e');
  CREATE FUNCTION plainer(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT public.plain($1)';
  CREATE TABLE item (name text); CREATE INDEX ON item (plainer(name)); INSERT INTO item VALUES ('Citroën');
  CREATE FUNCTION first() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT min(name) FROM public.item); END';
  CREATE MATERIALIZED VIEW firsts AS SELECT first();
  CREATE SCHEMA "Sales-1"; CREATE FUNCTION "Sales-1".plainest(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT public.plainer($1)';
  CREATE TABLE "Sales-1".sale (name text CHECK ("Sales-1".plainest(name) IS NOT NULL)); INSERT INTO "Sales-1".sale VALUES ('ë');
  CREATE SCHEMA audit; CREATE FUNCTION audit.look(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT "Sales-1".plainest($1)';
  CREATE TABLE audit.entry (what text PRIMARY KEY); CREATE INDEX ON audit.entry (audit.look(what)); INSERT INTO audit.entry VALUES ('ë')`

const EMPTY = 'CREATE SCHEMA "Sales-1"; CREATE SCHEMA audit'

/** So that each comes before what its functions need. */
const STAGES = [
  { slug: 'audit', schema: 'audit' },
  { slug: 'sales', schema: 'Sales-1' },
  { slug: 'live', schema: 'public' },
]

let wharf: TestWharf
const archives = { whole: '', live: '' }
beforeAll(async () => {
  wharf = await startWharf({ environment: MAY_ATTACH })
  await attach('source', NAMING)
  archives.whole = await exportOf(wharf.root, 'source')
  archives.live = await exportOf(wharf.root, 'source', { stages: ['live'] })
})
afterAll(() => wharf?.close())

async function attach(slug: string, script: string): Promise<ExternalDatabase> {
  const external = await createExternalDatabase(script)
  const json = { slug, attach: { address: external.owner.href, stages: STAGES } }
  const made = await wharf.root.post('/projects', { json })
  expect(made.status, made.text).toBe(201)
  return external
}

/**
 * The lines of an archive but for those that say what it lacks: rights of logins of the database. In no order, since stages
 * that were made in the same millisecond are in that of their names.
 */
const contentOf = (archive: string): readonly string[] =>
  comparableLines(archive)
    .filter((line) => !line.startsWith('{"stage":'))
    .toSorted()

test('archives say which schemas their stages were, where they are of a database of its own', async () => {
  const stages = archives.whole.split('\n').filter((line) => line.startsWith('{"stage":'))
  expect(stages.map((line) => JSON.parse(line).stage.sourceSchema)).toEqual(['audit', 'Sales-1', 'public'])
})

test('what functions name by its schema comes into empty stages that are called the same, at one moment', async () => {
  const target = await attach('empty', EMPTY)
  const dry = await sendArchive(wharf.root, archives.whole, { query: '?targetSlug=empty&dryRun=true' })
  expect(dry, dry.text).toMatchObject({
    status: 200,
    json: { projects: [{ stages: Array(3).fill({ undoable: false }) }] },
  })
  const imported = await sendArchive(wharf.root, archives.whole, { query: '?targetSlug=empty' })
  expect(imported.status, imported.text).toBe(200)
  expect(contentOf(await exportOf(wharf.root, 'empty'))).toEqual(contentOf(archives.whole))
  await target.run(`INSERT INTO audit.entry VALUES ('é'); REFRESH MATERIALIZED VIEW firsts`)

  const again = await sendArchive(wharf.root, archives.whole, { query: '?targetSlug=empty' })
  expect(again.status, again.text).toBe(200)
  expect(contentOf(await exportOf(wharf.root, 'empty'))).toEqual(contentOf(archives.whole))
})

test('where one of several stages fails, none of them is there', async () => {
  const target = await attach('failing', EMPTY)
  const row = '{"row":["ë"]}'
  const twice = archives.whole.replace(row, `${row}\n${row}`)
  const query = '?targetSlug=failing&allowEdited=true'
  const imported = await sendArchive(wharf.root, twice, { query })
  expect(imported, imported.text).toMatchObject({
    status: 409,
    json: { detail: expect.stringContaining('entry_pkey') },
  })
  await target.run(`CREATE TABLE audit.entry (); CREATE TABLE "Sales-1".sale (); CREATE TABLE item ()`)
})

test('they come into an empty database of the project itself, and straight into one by its address', async () => {
  const made = await wharf.root.post('/projects', { json: { slug: 'own', ownDatabase: true } })
  expect(made.status, made.text).toBe(201)
  const imported = await sendArchive(wharf.root, archives.live, { query: '?targetSlug=own' })
  expect(imported.status, imported.text).toBe(200)

  const external = await createExternalDatabase('SELECT 1')
  const file = join(await temporaryFolder(), 'archive.jsonl')
  await writeFile(file, archives.live)
  const done = await runCommand(['data:import', file, external.owner.href, '--yes'])
  expect(done.code, done.stderr).toBe(0)
  await external.run('SELECT plainer(name) FROM item')
})
