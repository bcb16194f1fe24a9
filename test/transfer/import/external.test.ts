import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { eventually } from '../../support/eventually.ts'
import type { ApiAnswer } from '../../support/http/api-client.ts'
import { openSession, query } from '../../support/servers/sessions.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Two schemas of an application: `public`, which stays whosever it is, and one of the login's own. */
const SHOP = `
  CREATE TYPE size AS ENUM ('small', 'large');
  CREATE DOMAIN price AS numeric(8, 2) CHECK (VALUE >= 0);
  CREATE TYPE place AS (street text, city text);
  CREATE SEQUENCE ticket START 100;
  CREATE TABLE customer (id serial PRIMARY KEY, name text NOT NULL UNIQUE, at place);
  CREATE TABLE item (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, size size, price price);
  CREATE TABLE sale (id bigint, customer_id int REFERENCES customer, at date, ticket bigint DEFAULT nextval('ticket'))
    PARTITION BY RANGE (at);
  CREATE TABLE sale_2026 PARTITION OF sale FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
  CREATE TABLE sale_rest PARTITION OF sale DEFAULT;
  CREATE FUNCTION half(price) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 2';
  CREATE INDEX ON item (half(price));
  CREATE VIEW big AS SELECT id, half(price) FROM item WHERE size = 'large';
  CREATE MATERIALIZED VIEW total AS SELECT count(*) FROM customer;
  CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql SET search_path = public
    AS 'BEGIN NEW.name := trim(NEW.name); RETURN NEW; END';
  CREATE TRIGGER stamped BEFORE INSERT ON customer FOR EACH ROW EXECUTE FUNCTION stamp();
  CREATE STATISTICS apart ON size, price FROM item;
  COMMENT ON TABLE item IS 'what is sold';
  INSERT INTO customer (name, at) SELECT 'c' || n, '(s,c)'::place FROM generate_series(1, 40) n;
  INSERT INTO item (size, price) SELECT 'large', n FROM generate_series(1, 30) n;
  INSERT INTO sale SELECT n, 1 + n % 40, date '2025-12-20' + n FROM generate_series(1, 50) n;
  REFRESH MATERIALIZED VIEW total;
  CREATE SCHEMA own;
  CREATE TABLE own.note (id int PRIMARY KEY, text text);
  INSERT INTO own.note VALUES (1, 'one'), (2, 'two')`

const STAGES = [
  { slug: 'live', schema: 'public' },
  { slug: 'notes', schema: 'own' },
]

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(SHOP)
  await query(external.database.superuserUrl, 'CREATE EXTENSION pg_trgm; CREATE EXTENSION citext')
  const reader = external.reader.username
  await external.run(`ALTER TABLE customer ADD nick citext; CREATE INDEX trgm ON customer USING gin (name gin_trgm_ops);
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${reader}; GRANT USAGE ON SCHEMA own TO ${reader};
    GRANT SELECT ON own.note TO ${reader}; GRANT UPDATE (price) ON item TO ${reader};
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO ${reader}`)
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  const made = await attach('shop', external.owner)
  expect(made.status, made.text).toBe(201)
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const attach = (slug: string, address: URL): Promise<ApiAnswer> =>
  wharf.root.post('/projects', { json: { slug, attach: { address: address.href, stages: STAGES } } })

const importInto = (archive: string, slug: string, more = ''): Promise<ApiAnswer> =>
  sendArchive(wharf.root, archive, { query: `?targetSlug=${slug}${more}` })

const asOwner = <Row extends object>(sql: string): Promise<Row[]> => query(external.owner.href, sql) as Promise<Row[]>

/** Structure and rights, as exports see them. */
const contents = async (slug = 'shop'): Promise<readonly string[]> =>
  comparableLines(await exportOf(wharf.root, slug, { grants: true }))

const schemas = async (): Promise<readonly string[]> =>
  (await asOwner<{ nspname: string }>(`SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY 1`)).map(
    ({ nspname }) => nspname,
  )

const owners = () =>
  asOwner(`SELECT n.nspname, relname, relkind, relowner::regrole::text, relacl::text FROM pg_class c JOIN pg_namespace n
           ON n.oid = relnamespace WHERE nspname IN ('public', 'own') ORDER BY 1, 2`)

test('an archive goes over attached stages, with their extensions, rights and owners left as they were', async () => {
  const archive = await exportOf(wharf.root, 'shop')
  const [before, ownersBefore] = [await contents(), await owners()]
  await asOwner(`INSERT INTO customer (name) VALUES ('later'); DELETE FROM own.note; UPDATE item SET price = 0`)
  const answer = await importInto(archive, 'shop')
  expect(answer, answer.text).toMatchObject({
    status: 200,
    json: {
      projects: [
        {
          stages: [
            { slug: 'live', undoable: true },
            { slug: 'notes', undoable: true },
          ],
        },
      ],
    },
  })
  expect(await contents()).toEqual(before)
  expect(await owners()).toEqual(ownersBefore)
})

test('what an import replaced comes back by force alone, and goes again', async () => {
  const archive = await exportOf(wharf.root, 'shop')
  await asOwner(`INSERT INTO customer (name) VALUES ('kept'); INSERT INTO own.note VALUES (3, 'kept')`)
  const before = await contents()
  expect((await importInto(archive, 'shop')).status).toBe(200)
  const after = await contents()
  for (const [expected, stage] of [
    [409, 'live'],
    [409, 'notes'],
  ] as const) {
    const answer = await wharf.root.post(`/projects/shop/stages/${stage}/undo`)
    expect(answer).toMatchObject({ status: expected, json: { type: 'urn:wharf:error:written-since' } })
  }
  const undo = async (): Promise<void> => {
    for (const stage of ['live', 'notes']) {
      const answer = await wharf.root.post(`/projects/shop/stages/${stage}/undo?force=true`)
      expect(answer.status, answer.text).toBe(200)
    }
  }
  await undo()
  expect(await contents()).toEqual(before)
  await undo()
  expect(await contents()).toEqual(after)
})

test('a dry run says how, and changes nothing', async () => {
  const archive = await exportOf(wharf.root, 'shop')
  const [before, there] = [await contents(), await schemas()]
  expect(await importInto(archive, 'shop', '&dryRun=true')).toMatchObject({
    status: 200,
    json: { projects: [{ stages: [{ mode: 'swap' }, { mode: 'swap' }] }] },
  })
  expect(await contents()).toEqual(before)
  expect(await schemas()).toEqual(there)
})

test('a login that may only read is told so, and nothing changes', async () => {
  const archive = await exportOf(wharf.root, 'shop')
  const before = await contents()
  const change = (address: URL) =>
    wharf.root.request('PUT', '/projects/shop/attachment', { json: { address: address.href } })
  expect((await change(external.reader)).status).toBe(200)
  const answer = await importInto(archive, 'shop')
  expect((await change(external.owner)).status).toBe(200)
  expect(answer).toMatchObject({ status: 409, json: { detail: expect.stringMatching(/customer|item|note/) } })
  expect(await contents()).toEqual(before)
})

test('an archive with range types goes into a public that is empty, and over it', async () => {
  const ranges = `CREATE FUNCTION apart(float8, float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT $1 - $2';
    CREATE TYPE span AS RANGE (subtype = float8, subtype_diff = apart, multirange_type_name = spans);
    CREATE TABLE offer (id serial PRIMARY KEY, span span DEFAULT span(1, 2), spans spans);
    INSERT INTO offer (span, spans) VALUES ('[2,3)', '{[1,2),[4,5)}')`
  await createProject(wharf, 'ranges', ranges)
  const archive = await exportOf(wharf.root, 'ranges', { system: false })
  const empty = await createExternalDatabase('SELECT 1')
  await query(empty.database.superuserUrl, 'CREATE EXTENSION citext')
  try {
    const attach = { address: empty.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
    expect((await wharf.root.post('/projects', { json: { slug: 'empty', attach } })).status).toBe(201)
    const lines = (text: string): readonly string[] =>
      comparableLines(text).filter((line) => !/^\{"(stage|extension)":/.test(line))
    for (const over of ['nothing', 'itself']) {
      const answer = await importInto(archive, 'empty')
      expect(answer.status, `over ${over}: ${answer.text}`).toBe(200)
      expect(lines(await exportOf(wharf.root, 'empty', { system: false }))).toEqual(lines(archive))
    }
    expect((await wharf.root.delete('/projects/empty/attachment')).status).toBe(204)
  } finally {
    await empty.drop()
  }
})

test('where something outside depends on a stage, it is loaded where it is, and told so before', async () => {
  await asOwner(`CREATE VIEW own.of_customers AS SELECT id, name FROM public.customer`)
  try {
    const archive = await exportOf(wharf.root, 'shop', { stages: ['live'] })
    const [before, oids] = [await contents(), await asOwner(`SELECT 'customer'::regclass::oid`)]
    await asOwner(`INSERT INTO customer (name) VALUES ('later')`)
    expect(await importInto(archive, 'shop', '&dryRun=true')).toMatchObject({
      json: {
        projects: [
          { stages: [{ mode: 'in place', undoable: false, reasonsInPlace: [expect.stringMatching(/of_customers/)] }] },
        ],
      },
    })
    const answer = await importInto(archive, 'shop')
    expect(answer.status, answer.text).toBe(200)
    expect(await contents()).toEqual(before)
    expect(await asOwner(`SELECT 'customer'::regclass::oid`)).toEqual(oids)
  } finally {
    await asOwner('DROP VIEW own.of_customers')
  }
})

test('an archive that does not fit changes nothing, and leaves nothing', async () => {
  const archive = await exportOf(wharf.root, 'shop')
  await asOwner('ALTER TABLE own.note ADD extra int')
  const [before, there] = [await contents(), await schemas()]
  expect(await importInto(archive, 'shop')).toMatchObject({
    status: 409,
    json: { detail: expect.stringMatching(/extra/) },
  })
  await asOwner('ALTER TABLE own.note DROP extra')
  const broken = archive.replace('"one"', '"on"')
  expect(broken).not.toBe(archive)
  expect((await importInto(broken, 'shop')).status).toBe(400)
  expect(await schemas()).toEqual(there)
  expect((await contents()).length).toBe(before.length)
})

test('an import waits for those who read, and ends where one of them changes the structure', async () => {
  const archive = await exportOf(wharf.root, 'shop', { stages: ['notes'] })
  const session = await openSession(external.owner.href)
  await session.query('BEGIN; SELECT FROM own.note')
  const importing = importInto(archive, 'shop')
  await eventually(() => schemas()).toContainEqual(expect.stringMatching(/^wharf_new_/))
  await session.query('ALTER TABLE own.note ADD extra int; COMMIT')
  expect(await importing).toMatchObject({ status: 409, json: { detail: expect.stringMatching(/structure of "own"/) } })
  await session.query('ALTER TABLE own.note DROP extra')
  await session.end()
  await eventually(() => schemas()).not.toContainEqual(expect.stringMatching(/^wharf_new_/))
})

test('an archive of projects in several databases says of each as of which moment it is', async () => {
  await createProject(wharf, 'hosted', 'CREATE TABLE own (n int); INSERT INTO own VALUES (7)')
  const projects = [{ slug: 'hosted' }, { slug: 'shop' }]
  const answer = await wharf.root.post('/export', { json: { projects } })
  expect(answer.status, answer.text).toBe(200)
  const lines = answer.text.split('\n').filter((line) => /^\{"(archive|project)":/.test(line))
  const [archive, ...moments] = lines.map((line) => Object.values(JSON.parse(line))[0] as { snapshotAt: string })
  expect(moments).toMatchObject([
    { slug: 'hosted', snapshotAt: expect.any(String) },
    { slug: 'shop', snapshotAt: expect.any(String) },
  ])
  expect(archive?.snapshotAt).toBe(moments.map(({ snapshotAt }) => snapshotAt).toSorted()[0])
  // Two databases do not commit as one.
  expect(await sendArchive(wharf.root, answer.text)).toMatchObject({
    status: 409,
    json: { detail: expect.stringMatching(/archive of one project/) },
  })
})

test('after it is detached, nothing of imports is left in the database', async () => {
  const kept = (await schemas()).filter((name) => name.startsWith('wharf_old_'))
  expect(kept.length).toBeGreaterThan(0)
  // What somebody has made from it meanwhile is not dropped with it.
  await asOwner(`CREATE SCHEMA other; CREATE VIEW other.of_kept AS SELECT * FROM ${kept[0]}.note`)
  const refused = await wharf.root.delete('/projects/shop/attachment')
  expect(refused).toMatchObject({ status: 409, json: { detail: expect.stringMatching(/view other.of_kept/) } })
  await asOwner('DROP SCHEMA other CASCADE')
  const answer = await wharf.root.delete('/projects/shop/attachment')
  expect(answer.status, answer.text).toBe(204)
  expect(await schemas()).toEqual(['information_schema', 'own', 'public'])
})
