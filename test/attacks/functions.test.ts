import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ApiClient } from '../support/http/api-client.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * Functions that are called over HTTP to get further than a token's rights reach, to stay in a session, or to make an
 * answer look like what it is not.
 */

let wharf: TestWharf
let reader: ApiClient
let writer: ApiClient

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'shop',
    `CREATE TABLE item (n int PRIMARY KEY);
     CREATE SEQUENCE numbers;
     CREATE FUNCTION writes() RETURNS int VOLATILE LANGUAGE sql AS 'INSERT INTO item VALUES (1) RETURNING n';
     CREATE FUNCTION defined() RETURNS int STABLE SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN RETURN writes(); END $$;
     CREATE FUNCTION opened() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN run('SET TRANSACTION READ WRITE'); END $$;
     CREATE FUNCTION allowed() RETURNS int STABLE LANGUAGE plpgsql
       AS $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); RETURN writes(); END $$;
     CREATE FUNCTION committed() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN run('COMMIT'); END $$;
     CREATE FUNCTION numbered() RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN nextval('numbers'); END $$;
     CREATE FUNCTION made() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN run('CREATE TABLE made ()'); END $$;
     CREATE FUNCTION run(sql text) RETURNS int VOLATILE LANGUAGE plpgsql
       AS $$ BEGIN EXECUTE sql; INSERT INTO item VALUES (1); RETURN 1; END $$;
     CREATE VIEW through AS SELECT writes() AS n;
     CREATE FUNCTION viewed() RETURNS SETOF through STABLE LANGUAGE sql AS 'SELECT * FROM through';

     CREATE FUNCTION stays() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN
       PERFORM prepared();
       PERFORM set_config('search_path', 'nowhere', false), set_config('statement_timeout', '0', false),
               set_config('stays.here', 'yes', false), pg_advisory_lock_shared(99);
       RETURN 1; END $$;
     CREATE FUNCTION prepared() RETURNS int VOLATILE LANGUAGE plpgsql
       AS $$ BEGIN EXECUTE 'PREPARE left_behind AS SELECT 1'; RETURN 1; END $$;
     CREATE FUNCTION found() RETURNS json STABLE LANGUAGE sql AS $$
       SELECT json_build_object('path', current_setting('search_path') LIKE '%nowhere%', 'limit', current_setting('statement_timeout'),
         'setting', current_setting('stays.here', true), 'prepared', (SELECT count(*) FROM pg_prepared_statements WHERE name = 'left_behind'),
         'locks', (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 99)) $$;

     CREATE FUNCTION asked() RETURNS text STABLE LANGUAGE sql AS $$
       SELECT concat(current_setting('request.headers', true), current_setting('request.jwt.claims', true), current_setting('wharf.token_id', true)) $$;
     CREATE FUNCTION answers() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN
       PERFORM set_config('response.status', '503', true), set_config('response.headers', '[{"Set-Cookie": "a=b"}]', true);
       RETURN 1; END $$;

     CREATE FUNCTION "a""b); --"("x"" => 1); --" int, OUT "c""d" int) STABLE LANGUAGE sql AS 'SELECT $1';
     CREATE TABLE given (id int PRIMARY KEY, owner text);
     INSERT INTO given VALUES (1, 'Ada');
     CREATE FUNCTION given() RETURNS TABLE (id int, item_n int) STABLE LANGUAGE sql AS 'VALUES (1, 1)'`,
  )
  for (const [name, content] of [
    ['reader', { read: true }],
    ['writer', { write: true }],
  ] as const) {
    await wharf.root.put(`/projects/shop/roles/${name}`, { json: { content } })
  }
  reader = await wharf.member('shop', 'reader')
  writer = await wharf.member('shop', 'writer')
})
afterAll(() => wharf.close())
beforeEach(async () => {
  expect((await wharf.root.delete('/content/shop/live/item?n=gte.0')).status).toBe(204)
})

const rpc = (call: string): string => `/content/shop/live/rpc/${call}`

const items = async () => (await wharf.root.get('/content/shop/live/item')).json

test.for(['defined', 'opened', 'allowed', 'committed', 'numbered', 'made', 'viewed'])(
  'who may read does not write through a function that says it only reads: %s',
  async (name) => {
    for (const answer of [await reader.get(rpc(name)), await reader.post(rpc(name))]) {
      expect([400, 405]).toContain(answer.status)
    }
    expect(await items()).toEqual([])
    expect((await wharf.root.get('/content/shop/live/made')).status).toBe(404)
  },
)

test('who may read calls nothing that may write, and who may only write none that shows rows', async () => {
  expect(await reader.post(rpc('writes'))).toMatchObject({
    status: 403,
    json: { detail: expect.stringContaining('content.write') },
  })
  expect(await reader.post(rpc('run'), { json: { sql: 'SELECT 1' } })).toMatchObject({ status: 403 })
  for (const answer of [await writer.post(rpc('writes')), await writer.get(rpc('found'))]) {
    expect(answer).toMatchObject({ status: 403, json: { detail: expect.stringContaining('content.read') } })
  }
  expect(await items()).toEqual([])
})

test('nobody calls what a role named public does not allow', async () => {
  const nobody = wharf.root.withToken(undefined)
  expect(await nobody.get(rpc('found'))).toMatchObject({ status: 401 })
  await wharf.root.put('/projects/shop/roles/public', { json: { content: { read: true } } })
  expect(await nobody.get(rpc('found'))).toMatchObject({ status: 200 })
  expect(await nobody.post(rpc('writes'))).toMatchObject({ status: 403 })
  await wharf.root.delete('/projects/shop/roles/public')
  expect(await items()).toEqual([])
})

test('a right that was taken away ends with the next call, and never gets an answer that is kept', async () => {
  await wharf.root.put('/projects/shop/roles/fleeting', { json: { content: { read: true } } })
  const fleeting = await wharf.member('shop', 'fleeting')
  const first = await fleeting.get(rpc('found'))
  await wharf.root.put('/projects/shop/roles/fleeting', { json: {} })
  const headers = { 'x-service-ref': first.headers['x-service-ref'] ?? '' }
  expect(await fleeting.get(rpc('found'), { headers })).toMatchObject({ status: 403 })
})

test('nothing that a function sets, prepares or locks stays in its session', async () => {
  for (let turn = 0; turn < 5; turn += 1) {
    expect(await Promise.all([1, 2, 3, 4].map(async () => (await reader.get(rpc('stays'))).status))).toEqual([
      200, 200, 200, 200,
    ])
    for (const { json } of await Promise.all([1, 2, 3, 4].map(() => reader.get(rpc('found'))))) {
      expect(json).toMatchObject({ path: false, limit: '10s', prepared: 0 })
      expect(['', null]).toContain((json as { setting: unknown }).setting)
    }
  }
})

test('a function learns no token, and sets neither status nor header', async () => {
  expect((await reader.get(rpc('asked'))).json).toBe('')
  const answer = await reader.get(rpc('answers'))
  expect(answer).toMatchObject({ status: 200, json: 1 })
  expect(answer.headers).not.toHaveProperty('set-cookie')
})

test('names of functions, arguments and columns are names, whatever they have in them', async () => {
  const name = encodeURIComponent('a"b); --')
  const argument = encodeURIComponent('x" => 1); --')
  expect((await reader.get(rpc(`${name}?${argument}=5`))).json).toEqual({ 'c"d': 5 })
  expect((await reader.post(rpc(name), { json: { 'x" => 1); --': 5 } })).json).toEqual({ 'c"d': 5 })
  for (const unknown of ['pg_catalog.now', '"shop.live"."found"', 'found()', 'pg_read_file', 'set_config']) {
    expect((await reader.get(rpc(encodeURIComponent(unknown)))).status, unknown).toBe(404)
  }
})

test('a function that has the name of a table shows no column of that table', async () => {
  expect((await reader.get(rpc('given'))).json).toEqual([{ id: 1, item_n: 1 }])
  expect((await reader.get(rpc('given?select=owner'))).status).toBe(400)
})
