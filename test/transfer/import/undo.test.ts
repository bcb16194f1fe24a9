import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findProject } from '../../../src/projects/projects.ts'
import { findStage } from '../../../src/projects/stages.ts'
import { sweepShadowSchemas } from '../../../src/transfer/import/shadow-schemas.ts'
import { undoImport } from '../../../src/transfer/import/undo.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { readState } from '../../support/database/database-state.ts'
import { eventually } from '../../support/eventually.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { someOf } from '../../support/thorough.ts'

const TABLES = `
  CREATE TABLE artist (id serial PRIMARY KEY, name text UNIQUE);
  CREATE TABLE album (id integer PRIMARY KEY, artist_id integer REFERENCES artist);
  CREATE TYPE span AS RANGE (SUBTYPE = float8);
  CREATE TABLE nothing (n regclass);`

let wharf: TestWharf
let archive: string
let made = 0

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'source',
    `${TABLES} INSERT INTO artist (name) VALUES ('new'), ('newer'); INSERT INTO album VALUES (1, 1)`,
  )
  archive = await exportOf(wharf.root, 'source')
})

afterAll(() => wharf.close())

/** A project whose rows an import has replaced. */
async function imported(): Promise<string> {
  made += 1
  const slug = `p${made}`
  await createProject(wharf, slug, `${TABLES} INSERT INTO artist (name) VALUES ('old')`)
  expect(await sendArchive(wharf.root, archive, { query: `?targetSlug=${slug}` })).toMatchObject({ status: 200 })
  return slug
}

const undo = (slug: string, query = '') => wharf.root.post(`/projects/${slug}/stages/live/undo${query}`)

const contents = async (slug: string): Promise<string[]> => comparableLines(await exportOf(wharf.root, slug))

test('an undo gives back exactly what was there, and says what', async () => {
  await createProject(
    wharf,
    'shop',
    `${TABLES} INSERT INTO artist (name) VALUES ('old'), ('older'); INSERT INTO album VALUES (7, 2)`,
  )
  const before = await contents('shop')
  const state = await readState(wharf.database, `nspname = 'shop.live'`)
  await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
  expect(await contents('shop')).toEqual(comparableLines(archive))

  const answer = await undo('shop')
  expect(answer.json).toMatchObject({
    ok: true,
    replacedAt: expect.any(String),
    tables: [
      { name: 'album', rows: 1 },
      { name: 'artist', rows: 2 },
      { name: 'nothing', rows: 0 },
    ],
  })
  expect(await contents('shop')).toEqual(before)
  const after = await readState(wharf.database, `nspname = 'shop.live'`)
  // All but the schema itself, which has another number.
  expect({ ...after, schemas: '' }).toEqual({ ...state, schemas: '' })
})

test.each([1990, 2100])("what is kept is kept by the database's clock, also by a process in %i", async (year) => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(`${year}-01-01`) })
  try {
    const slug = await imported()
    await sweepShadowSchemas(wharf.container, wharf.container.logger)
    const kept = `SELECT expires_at BETWEEN now() + interval '23 hours' AND now() + interval '24 hours' AS a_day
                    FROM system.side_schema WHERE schema_name LIKE '${slug}.%'`
    expect(await wharf.database.query(kept)).toEqual([{ a_day: true }])
    expect(await undo(slug)).toMatchObject({ status: 200 })
  } finally {
    vi.useRealTimers()
  }
})

test('an undo can be undone, which has to be asked for', async () => {
  const slug = await imported()
  const old = await undo(slug)
  expect(old).toMatchObject({ status: 200 })
  expect(await undo(slug)).toMatchObject({ status: 409, text: expect.stringContaining('force') })
  expect(await undo(slug, '?force=true')).toMatchObject({ status: 200 })
  expect(await contents(slug)).toEqual(comparableLines(archive))
  expect(await undo(slug, '?force=true')).toMatchObject({ status: 200 })
  expect(await wharf.database.query(`SELECT name FROM "${slug}.live".artist`)).toEqual([{ name: 'old' }])
})

test('only the last import can be undone', async () => {
  const slug = await imported()
  await sendArchive(wharf.root, archive.replace('"newer"', '"newest"'), {
    query: `?targetSlug=${slug}&allowEdited=true`,
  })
  await undo(slug)
  expect(await contents(slug)).toEqual(comparableLines(archive))
})

/** What can have happened to a stage since an import, and would be lost. */
const CHANGES: Readonly<Record<string, string>> = {
  'a row was added': `INSERT INTO "$.live".nothing VALUES (1)`,
  'a row was changed': `UPDATE "$.live".artist SET name = name WHERE id = 1`,
  'a row was deleted': 'DELETE FROM "$.live".album',
  'a row was deleted and another added': `WITH gone AS (DELETE FROM "$.live".album) INSERT INTO "$.live".nothing VALUES (1)`,
  'a table was emptied': 'TRUNCATE "$.live".album',
  'a table was added': 'CREATE TABLE "$.live".more (n integer)',
  'a table was dropped': 'DROP TABLE "$.live".nothing',
  'a column was added': 'ALTER TABLE "$.live".nothing ADD m integer',
  'an index was added': 'CREATE INDEX ON "$.live".nothing (n)',
  'a view was added': 'CREATE VIEW "$.live".v AS SELECT 1 AS n',
  'a function was added': `CREATE FUNCTION "$.live".f() RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
}

test.each(someOf(Object.entries(CHANGES), 3))('an undo asks where, since the import, %s', async (_, sql) => {
  const slug = await imported()
  await wharf.database.query(sql.replaceAll('$', slug))
  const state = await readState(wharf.database)
  expect(await undo(slug)).toMatchObject({ status: 409, json: { type: 'urn:wharf:error:written-since' } })
  expect(await readState(wharf.database)).toEqual(state)
  expect(await undo(slug, '?force=true')).toMatchObject({ status: 200 })
  expect(await wharf.database.query(`SELECT name FROM "${slug}.live".artist`)).toEqual([{ name: 'old' }])
})

test.each(['ANALYZE', 'VACUUM (FREEZE)', 'SELECT count(*) FROM'])(
  'an undo does not ask where only %s came since',
  async (verb) => {
    const slug = await imported()
    await wharf.database.query(`${verb} "${slug}.live".artist`)
    expect(await undo(slug)).toMatchObject({ status: 200 })
  },
)

test('an undo does not wait for somebody who is writing', async () => {
  const slug = await imported()
  await withSession(wharf.database.url, async (writer) => {
    await writer.query(`BEGIN; INSERT INTO "${slug}.live".nothing VALUES (1)`)
    expect(await undo(slug)).toMatchObject({ status: 409, text: expect.stringContaining('writing') })
  })
})

test('without an import, or too long after it, there is nothing to undo', async () => {
  await createProject(wharf, 'untouched', TABLES)
  expect(await undo('untouched')).toMatchObject({ status: 409, text: expect.stringContaining('nothing to undo') })
  const slug = await imported()
  await wharf.database.query(
    `UPDATE system.side_schema SET expires_at = now() - interval '1 second'
     WHERE stage_id = (SELECT stage_id FROM system.stage_state WHERE schema_name = $1)`,
    [`${slug}.live`],
  )
  expect(await undo(slug, '?force=true')).toMatchObject({
    status: 409,
    text: expect.stringContaining('nothing to undo'),
  })
  expect(await contents(slug)).toEqual(comparableLines(archive))
})

test('where nothing is to be kept, nothing is', async () => {
  const other = await startWharf({ environment: { WHARF_UNDO_HOURS: '0' } })
  await createProject(other, 'source', `${TABLES} INSERT INTO artist (name) VALUES ('old')`)
  expect(await sendArchive(other.root, archive)).toMatchObject({ status: 200 })
  expect(await other.root.post('/projects/source/stages/live/undo?force=true')).toMatchObject({ status: 409 })
  // What PostgreSQL itself looks at just then (autovacuum) goes with the next sweep.
  await sweepShadowSchemas(other.container, other.container.logger)
  const left = await other.database.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'source.live%'`)
  expect(left).toEqual([{ nspname: 'source.live' }])
  await other.close()
})

test.each([
  ['admin', 200],
  ['viewer', 403],
  ['editor', 403],
])('%s may undo or not: %i', async (role, status) => {
  const slug = await imported()
  const client = await wharf.member(slug, role)
  const answer = await client.post(`/projects/${slug}/stages/live/undo`)
  expect(answer).toMatchObject({ status })
  if (status === 403) expect(answer.text).toContain('content.import')
})

test('the undo of a stage that is not there, or of a project one is no member of, finds nothing', async () => {
  expect(await wharf.root.post('/projects/source/stages/none/undo')).toMatchObject({ status: 404 })
  const outsider = await wharf.member('source', 'admin')
  expect(await outsider.post('/projects/shop/stages/live/undo')).toMatchObject({ status: 404 })
})

test('two undos at once are done one after the other, or one of them not at all', async () => {
  const slug = await imported()
  const statuses = await Promise.all([1, 2].map(async () => (await undo(slug, '?force=true')).status))
  expect([
    [200, 200],
    [200, 409],
  ]).toContainEqual(statuses.toSorted())
  const names = await wharf.database.query(`SELECT name FROM "${slug}.live".artist ORDER BY id`)
  expect(names).toEqual(statuses.includes(409) ? [{ name: 'old' }] : [{ name: 'new' }, { name: 'newer' }])
})

test('a stage that is deleted takes with it what is kept beside it', async () => {
  const slug = await imported()
  await wharf.root.delete(`/projects/${slug}/stages/live`)
  const left = await wharf.database.query('SELECT nspname FROM pg_namespace WHERE nspname LIKE $1', [`${slug}.live%`])
  expect(left).toEqual([])
})

test('an undo that loses its locks changes nothing', async () => {
  const slug = await imported()
  const { control, system, imports, importTurns } = wharf.container
  const project = await findProject(control.prisma, slug)
  const stage = findStage(project, 'live')
  const database = await wharf.container.projectDatabase(project, 'imports')
  const locks = `pid IN (SELECT pid FROM pg_locks WHERE relation = 'system.stage_lock'::regclass
                         AND mode = 'RowShareLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
  const lose = async (): Promise<void> => {
    const ended = await wharf.database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${locks}`)
    expect(ended).toHaveLength(1)
    await eventually(() => wharf.database.query(`SELECT pid FROM pg_stat_activity WHERE ${locks}`)).toEqual([])
    // Its end has arrived here once the next answers have.
    for (let count = 0; count < 3; count += 1) await imports.pool.query('SELECT 1')
  }
  const undone = undoImport(
    { system, imports, importTurns },
    { ...database, stageId: stage.id, schemaName: stage.schemaName, projectId: project.id },
    { force: false, tokenId: null, authorise: lose },
  )
  await expect(undone).rejects.toThrow()
  expect(await contents(slug)).toEqual(comparableLines(archive))
  expect(await undo(slug)).toMatchObject({ status: 200 })
})

test('what an earlier version kept can be undone: it wrote down ids as one text', async () => {
  const slug = await imported()
  const changed = await wharf.database.query(`
    UPDATE system.side_schema SET replaced_by = replaced_by - 'transactions' || jsonb_build_object('transaction',
             (SELECT string_agg(id, ',') FROM jsonb_array_elements_text(replaced_by->'transactions') id))
     WHERE schema_name LIKE '${slug}.live.%' AND replaced_by ? 'transactions' RETURNING replaced_by->>'transaction' AS ids`)
  expect(changed).toEqual([{ ids: expect.stringMatching(/^\d+/) }])
  expect(await undo(slug)).toMatchObject({ status: 200 })
})
