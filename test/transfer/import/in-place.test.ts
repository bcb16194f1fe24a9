import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { readState } from '../../support/database/database-state.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Two tables, what lines describe of them, and everything around them that lines do not describe. */
const STRUCTURE = `
  CREATE TABLE artist (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL,
    place integer CONSTRAINT "one place each" UNIQUE DEFERRABLE INITIALLY DEFERRED);
  CREATE TABLE album (id serial PRIMARY KEY, artist_id integer NOT NULL REFERENCES artist ON DELETE CASCADE, title text,
    part_of integer, CONSTRAINT "part of" FOREIGN KEY (part_of) REFERENCES album DEFERRABLE INITIALLY DEFERRED);
  COMMENT ON CONSTRAINT "part of" ON album IS 'a box set';
  CREATE TABLE audit (at timestamptz DEFAULT now(), what text);
  CREATE VIEW titles AS SELECT title, name FROM album JOIN artist ON artist.id = artist_id;
  CREATE MATERIALIZED VIEW counts AS SELECT name, count(*) FROM titles GROUP BY name;
  CREATE MATERIALIZED VIEW total AS SELECT sum(count) AS albums FROM counts;
  CREATE MATERIALIZED VIEW unfilled AS SELECT 1 AS n WITH NO DATA;
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO audit (what) VALUES (TG_NAME); RETURN NEW; END $$;
  CREATE TRIGGER usual AFTER INSERT ON album FOR EACH ROW EXECUTE FUNCTION note();
  CREATE TRIGGER "never, ever" AFTER INSERT ON album FOR EACH ROW EXECUTE FUNCTION note();
  CREATE TRIGGER "of replicas" AFTER INSERT ON album FOR EACH STATEMENT EXECUTE FUNCTION note();
  CREATE TRIGGER always AFTER INSERT OR UPDATE OR DELETE ON artist FOR EACH ROW EXECUTE FUNCTION note();
  ALTER TABLE album DISABLE TRIGGER "never, ever", ENABLE REPLICA TRIGGER "of replicas";
  ALTER TABLE artist ENABLE ALWAYS TRIGGER always;
  CREATE CONVERSION odd FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
  ALTER TABLE album ENABLE ROW LEVEL SECURITY;
  CREATE POLICY everybody ON album USING (true);
  ALTER TABLE artist ENABLE ROW LEVEL SECURITY;
  CREATE POLICY some_only ON artist USING (id < 1000);`

/** Such a table is not exported, since nobody but a superuser would see all of it. */
const FORCED = 'ALTER TABLE artist FORCE ROW LEVEL SECURITY;'

const ROWS_OF_TARGET = `
  INSERT INTO artist (name) VALUES ('Accept');
  INSERT INTO album (artist_id, title) VALUES (1, 'Balls to the Wall');
  REFRESH MATERIALIZED VIEW counts;
  REFRESH MATERIALIZED VIEW total;`

const ROWS_OF_SOURCE = `
  INSERT INTO artist (name, place) VALUES ('AC/DC', 1), ('Accept', 2);
  INSERT INTO album (artist_id, title, part_of) VALUES (1, 'Powerage', 2), (1, 'Bonfire', NULL), (2, 'Restless', NULL);
  DELETE FROM audit;`

let wharf: TestWharf
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', STRUCTURE + ROWS_OF_SOURCE)
  archive = await exportOf(wharf.root, 'source')
})

afterAll(() => wharf.close())

/** What hangs on the tables of a schema, in the words of PostgreSQL. */
const surroundings = (schema: string): Promise<unknown[]> =>
  wharf.database.query(
    `SELECT 'trigger ' || tgname AS what, tgenabled::text || ' ' || pg_get_triggerdef(t.oid) AS how
       FROM pg_trigger t WHERE tgrelid::regclass::text LIKE $1 AND NOT tgisinternal
     UNION ALL SELECT 'view ' || viewname, definition FROM pg_views WHERE schemaname = $2
     UNION ALL SELECT 'materialized view ' || matviewname, ispopulated || definition FROM pg_matviews WHERE schemaname = $2
     UNION ALL SELECT 'policy ' || policyname, qual FROM pg_policies WHERE schemaname = $2
     UNION ALL SELECT 'table ' || relname, concat(relrowsecurity, relforcerowsecurity, relacl)
       FROM pg_class WHERE relnamespace = quote_ident($2)::regnamespace AND relkind = 'r'
     UNION ALL SELECT 'constraint ' || conname,
              concat(pg_get_constraintdef(k.oid), obj_description(k.oid, 'pg_constraint'), condeferred)
       FROM pg_constraint k WHERE connamespace = quote_ident($2)::regnamespace
     ORDER BY 1, 2`,
    [`"${schema}"%`, schema],
  )

test('a stage with things that lines do not describe keeps them all', async () => {
  await createProject(wharf, 'target', STRUCTURE + ROWS_OF_TARGET + FORCED)
  const before = await surroundings('target.live')
  expect(before.length).toBeGreaterThan(15)
  const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=target' })
  expect(answer.json).toMatchObject({ ok: true, projects: [{ stages: [{ slug: 'live', tables: 3, rows: 5 }] }] })

  expect(await surroundings('target.live')).toEqual(before)
  await applyScript(wharf, 'target', 'ALTER TABLE artist NO FORCE ROW LEVEL SECURITY')
  expect(comparableLines(await exportOf(wharf.root, 'target'))).toEqual(comparableLines(archive))
  expect(await wharf.database.query('SELECT what FROM "target.live".audit')).toEqual([])
  expect(await wharf.database.query('SELECT * FROM "target.live".counts ORDER BY 1')).toEqual([
    { name: 'AC/DC', count: '2' },
    { name: 'Accept', count: '1' },
  ])
  expect(await wharf.database.query('SELECT * FROM "target.live".total')).toEqual([{ albums: '3' }])
})

test('its triggers fire again, and its sequences go on where those of the archive stood', async () => {
  await applyScript(wharf, 'target', `INSERT INTO album (artist_id, title) VALUES (1, 'Let There Be Rock')`)
  expect(await wharf.database.query('SELECT max(id) FROM "target.live".album')).toEqual([{ max: 4 }])
  expect(await wharf.database.query('SELECT what FROM "target.live".audit')).toEqual([{ what: 'usual' }])
})

test('tables without a line may refer to those that are replaced, and rows may break what is NOT VALID', async () => {
  const script = `
    CREATE TABLE t (id integer PRIMARY KEY, n integer);
    CREATE TYPE "date" AS ENUM ('a');
    CREATE TABLE without_line (id integer CONSTRAINT "to t" REFERENCES t, d "$SCHEMA".date);
    COMMENT ON CONSTRAINT "to t" ON without_line IS 'kept';
    CREATE DOMAIN amount AS integer;
    CREATE TABLE child (m integer, a amount) INHERITS (t);
    INSERT INTO t VALUES (1, -1), (2, -2); INSERT INTO child VALUES (3, -3, 4, -5); INSERT INTO without_line VALUES (1, 'a');
    ALTER DOMAIN amount ADD CONSTRAINT "no debts, from now on" CHECK (VALUE > 0) NOT VALID;
    COMMENT ON CONSTRAINT "no debts, from now on" ON DOMAIN amount IS 'kept, too';
    ALTER TABLE t ADD CONSTRAINT "from now on" CHECK (n > 0) NOT VALID;
    ALTER TABLE child ADD CONSTRAINT "refers, from now on" FOREIGN KEY (m) REFERENCES t NOT VALID;`
  await createProject(wharf, 'unfinished')
  await applyScript(wharf, 'unfinished', script.replaceAll('$SCHEMA', 'unfinished.live'))
  const exported = () => exportOf(wharf.root, 'unfinished', { excludeTables: ['without_line'] })
  const [before, lines] = [await surroundings('unfinished.live'), await exported()]
  expect(before.length).toBeGreaterThan(5)
  const answer = await sendArchive(wharf.root, lines)
  expect(answer.json).toMatchObject({ ok: true, projects: [{ stages: [{ rows: 3, undoable: false }] }] })
  expect(await surroundings('unfinished.live')).toEqual(before)
  expect(comparableLines(await exported())).toEqual(comparableLines(lines))
})

test('a dry run says of a generated column that its values cannot be loaded', async () => {
  const list = Array.from({ length: 6_000 }, (_, at) => at).join(', ')
  await createProject(
    wharf,
    'generating',
    `CREATE TABLE t (id integer, listed boolean GENERATED ALWAYS AS (id IN (${list})) STORED); INSERT INTO t VALUES (1)`,
  )
  const lines = await exportOf(wharf.root, 'generating')
  for (const query of ['?dryRun=true', '']) {
    const answer = await sendArchive(wharf.root, lines, { query })
    expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('column t.listed is generated') })
  }
})

test('an import in place cannot be undone, and the undo says why', async () => {
  const answer = await wharf.root.post('/projects/target/stages/live/undo?force=true')
  expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('in place') })
})

test('nor can an import be undone that came before it', async () => {
  await createProject(wharf, 'plain', 'CREATE TABLE t (n integer)')
  const plain = await exportOf(wharf.root, 'plain')
  const undoable = (yes: boolean) => ({ status: 200, json: { projects: [{ stages: [{ undoable: yes }] }] } })
  expect(await sendArchive(wharf.root, plain)).toMatchObject(undoable(true))
  expect(
    await applyScript(wharf, 'plain', `CREATE CONVERSION odd FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8`),
  ).toMatchObject({
    status: 200,
  })
  expect(await sendArchive(wharf.root, plain, { query: '?dryRun=true' })).toMatchObject(undoable(false))
  expect(await sendArchive(wharf.root, plain)).toMatchObject(undoable(false))
  const answer = await wharf.root.post('/projects/plain/stages/live/undo?force=true')
  expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('in place') })
  expect(await wharf.database.query('SELECT * FROM "plain.live".t')).toEqual([])
})

const REFUSED: Readonly<Record<string, readonly [RegExp, string]>> = {
  'a value that a column refuses': [/\[2, ?"Accept", ?2\]/, '["x","Accept",2]'],
  'a foreign key without its row': [/"Restless", ?null/, '"Restless",99'],
  'a key that comes twice': [/\[2, ?1, ?"Bonfire"/, '[1,1,"Bonfire"'],
  'a deferred key that comes twice': [/\[2, ?"Accept", ?2\]/, '[2,"Accept",1]'],
}

test.each(Object.entries(REFUSED))('%s leaves everything in place', async (_, [row, other]) => {
  const before = await readState(wharf.database)
  const edited = archive.replace(row, other)
  expect(edited).not.toBe(archive)
  const answer = await sendArchive(wharf.root, edited, { query: '?targetSlug=target&allowEdited=true' })
  expect([400, 409], answer.text).toContain(answer.status)
  expect(answer.text).not.toMatch(/Accept|Restless|Bonfire/)
  expect(await readState(wharf.database)).toEqual(before)
})

test('somebody who goes on reading is waited for no longer than others should wait behind', async () => {
  await withSession(wharf.database.url, async (reader) => {
    await reader.query('BEGIN; SELECT FROM "target.live".album')
    const before = await readState(wharf.database)
    const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=target' })
    expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('being read') })
    expect(await readState(wharf.database)).toEqual(before)
  })
})

test('such a stage is not imported together with others', async () => {
  await wharf.root.post('/projects', { json: { slug: 'both', stages: ['live', 'draft'] } })
  await applyScript(wharf, 'both', STRUCTURE)
  await applyScript(wharf, 'both', 'CREATE TABLE t (n integer)', 'draft')
  const both = await exportOf(wharf.root, 'both')
  const before = await readState(wharf.database)
  const refused = await sendArchive(wharf.root, both)
  expect(refused).toMatchObject({
    status: 409,
    text: expect.stringMatching(/stage \\"live\\" of project \\"both\\" .* alone/),
  })
  const withSystem = await exportOf(wharf.root, 'both', { system: true, stages: ['live'] })
  expect(await sendArchive(wharf.root, withSystem)).toMatchObject({ status: 409 })
  expect(await readState(wharf.database)).toEqual(before)
  const alone = await exportOf(wharf.root, 'both', { stages: ['live'] })
  expect(await sendArchive(wharf.root, alone)).toMatchObject({ status: 200 })
})

test('a view in another stage goes on with the rows that came', async () => {
  await wharf.root.post('/projects', { json: { slug: 'seen', stages: ['live', 'draft'] } })
  await applyScript(wharf, 'seen', 'CREATE TABLE t (n integer); INSERT INTO t VALUES (1)')
  const one = await exportOf(wharf.root, 'seen', { stages: ['live'] })
  await applyScript(wharf, 'seen', 'UPDATE t SET n = 2')
  await applyScript(wharf, 'seen', 'CREATE VIEW v AS SELECT * FROM "seen.live".t', 'draft')
  expect(await sendArchive(wharf.root, one)).toMatchObject({ status: 200 })
  expect(await wharf.database.query('SELECT n FROM "seen.draft".v')).toEqual([{ n: 1 }])
})

test('a foreign key of another stage is not left without its rows', async () => {
  await wharf.root.post('/projects', { json: { slug: 'held', stages: ['live', 'draft'] } })
  await applyScript(wharf, 'held', 'CREATE TABLE t (n integer PRIMARY KEY); INSERT INTO t VALUES (1)')
  const one = await exportOf(wharf.root, 'held', { stages: ['live'] })
  await applyScript(wharf, 'held', 'INSERT INTO t VALUES (2)')
  await applyScript(
    wharf,
    'held',
    'CREATE TABLE u (n integer CONSTRAINT "to live" REFERENCES "held.live".t); INSERT INTO u VALUES (2)',
    'draft',
  )
  const before = await readState(wharf.database)
  const answer = await sendArchive(wharf.root, one)
  expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('to live') })
  expect(await readState(wharf.database)).toEqual(before)

  await applyScript(wharf, 'held', 'UPDATE u SET n = 1', 'draft')
  const foreignKeys = () =>
    wharf.database.query(`SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'to live'`)
  const key = await foreignKeys()
  expect(key).toHaveLength(1)
  expect(await sendArchive(wharf.root, one)).toMatchObject({ status: 200 })
  expect(await foreignKeys()).toEqual(key)
})

test.each([
  [
    'an operator',
    'CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4eq)',
    '1 OPERATOR($.===) 1',
  ],
  ['a collation', `CREATE COLLATION own (provider = icu, locale = 'und')`, `'a' COLLATE $.own < 'b'`],
  [
    'a text search configuration',
    'CREATE TEXT SEARCH CONFIGURATION words (COPY = simple)',
    `to_tsvector('$.words', 'a')`,
  ],
])('%s that another stage uses is not swapped away', async (what, script, expression) => {
  const slug = what.replaceAll(' ', '-')
  const mode = async () =>
    sendArchive(wharf.root, await exportOf(wharf.root, slug, { stages: ['live'] }), { query: '?dryRun=true' })
  await wharf.root.post('/projects', { json: { slug, stages: ['live', 'draft'] } })
  await applyScript(wharf, slug, `CREATE TABLE t (n integer); ${script}`)
  expect(await mode()).toMatchObject({ json: { projects: [{ stages: [{ mode: 'swap' }] }] } })
  const view = `CREATE VIEW v AS SELECT ${expression.replace('$', `"${slug}.live"`)} AS used`
  expect(await applyScript(wharf, slug, view, 'draft')).toMatchObject({ status: 200 })
  expect(await mode()).toMatchObject({ json: { projects: [{ stages: [{ mode: 'in place' }] }] } })
})

test('a stage with a cast of its own is swapped', async () => {
  await createProject(
    wharf,
    'casting',
    `CREATE TYPE mood AS ENUM ('good'); CREATE FUNCTION f(mood) RETURNS integer LANGUAGE sql AS 'SELECT 1';
     CREATE CAST (mood AS integer) WITH FUNCTION f(mood); CREATE TABLE t (m mood)`,
  )
  const dry = await sendArchive(wharf.root, await exportOf(wharf.root, 'casting'), { query: '?dryRun=true' })
  expect(dry).toMatchObject({ json: { projects: [{ stages: [{ mode: 'swap' }] }] } })
})
