import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { eventually } from '../support/eventually.ts'
import { query, withSession } from '../support/servers/sessions.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const SCRIPT = `
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE TABLE artist (id int PRIMARY KEY, name text NOT NULL, mood mood DEFAULT 'glad');
CREATE TABLE album (id int PRIMARY KEY, title text, artist_id int REFERENCES artist);
CREATE UNLOGGED TABLE visit (id int);
CREATE VIEW titles AS SELECT title FROM album;
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.price (album_id int, price numeric);
CREATE VIEW prices AS SELECT title, price FROM album LEFT JOIN elsewhere.price ON album_id = album.id;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS albums FROM album;
CREATE UNIQUE INDEX ON counted (albums);
INSERT INTO artist VALUES (1, 'one'), (2, 'two');
CREATE FUNCTION artists() RETURNS SETOF artist STABLE LANGUAGE sql AS 'SELECT * FROM artist ORDER BY id';
CREATE FUNCTION twice(n int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT n * 2';
CREATE FUNCTION add_artist() RETURNS void LANGUAGE sql AS $$ INSERT INTO artist VALUES (99, 'added') $$;
INSERT INTO album VALUES (1, 'first', 1)`

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(SCRIPT)
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  const attach = {
    address: external.owner.href,
    stages: [
      { slug: 'live', schema: 'public', logEvents: true },
      { slug: 'other', schema: 'elsewhere' },
    ],
  }
  const made = await wharf.root.post('/projects', { json: { slug: 'shop', attach } })
  expect(made.status, made.text).toBe(201)
  expect(made.json).toMatchObject({
    stages: [
      { slug: 'live', logEvents: true },
      { slug: 'other', logEvents: false },
    ],
  })
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const asOwner = (sql: string) => external.run(sql)
const asSuperuser = (sql: string) => query(external.database.superuserUrl, sql)

async function read(path: string, reference = 'none') {
  const answer = await wharf.root.get(`/content/shop/live/${path}`, { headers: { 'x-service-ref': reference } })
  const { status, json, headers } = answer
  return {
    status,
    rows: status === 200 ? json : undefined,
    reference: headers['x-service-ref'] ?? '',
    cache: headers['x-cache'],
  }
}

/** Reads until the answer counts as known: until the log has been repaired. */
async function settled(path = 'album'): Promise<string> {
  for (const until = performance.now() + 15_000; performance.now() < until; await sleep(50)) {
    const { reference } = await read(path)
    if ((await read(path, reference)).status === 304) return reference
  }
  throw new Error(`${path} is never known`)
}

test('functions that only read are called, and none that may write', async () => {
  expect(await read('rpc/artists?select=id,album(title)&limit=1')).toMatchObject({
    status: 200,
    rows: [{ id: 1, album: [{ title: 'first' }] }],
    cache: 'miss',
  })
  expect(await read('rpc/twice?n=4')).toMatchObject({ status: 200, rows: 8 })
  const written = await wharf.root.post('/content/shop/live/rpc/add_artist')
  expect(written).toMatchObject({ status: 409, json: { type: 'urn:wharf:error:attached-project' } })
  expect((await read('artist?id=eq.99')).rows).toEqual([])
})

test('rows of an attached stage are known by their reference until another login writes', async () => {
  const url = new URL(external.owner)
  url.username = 'writer_of_album'
  await asSuperuser(`CREATE ROLE ${url.username} LOGIN PASSWORD '${external.password}'`)
  await asSuperuser(`GRANT USAGE ON SCHEMA public TO ${url.username}`)
  await asSuperuser(`GRANT INSERT ON album TO ${url.username}`)
  const before = await settled('album?order=id')
  await query(url.href, `INSERT INTO album VALUES (2, 'second', 2)`)
  const after = await read('album?order=id', before)
  expect(after).toMatchObject({ status: 200, rows: [{ id: 1 }, { id: 2, title: 'second' }], cache: 'miss' })
  expect(await read('album?order=id', after.reference)).toMatchObject({ status: 304 })
  expect(await read('album?order=id')).toMatchObject({ status: 200, cache: 'hit' })
  expect(await read('artist', before)).toMatchObject({ status: 200 })
  expect(await read('album?select=title,artist(name)&id=eq.2')).toMatchObject({
    rows: [{ title: 'second', artist: { name: 'two' } }],
  })
  await asSuperuser(`DROP OWNED BY ${url.username}`)
  await asSuperuser(`DROP ROLE ${url.username}`)
})

/** What may happen in a database that others own, and what a table shows afterwards. */
const BYPASSES: readonly {
  readonly what: string
  readonly by?: 'superuser'
  readonly sql: string
  readonly path?: string
  readonly shows: unknown
}[] = [
  {
    what: 'a statement',
    sql: `UPDATE artist SET name = 'uno' WHERE id = 1`,
    path: 'artist?id=eq.1',
    shows: [{ name: 'uno' }],
  },
  { what: 'TRUNCATE', sql: 'TRUNCATE visit', path: 'visit', shows: [] },
  {
    what: 'a replica session',
    by: 'superuser',
    sql: `SET session_replication_role = replica; INSERT INTO album VALUES (10, 'replica', 1)`,
    path: 'album?id=eq.10',
    shows: [{ title: 'replica' }],
  },
  {
    what: 'a new table',
    sql: 'CREATE TABLE added AS SELECT 1 AS id',
    path: 'added',
    shows: [{ id: 1 }],
  },
  {
    what: 'a dropped trigger',
    sql: `DROP TRIGGER wharf_log_update ON album; UPDATE album SET title = 'dropped' WHERE id = 1`,
    path: 'album?id=eq.1',
    shows: [{ title: 'dropped' }],
  },
  {
    what: 'a disabled trigger',
    sql: `ALTER TABLE album DISABLE TRIGGER USER; UPDATE album SET title = 'disabled' WHERE id = 1`,
    path: 'album?id=eq.1',
    shows: [{ title: 'disabled' }],
  },
  {
    what: 'a trigger that was disabled for a moment',
    sql: `BEGIN; ALTER TABLE album DISABLE TRIGGER wharf_log_update; UPDATE album SET title = 'between' WHERE id = 1;
      ALTER TABLE album ENABLE ALWAYS TRIGGER wharf_log_update; COMMIT`,
    path: 'album?id=eq.1',
    shows: [{ title: 'between' }],
  },
  {
    what: 'a trigger of the log itself',
    sql: `ALTER TABLE wharf_log.open_transaction DISABLE TRIGGER place_transaction; UPDATE album SET title = 'unplaced' WHERE id = 1;
      ALTER TABLE wharf_log.open_transaction ENABLE ALWAYS TRIGGER place_transaction`,
    path: 'album?id=eq.1',
    shows: [{ title: 'unplaced' }],
  },
  {
    what: 'ALTER TABLE that rewrites the rows',
    sql: `ALTER TABLE artist ALTER name TYPE text USING name || '!'`,
    path: 'artist?id=eq.1',
    shows: [{ name: 'uno!' }],
  },
  {
    what: 'a column more',
    sql: `ALTER TABLE album ADD year int DEFAULT 1999`,
    path: 'album?id=eq.1',
    shows: [{ year: 1999 }],
  },
  {
    what: 'a value of an enum with another name',
    sql: `ALTER TYPE mood RENAME VALUE 'glad' TO 'merry'`,
    path: 'artist?id=eq.1',
    shows: [{ mood: 'merry' }],
  },
  {
    what: 'a view that is another',
    sql: `CREATE OR REPLACE VIEW titles AS SELECT upper(title) AS title FROM album WHERE id = 1`,
    path: 'titles',
    shows: [{ title: 'UNPLACED' }],
  },
  {
    what: 'a table that takes the place of another',
    sql: `CREATE TABLE album_new (LIKE album INCLUDING ALL); INSERT INTO album_new VALUES (1, 'swapped', 1, 2000);
      ALTER TABLE album RENAME TO album_old; ALTER TABLE album_new RENAME TO album`,
    path: 'album',
    shows: [{ title: 'swapped', year: 2000 }],
  },
  {
    what: 'partitions',
    sql: `CREATE TABLE sale (day int, what text) PARTITION BY LIST (day); CREATE TABLE sale_1 PARTITION OF sale FOR VALUES IN (1);
      CREATE TABLE sale_2 (day int, what text); INSERT INTO sale_2 VALUES (2, 'attached');
      ALTER TABLE sale ATTACH PARTITION sale_2 FOR VALUES IN (2)`,
    path: 'sale',
    shows: [{ what: 'attached' }],
  },
  {
    what: 'a write to a partition',
    sql: `INSERT INTO sale_1 VALUES (1, 'by the partition')`,
    path: 'sale?day=eq.1',
    shows: [{ what: 'by the partition' }],
  },
  {
    what: 'a table that moves to another schema, and back',
    sql: `ALTER TABLE artist SET SCHEMA elsewhere; INSERT INTO elsewhere.artist VALUES (7, 'moved'); ALTER TABLE elsewhere.artist SET SCHEMA public`,
    path: 'artist?id=eq.7',
    shows: [{ name: 'moved' }],
  },
  {
    what: 'a crash, as it leaves UNLOGGED tables',
    sql: `INSERT INTO visit VALUES (5); BEGIN; ALTER TABLE visit DISABLE TRIGGER USER; DELETE FROM visit; DELETE FROM wharf_log.crash_check;
      ALTER TABLE visit ENABLE ALWAYS TRIGGER wharf_log_create, ENABLE ALWAYS TRIGGER wharf_log_update,
        ENABLE ALWAYS TRIGGER wharf_log_delete, ENABLE ALWAYS TRIGGER wharf_log_truncate; COMMIT`,
    path: 'visit',
    shows: [],
  },
]

test.each(BYPASSES)('$what is never answered with 304 or by what is kept, and is known again later', async (bypass) => {
  const { sql, path = 'album', shows } = bypass
  const there = path.split('?')[0] ?? ''
  const known = await settled(there === 'added' || (there === 'sale' && sql.includes('CREATE')) ? 'album' : path)
  await (bypass.by ? asSuperuser(sql) : asOwner(sql))
  expect(await read(path, known)).toMatchObject({ status: 200, rows: shows, cache: 'miss' })
  const later = await settled(path)
  expect(later).not.toBe(known)
  expect(await read(path)).toMatchObject({ status: 200, rows: shows })
})

test('what shows rows that the log does not see is read anew each time', async () => {
  await asOwner(`INSERT INTO elsewhere.price VALUES (1, 5)`)
  await settled()
  const prices = await read('prices?order=price')
  await asOwner('UPDATE elsewhere.price SET price = 6')
  expect(await read('prices?order=price', prices.reference)).toMatchObject({
    status: 200,
    rows: [{ price: 6 }, { price: null }, { price: null }],
  })
  const counted = await read('counted')
  await asOwner('REFRESH MATERIALIZED VIEW CONCURRENTLY counted')
  expect(await read('counted', counted.reference)).toMatchObject({ status: 200, rows: [{ albums: 3 }] })
})

test('partitions in other schemas, and those of tables there, keep a stage from being known', async () => {
  await settled()
  await asOwner(`CREATE TABLE elsewhere.stock (n int) PARTITION BY LIST (n);
    CREATE TABLE stock_1 PARTITION OF elsewhere.stock FOR VALUES IN (1)`)
  const before = await read('stock_1')
  await asOwner('INSERT INTO elsewhere.stock VALUES (1)')
  expect(await read('stock_1', before.reference)).toMatchObject({ status: 200, rows: [{ n: 1 }] })
  await asOwner('DROP TABLE elsewhere.stock')
  await settled()
})

test('no write that is acknowledged is followed by a 304 to a reference of before, however many write', async () => {
  await settled()
  const stale: unknown[] = []
  const writer = (id: number) =>
    withSession(external.owner.href, async (session) => {
      for (let turn = 0; turn < 15; turn += 1) {
        const { reference } = await read('album?id=eq.1')
        await session.query('UPDATE album SET year = year + 1 WHERE id = 1')
        const { status } = await read('album?id=eq.1', reference)
        if (status !== 200) stale.push({ id, turn, status })
      }
    })
  await Promise.all(Array.from({ length: 6 }, (_, id) => writer(id)))
  expect(stale).toEqual([])
  expect((await read('album?id=eq.1')).rows).toMatchObject([{ year: 2090 }])
})

test('a reference stays the same while the transactions that it follows from are added up', async () => {
  await asOwner(`DO $$ BEGIN FOR n IN 1..2500 LOOP UPDATE artist SET name = n WHERE id = 2; COMMIT; END LOOP; END $$`)
  const { reference } = await read('artist')
  const recent = () => query(external.owner.href, 'SELECT 1 FROM wharf_log.recent LIMIT 1')
  await eventually(recent).toEqual([])
  expect(await read('artist', reference)).toMatchObject({ status: 304 })
  await asOwner(`UPDATE artist SET name = 'last' WHERE id = 2`)
  expect(await read('artist?id=eq.2', reference)).toMatchObject({ status: 200, rows: [{ name: 'last' }] })
})

test('a table of another login is named as what keeps the stage from being known', async () => {
  await asSuperuser('CREATE TABLE strange (id int)')
  const before = await read('album')
  expect(await read('album', before.reference)).toMatchObject({ status: 200 })
  const { json } = await wharf.root.get('/projects/shop/attachment')
  expect(json).toMatchObject({
    stages: [{ logProblems: ['table "strange" lacks triggers of the log, or has them changed'] }, {}],
  })
  await asSuperuser('DROP TABLE strange')
  await settled()
})

test('of a table whose policies hold for its owner, no part is read, and the answer says what helps', async () => {
  await asOwner(`CREATE TABLE guarded (id int); CREATE VIEW "behind it" AS SELECT id FROM guarded; INSERT INTO guarded VALUES (1);
    ALTER TABLE guarded ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; ANALYZE guarded`)
  const remedy = 'ALTER TABLE "guarded" NO FORCE ROW LEVEL SECURITY'
  for (const path of ['guarded', 'behind%20it']) {
    const answer = await wharf.root.get(`/content/shop/live/${path}`)
    expect(answer.json, path).toMatchObject({
      status: 409,
      type: 'urn:wharf:error:conflict',
      code: '42501',
      detail: expect.stringContaining(remedy),
    })
  }
  const overview = await wharf.root.get('/content/shop/live')
  expect(overview.status, overview.text).toBe(200)
  const guarded = expect.objectContaining({ name: 'guarded', rows: { count: 1, exact: false } })
  expect(overview.json).toMatchObject({ tables: expect.arrayContaining([guarded]) })
  await asOwner(`ALTER TABLE guarded NO FORCE ROW LEVEL SECURITY`)
  expect(await read('guarded')).toMatchObject({ status: 200, rows: [{ id: 1 }] })
  await asSuperuser('DROP TABLE guarded CASCADE')
  await settled()
})

test('a right that the login, or the owner of a view, has lost is named', async () => {
  await asSuperuser(`CREATE ROLE view_owner; GRANT USAGE ON SCHEMA public TO view_owner;
    CREATE TABLE theirs (id int); CREATE VIEW "their view" AS SELECT id FROM theirs;
    CREATE FUNCTION doubled(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * 2; END';
    CREATE VIEW calls AS SELECT doubled(1) AS two; ALTER VIEW "their view" OWNER TO view_owner;
    GRANT SELECT ON theirs TO ${external.owner.username}, view_owner; GRANT SELECT ON "their view", calls TO ${external.owner.username}`)
  const denied = [
    ['theirs', `REVOKE SELECT ON theirs FROM ${external.owner.username}`, /permission denied for table theirs.*GRANT/],
    ['their%20view', 'REVOKE SELECT ON theirs FROM view_owner', /permission denied for table theirs.*GRANT/],
    ['calls', 'REVOKE EXECUTE ON FUNCTION doubled FROM PUBLIC', /permission denied for function doubled.*GRANT/],
  ] as const
  try {
    for (const [path, revoke, detail] of denied) {
      expect((await read(path)).status, path).toBe(200)
      await asSuperuser(revoke)
      const { json } = await wharf.root.get(`/content/shop/live/${path}`)
      expect(json, path).toMatchObject({ status: 409, code: '42501', detail: expect.stringMatching(detail) })
    }
  } finally {
    await asSuperuser(
      'DROP TABLE theirs CASCADE; DROP FUNCTION doubled CASCADE; DROP OWNED BY view_owner; DROP ROLE view_owner',
    )
  }
  await settled()
})

test('without a log, and without its schema, the answer names the command that makes it', async () => {
  const other = await wharf.root.get('/content/shop/other/price')
  expect(other).toMatchObject({
    status: 409,
    json: { code: 'ATTACHED_PROJECT', detail: expect.stringContaining('WHARF_PROJECT=shop wharf stage:log other (or') },
  })
  await asOwner('DROP SCHEMA wharf_log CASCADE')
  const gone = await wharf.root.get('/content/shop/live/album')
  expect(gone).toMatchObject({
    status: 409,
    json: { detail: expect.stringContaining('WHARF_PROJECT=shop wharf stage:log live (or') },
  })
  const again = await wharf.root.patch('/projects/shop/stages/live', { json: { logEvents: true } })
  expect(again, again.text).toMatchObject({ status: 200, json: { slug: 'live', logEvents: true } })
  await settled()
})
