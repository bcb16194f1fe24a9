import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { latestEvent } from '../support/content/content.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'stock',
    `CREATE TABLE tool (id integer PRIMARY KEY, name text DEFAULT 'unnamed', price numeric, bought timestamptz);
     CREATE TABLE part (a integer, b text, note text, PRIMARY KEY (a, b)) PARTITION BY LIST (a);
     CREATE TABLE part_rest PARTITION OF part DEFAULT;
     CREATE TABLE keyless (word text, data jsonb);
     CREATE TABLE pair (left_id integer UNIQUE DEFERRABLE INITIALLY DEFERRED, name text);
     CREATE VIEW cheap AS SELECT id, name, price FROM tool WHERE price < 10;
     CREATE VIEW counted AS SELECT name, count(*) FROM tool GROUP BY name;
     CREATE VIEW shouted AS SELECT id, upper(name) AS name FROM tool;
     CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF TG_OP = 'DELETE' THEN DELETE FROM tool WHERE id = OLD.id; RETURN OLD; END IF;
         IF TG_OP = 'UPDATE' THEN UPDATE tool SET name = NEW.name WHERE id = OLD.id; RETURN NEW; END IF;
         INSERT INTO tool (id, name) VALUES (NEW.id, NEW.name); RETURN NEW;
       END $$;
     CREATE TRIGGER shout INSTEAD OF INSERT OR UPDATE OR DELETE ON shouted FOR EACH ROW EXECUTE FUNCTION shout();
     CREATE VIEW nowhere AS SELECT 1 AS id;
     CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
     CREATE TRIGGER swallow INSTEAD OF INSERT ON nowhere FOR EACH ROW EXECUTE FUNCTION swallow();
     CREATE VIEW kit AS SELECT part.a, part.b, tool.id FROM tool, part;
     CREATE TRIGGER swallow INSTEAD OF INSERT ON kit FOR EACH ROW EXECUTE FUNCTION swallow();
     CREATE FUNCTION drop_tools(first integer) RETURNS SETOF tool LANGUAGE sql AS
       'DELETE FROM tool WHERE id >= first RETURNING *';
     CREATE FUNCTION drop_all() RETURNS void LANGUAGE sql AS 'DELETE FROM tool';
     CREATE FUNCTION noon() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT timestamptz '2024-07-01 12:00Z' $$;
     INSERT INTO tool VALUES (1, 'saw', 12.50, '2024-07-01 12:00Z'), (2, 'file', 3, NULL), (3, 'awl', 4, NULL);`,
  )
})
afterAll(() => wharf.close())

const at = (path: string): string => `/content/stock/live/${path}`
const rows = async (path: string): Promise<unknown> => (await wharf.root.get(at(path))).json
const prefer = (value: string) => ({ headers: { prefer: value } })
const SHOW = 'return=representation'

/** Does something that must change nothing, and be no event. */
async function unchanged<T>(ask: () => Promise<T>): Promise<T> {
  const tables = ['tool?order=id', 'part', 'keyless', 'pair']
  const before = await Promise.all([...tables.map(rows), latestEvent(wharf, 'stock')])
  const answer = await ask()
  expect(await Promise.all([...tables.map(rows), latestEvent(wharf, 'stock')])).toEqual(before)
  return answer
}

test.each([
  ['GET', 'tool?nope=eq.1', undefined, {}, '42703'],
  ['GET', 'tool?id=what.1', undefined, {}, 'PGRST100'],
  ['GET', 'tool?select=id,nope(id)', undefined, {}, 'PGRST200'],
  ['GET', 'nothing', undefined, {}, 'PGRST205'],
  ['GET', 'tool', undefined, { accept: 'audio/ogg' }, 'PGRST107'],
  ['GET', 'tool', undefined, { prefer: 'handling=strict, luck' }, 'PGRST122'],
  ['GET', 'tool', undefined, { 'accept-profile': 'elsewhere' }, 'PGRST106'],
  ['POST', 'tool?columns=nope', { id: 5 }, {}, 'PGRST204'],
  ['POST', 'tool', { id: 5, nope: 1 }, {}, 'PGRST204'],
  ['POST', 'tool', [{ id: 5 }, { name: 'axe' }], {}, 'PGRST102'],
  ['PUT', 'tool?name=eq.saw', { id: 1 }, {}, 'PGRST105'],
  ['PUT', 'tool?id=eq.9&limit=1', { id: 9 }, {}, 'PGRST114'],
  ['PUT', 'tool?id=eq.9', { id: 8 }, {}, 'PGRST115'],
  ['DELETE', 'tool?id=gt.0', undefined, { prefer: 'max-affected=1' }, 'PGRST124'],
  ['POST', 'rpc/drop_all', {}, { prefer: 'max-affected=1' }, 'PGRST128'],
] as const)('%s %s %j %j fails with the code that clients know: %s', async (method, path, json, headers, code) => {
  const ask = () => wharf.root.request(method, at(path), { headers, ...(json !== undefined && { json }) })
  expect(await unchanged(ask)).toMatchObject({ json: { code } })
})

test('the address of a row of a view has the columns of its keys as the view has them', async () => {
  const { headers } = await wharf.root.post(at('kit'), {
    json: { id: 1, b: 'lid', a: 2 },
    ...prefer('return=headers-only'),
  })
  expect(headers).toMatchObject({ location: at('kit?a=eq.2&b=eq.lid&id=eq.1') })
})

describe('preferences', () => {
  test('a write that is rolled back is answered as if it were not, changes nothing and is no event', async () => {
    const { headers, ...shown } = await unchanged(() =>
      wharf.root.post(at('tool?select=id'), { json: { id: 9 }, ...prefer(`tx=rollback, ${SHOW}`) }),
    )
    expect(shown).toMatchObject({ status: 201, json: [{ id: 9 }] })
    expect(headers).toMatchObject({ 'preference-applied': `${SHOW}, tx=rollback` })
    expect(headers).not.toHaveProperty('x-service-ref')
    await unchanged(() => wharf.root.delete(at('tool?id=gt.0'), prefer('tx=rollback')))
    await unchanged(() => wharf.root.patch(at('tool?id=gt.0'), { json: { name: 'x' }, ...prefer('tx=rollback') }))
    await unchanged(() => wharf.root.put(at('tool?id=eq.1'), { json: { id: 1 }, ...prefer('tx=rollback') }))
  })

  test('a write that is rolled back is refused for what only the end of a transaction would show', async () => {
    const json = [{ left_id: 1 }, { left_id: 1 }]
    const refused = await unchanged(() => wharf.root.post(at('pair'), { json, ...prefer('tx=rollback') }))
    expect(refused).toMatchObject({ status: 409, json: { code: '23505' } })
  })

  test('a connection that rolled back can be used again, and keeps no lock', async () => {
    const asked = Array.from({ length: 12 }, () =>
      wharf.root.patch(at('tool?id=eq.1'), { json: { name: 'saw' }, ...prefer('tx=rollback, timezone=Asia/Tokyo') }),
    )
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([204]))
    expect((await wharf.root.patch(at('tool?id=eq.1'), { json: { name: 'saw' } })).status).toBe(204)
    const read = await rows('tool?id=eq.1&select=bought')
    expect(read).toEqual([{ bought: expect.stringMatching(/\+00:00$/) }])
  })

  test.each(['max-affected=2', 'handling=strict, max-affected=2'])(
    'no more rows are written than may be: %s',
    async (preference) => {
      for (const ask of [
        () => wharf.root.delete(at('tool?id=gt.0'), prefer(preference)),
        () => wharf.root.patch(at('tool?id=gt.0'), { json: { price: 0 }, ...prefer(preference) }),
        () => wharf.root.post(at('tool'), { json: [7, 8, 9].map((id) => ({ id })), ...prefer(preference) }),
      ]) {
        expect(await unchanged(ask)).toMatchObject({
          status: 400,
          json: { detail: '3 rows would be written, and at most 2 may be (max-affected); nothing was changed' },
        })
      }
      const few = await wharf.root.patch(at('tool?id=lte.2'), {
        json: { name: 'same' },
        ...prefer(`${preference}, tx=rollback`),
      })
      expect(few.status).toBe(204)
      expect(few.headers['preference-applied']).toContain('max-affected=2')
    },
  )

  test('with handling=lenient, max-affected guards nothing, as PostgREST has it', async () => {
    const answer = await wharf.root.delete(at('tool?id=gt.0'), prefer('handling=lenient, max-affected=1, tx=rollback'))
    expect(answer).toMatchObject({ status: 204, headers: { 'preference-applied': 'tx=rollback, handling=lenient' } })
  })

  test('times are shown and read in the zone that is asked for, and each zone has an answer of its own', async () => {
    const path = at('tool?id=eq.1&select=bought')
    const inZone = async (zone: string) => (await wharf.root.get(path, prefer(`timezone=${zone}`))).json
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await inZone('America/New_York')).toEqual([{ bought: '2024-07-01T08:00:00-04:00' }])
      expect(await inZone('Asia/Tokyo')).toEqual([{ bought: '2024-07-01T21:00:00+09:00' }])
    }
    const read = await wharf.root.get(
      at('tool?bought=eq.2024-07-01 08:00&select=id'),
      prefer('timezone=America/New_York'),
    )
    expect(read).toMatchObject({ json: [{ id: 1 }], headers: { 'preference-applied': 'timezone=America/New_York' } })
    const written = await wharf.root.patch(at('tool?id=eq.2&select=bought'), {
      json: { bought: '2024-07-01 08:00' },
      ...prefer(`timezone=America/New_York, tx=rollback, ${SHOW}`),
    })
    expect(written.json).toEqual([{ bought: '2024-07-01T08:00:00-04:00' }])
  })

  test.each(['Not/A/Zone', '+05:00', "UTC'; DROP TABLE tool; --"])(
    'what names no zone is passed over, and refused with handling=strict: %s',
    async (zone) => {
      const path = at('tool?id=eq.1&select=bought')
      const plain = await wharf.root.get(path)
      const passedOver = await wharf.root.get(path, prefer(`timezone=${zone}`))
      expect(passedOver).toMatchObject({ status: 200, json: plain.json })
      expect(passedOver.headers).not.toHaveProperty('preference-applied')
      const refused = await wharf.root.get(path, prefer(`handling=strict, timezone=${zone}`))
      expect(refused).toMatchObject({ status: 400, json: { code: 'PGRST122' } })
    },
  )

  test('an answer names all preferences that were applied, in the order that PostgREST has', async () => {
    const answer = await wharf.root.post(at('tool'), {
      json: { id: 1 },
      ...prefer(
        `max-affected=5, timezone=UTC, handling=strict, tx=rollback, count=exact, ${SHOW}, missing=default, resolution=merge-duplicates`,
      ),
    })
    expect(answer.headers['preference-applied']).toBe(
      `resolution=merge-duplicates, missing=default, ${SHOW}, count=exact, tx=rollback, handling=strict, timezone=UTC, max-affected=5`,
    )
    const read = await wharf.root.get(at('tool?id=eq.1'), prefer('tx=commit, handling=strict, count=exact'))
    expect(read.headers['preference-applied']).toBe('count=exact, tx=commit, handling=strict')
  })
})

describe('preferences of calls of functions', () => {
  const call = (path: string, json: unknown, preference: string) =>
    wharf.root.post(at(`rpc/${path}`), { json, ...prefer(preference) })

  test('what a function wrote is taken back where that is asked for', async () => {
    const answer = await unchanged(() => call('drop_tools?select=id&order=id', { first: 2 }, 'tx=rollback'))
    expect(answer).toMatchObject({ status: 200, json: [{ id: 2 }, { id: 3 }] })
    expect(answer.headers).toMatchObject({ 'preference-applied': 'tx=rollback' })
    expect(answer.headers).not.toHaveProperty('x-service-ref')
    expect((await unchanged(() => call('drop_all', {}, 'tx=rollback'))).status).toBe(204)
  })

  test('a function that gives more rows than may be written leaves nothing behind, nor one that gives no set', async () => {
    expect(await unchanged(() => call('drop_tools', { first: 2 }, 'max-affected=1'))).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('2 rows would be written, and at most 1 may be') },
    })
    expect(await unchanged(() => call('drop_all', {}, 'handling=strict, max-affected=9'))).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('returns no set of rows') },
    })
  })

  test('times are in the zone that is asked for, and another schema is refused', async () => {
    const path = at('rpc/noon')
    expect((await wharf.root.get(path, prefer('timezone=Asia/Tokyo'))).json).toBe('2024-07-01T21:00:00+09:00')
    expect((await call('noon', {}, 'timezone=Asia/Tokyo')).json).toBe('2024-07-01T21:00:00+09:00')
    expect((await wharf.root.get(path, { headers: { 'accept-profile': 'other' } })).status).toBe(406)
  })
})

describe('headers', () => {
  test('a read says where its rows are, with its parameters in one order', async () => {
    const read = await wharf.root.get(at('tool?select=id&id=eq.1'))
    expect(read.headers['content-location']).toBe(at('tool?id=eq.1&select=id'))
    expect((await wharf.root.get(at('tool'))).headers['content-location']).toBe(at('tool'))
    const long = await wharf.root.get(at(`tool?id=in.(${'1,'.repeat(3000)}1)`))
    expect(long).toMatchObject({ status: 200, headers: { 'content-range': '0-0/*' } })
    expect(long.headers).not.toHaveProperty('content-location')
  })

  test.each(['live', 'public'])('a schema that is called %s is that of the address', async (name) => {
    const read = await wharf.root.get(at('tool?id=eq.1'), { headers: { 'accept-profile': name } })
    expect(read).toMatchObject({ status: 200, headers: { 'content-profile': name } })
    const written = await wharf.root.patch(at('tool?id=eq.0'), {
      json: { name: 'x' },
      headers: { 'content-profile': name },
    })
    expect(written).toMatchObject({ status: 204, headers: { 'content-profile': name } })
  })

  test('another schema is refused, and nothing is written', async () => {
    const current = await latestEvent(wharf, 'stock')
    const headers = { 'accept-profile': 'other', 'content-profile': 'other', 'x-service-ref': current }
    for (const ask of [
      () => wharf.root.get(at('tool'), { headers }),
      () => wharf.root.get('/content/stock/live', { headers }),
      () => wharf.root.post(at('tool'), { json: { id: 50 }, headers }),
      () => wharf.root.delete(at('tool?id=gt.0'), { headers }),
    ]) {
      expect(await unchanged(ask)).toMatchObject({
        status: 406,
        json: { detail: expect.stringMatching(/no schema "other"/) },
      })
    }
  })

  test('a stage at a glance takes no parameters', async () => {
    const answer = await wharf.root.get('/content/stock/live?select=id')
    expect(answer).toMatchObject({ status: 400, json: { detail: expect.stringMatching(/"select"/) } })
  })
})

describe('PUT', () => {
  const put = (path: string, json: unknown, preference = SHOW) =>
    wharf.root.put(at(path), { json, ...prefer(preference) })

  test('puts a row where there is none, and in the place of one that is there', async () => {
    expect(await put('tool?id=eq.20', { id: 20, name: 'vice', price: 5 })).toMatchObject({
      status: 201,
      json: [{ id: 20, name: 'vice', price: 5, bought: null }],
      headers: { 'x-service-ref': expect.any(String), 'preference-applied': SHOW },
    })
    expect(await put('tool?id=eq.20&select=name', { id: 20, name: 'clamp' })).toMatchObject({
      status: 200,
      json: [{ name: 'clamp' }],
    })
    expect(await put('tool?id=eq.20', { id: 20, name: 'vice' }, '')).toMatchObject({ status: 204, text: '' })
    expect(await rows('tool?id=eq.20')).toMatchObject([{ name: 'vice', price: 5 }])
  })

  test('takes a key of several columns, in a partitioned table, and of several rows the one with the key', async () => {
    const path = 'part?b=eq.x&a=eq.1'
    const given = [
      { a: 2, b: 'x', note: 'not this one' },
      { a: 1, b: 'x', note: 'this' },
    ]
    expect(await put(path, given)).toMatchObject({ status: 201, json: [{ a: 1, b: 'x', note: 'this' }] })
    expect(await put(path, given)).toMatchObject({ status: 200, json: [{ a: 1, b: 'x', note: 'this' }] })
    expect(await rows('part')).toEqual([{ a: 1, b: 'x', note: 'this' }])
  })

  test.each([
    ['tool', 405, /needs the primary key as its filters, and nothing else: id=eq/],
    ['tool?name=eq.saw', 405, /id=eq/],
    ['tool?id=eq.1&name=eq.saw', 405, /id=eq/],
    ['tool?id=not.eq.1', 405, /id=eq/],
    ['tool?id=in.(1)', 405, /id=eq/],
    ['tool?id=eq(any).{1}', 405, /id=eq/],
    ['tool?id=eq.1&id=eq.1', 405, /id=eq/],
    ['tool?and=(id.eq.1)', 405, /id=eq/],
    ['part?a=eq.1', 405, /a=eq\.…&b=eq\.…/],
    ['tool?id=eq.1&limit=1', 400, /"limit"/],
    ['tool?id=eq.1&offset=1', 400, /"offset"/],
    ['keyless?word=eq.x', 405, /no primary key/],
    ['tool?id=eq.77', 400, /no row with the primary key/],
  ])('%s is refused with %i, and nothing is put', async (path, status, says) => {
    const answer = await unchanged(() => put(path, { id: 1, name: 'x' }))
    expect(answer, answer.text).toMatchObject({ status, json: { detail: expect.stringMatching(says) } })
    expect(answer.headers.allow).toBe(status === 405 ? 'GET, HEAD, POST, PATCH, DELETE, OPTIONS' : undefined)
  })

  test('a body without the key is refused', async () => {
    expect(await unchanged(() => put('tool?id=eq.1', { name: 'x' }))).toMatchObject({
      status: 400,
      json: { detail: expect.stringMatching(/has to have the primary key, id/) },
    })
  })
})

describe('rows that may be there already', () => {
  const post = (path: string, json: unknown, preference: string) =>
    wharf.root.post(at(path), { json, ...prefer(`${preference}, tx=rollback`) })

  test.each([
    { given: [1, 2], status: 200 },
    { given: [1, 99], status: 201 },
    { given: [98, 99], status: 201 },
    { given: [], status: 200 },
  ])('merging $given is answered with $status', async ({ given, status }) => {
    const json = given.map((id) => ({ id, name: 'x' }))
    expect((await post('tool', json, 'resolution=merge-duplicates')).status).toBe(status)
    expect((await post('tool', json, 'resolution=ignore-duplicates')).status).toBe(201)
  })

  test('rows of a table without a primary key are new, and the answer does not say that any were matched', async () => {
    const answer = await post('keyless', { word: 'x' }, `resolution=merge-duplicates, ${SHOW}`)
    expect(answer).toMatchObject({ status: 201, json: [{ word: 'x', data: null }] })
    expect(answer.headers['preference-applied']).toBe(`${SHOW}, tx=rollback`)
  })
})

describe('views', () => {
  test('a view of one table is written like the table', async () => {
    const answer = await wharf.root.post(at('cheap?select=id,price'), { json: { id: 30, price: 1 }, ...prefer(SHOW) })
    expect(answer).toMatchObject({ status: 201, json: [{ id: 30, price: 1 }] })
    expect(answer.headers['x-service-ref']).toBe(await latestEvent(wharf, 'stock'))
    expect(await wharf.root.patch(at('cheap?id=eq.30'), { json: { price: 2 } })).toMatchObject({ status: 204 })
    expect(await rows('tool?id=eq.30')).toMatchObject([{ name: 'unnamed', price: 2 }])
    // What the view does not show is not there for it.
    expect(await wharf.root.patch(at('cheap?id=eq.1'), { json: { price: 2 }, ...prefer(SHOW) })).toMatchObject({
      status: 200,
      json: [],
    })
    const merged = await wharf.root.post(at('cheap?on_conflict=id'), {
      json: { id: 30, price: 3 },
      ...prefer(`resolution=merge-duplicates, ${SHOW}`),
    })
    expect(merged, merged.text).toMatchObject({ status: 200, json: [{ id: 30, name: 'unnamed', price: 3 }] })
    expect(await wharf.root.delete(at('cheap?id=eq.30'))).toMatchObject({ status: 204 })
    expect(await rows('tool?id=eq.30')).toEqual([])
  })

  test('a view with INSTEAD OF triggers is written by them', async () => {
    const posted = await wharf.root.post(at('shouted'), { json: { id: 31, name: 'Loud' }, ...prefer(SHOW) })
    expect(posted, posted.text).toMatchObject({ status: 201, json: [{ id: 31, name: 'Loud' }] })
    expect(posted.headers['x-service-ref']).toBe(await latestEvent(wharf, 'stock'))
    await wharf.root.patch(at('shouted?id=eq.31'), { json: { name: 'louder' } })
    expect(await rows('shouted?id=eq.31')).toEqual([{ id: 31, name: 'LOUDER' }])
    expect(await wharf.root.delete(at('shouted?id=eq.31'), prefer('count=exact'))).toMatchObject({
      status: 204,
      headers: { 'content-range': '*/1' },
    })
  })

  test('a trigger that writes nothing causes no event, and none is named', async () => {
    const answer = await unchanged(() => wharf.root.post(at('nowhere'), { json: { id: 5 } }))
    expect(answer.status).toBe(201)
    expect(answer.headers).not.toHaveProperty('x-service-ref')
  })

  test('what PostgreSQL cannot write to is refused', async () => {
    const refused = { status: 409, json: { detail: '"counted" is a view that takes no INSERT' } }
    expect(await unchanged(() => wharf.root.post(at('counted'), { json: { name: 'x' } }))).toMatchObject(refused)
    const key = await unchanged(() =>
      wharf.root.post(at('cheap?on_conflict=name'), { json: { id: 1 }, ...prefer('resolution=merge-duplicates') }),
    )
    expect(key).toMatchObject({ status: 400, json: { code: '42P10' } })
  })
})

describe('bodies', () => {
  const send = (type: string, body: string, path = 'tool?select=id,name,price', preference = SHOW) =>
    wharf.root.post(at(path), { headers: { 'content-type': type, prefer: `${preference}, tx=rollback` }, body })

  test('a form is one row', async () => {
    const form = 'id=40&name=a%26b+c&price=1.50'
    expect((await send('application/x-www-form-urlencoded', form)).json).toEqual([
      { id: 40, name: 'a&b c', price: 1.5 },
    ])
    const changed = await wharf.root.patch(at('tool?id=eq.1&select=name'), {
      headers: { 'content-type': 'application/x-www-form-urlencoded', prefer: `${SHOW}, tx=rollback` },
      body: 'name=from+a+form',
    })
    expect(changed.json).toEqual([{ name: 'from a form' }])
  })

  test.each([
    ['lines that end in any way', 'id,name\r\n40,a\n41,b\r42,c'],
    ['a last line that ends', 'id,name\n40,a\n41,b\n42,c\n'],
    ['empty lines', 'id,name\n\n40,a\n41,b\n\n42,c\n\n'],
    ['quotes', '"id","name"\n"40","a"\n41,"b"\n42,c'],
  ])('CSV with %s is as many rows', async (_, body) => {
    const answer = await send('text/csv', body, 'tool?select=id,name')
    expect(answer.json, answer.text).toEqual([
      { id: 40, name: 'a' },
      { id: 41, name: 'b' },
      { id: 42, name: 'c' },
    ])
  })

  test('of CSV, NULL without quotes is NULL, and all else is text', async () => {
    const body = 'id,name,price\n40,NULL,1.500\n41,"NULL",NULL\n42,,2\n43,"a ""b"", c\nd",3\n'
    const { text } = await send('text/csv; charset=utf-8', body)
    expect(text).toContain('"price":1.500}')
    expect(JSON.parse(text)).toEqual([
      { id: 40, name: null, price: 1.5 },
      { id: 41, name: 'NULL', price: null },
      { id: 42, name: '', price: 2 },
      { id: 43, name: 'a "b", c\nd', price: 3 },
    ])
  })

  test('CSV is answered as CSV where that is asked for', async () => {
    const answer = await wharf.root.post(at('tool?select=id,name'), {
      headers: { 'content-type': 'text/csv', accept: 'text/csv', prefer: `${SHOW}, tx=rollback` },
      body: 'id,name\n40,"x,y"\n41,NULL',
    })
    expect(answer).toMatchObject({ status: 201, text: 'id,name\n40,"x,y"\n41,' })
  })

  test.each([
    ['id,name\n40', /record 1 of the CSV has 1 fields, and the line of names has 2/],
    ['id,name\n40,a\n41,b,c', /record 2/],
    ['id,name\n40,"a', /malformed at character 12/],
    ['id,name\n40,a"b', /malformed at character 12/],
    ['id,id\n40,41', /names a column twice/],
    ['\n\n', /is empty/],
    ['id,nmae\n40,a', /does not fit the table/],
    ['id,price\n40,cheap', /invalid input syntax for type numeric: "cheap"/],
  ])('CSV that is wrong is refused with where: %j', async (body, says) => {
    const answer = await unchanged(() => send('text/csv', body))
    expect(answer, answer.text).toMatchObject({ status: 400, json: { detail: expect.stringMatching(says) } })
  })

  test('a small CSV whose rows would take much memory is refused', async () => {
    const body = `${'n'.repeat(10_000)}\n${'1\n'.repeat(20_000)}`
    expect((await unchanged(() => send('text/csv', body))).status).toBe(413)
  })

  test.each(['text/plain', 'application/xml', 'multipart/form-data'])(
    'a body of the type %s is refused',
    async (type) => {
      expect((await unchanged(() => send(type, 'id=1'))).status).toBe(415)
    },
  )
})

describe('OPTIONS with a token names the methods', () => {
  test.each([
    ['tool', 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE'],
    ['part', 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE'],
    ['keyless', 'OPTIONS,GET,HEAD,POST,PATCH,DELETE'],
    ['shouted', 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE'],
    ['counted', 'OPTIONS,GET,HEAD'],
    ['nowhere', 'OPTIONS,GET,HEAD,POST'],
    ['rpc/drop_all', 'OPTIONS,POST'],
    ['rpc/noon', 'OPTIONS,GET,HEAD,POST'],
  ])('that %s takes', async (path, allow) => {
    const answer = await wharf.root.request('OPTIONS', at(path))
    expect(answer).toMatchObject({ status: 200, headers: { allow, 'content-length': '0' } })
  })

  test('that a stage takes', async () => {
    const answer = await wharf.root.request('OPTIONS', '/content/stock/live')
    expect(answer).toMatchObject({ status: 200, headers: { allow: 'OPTIONS,GET,HEAD' } })
  })

  test.each([
    ['nothing', 'PGRST205'],
    ['rpc/nothing', 'PGRST202'],
  ])('and is a 404 for %s', async (path, code) => {
    expect(await wharf.root.request('OPTIONS', at(path))).toMatchObject({ status: 404, json: { code } })
  })
})
