import { afterAll, beforeAll, expect, test } from 'vitest'
import { createShips, latestEvent, SHIPS } from '../support/content/content.ts'
import { applyScript } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf

/** Views by name: those of the first list show what the log does not see, those of the second do not. */
const UNSEEN = {
  dice: 'SELECT id, random() AS roll FROM ship',
  clock: 'SELECT id, clock_timestamp()::text AS roll FROM ship',
  today: 'SELECT id, CURRENT_DATE AS day FROM ship',
  age: "SELECT id, age(timestamp '2020-01-01') AS years FROM ship",
  due: "SELECT id FROM ship WHERE now() > timestamptz '2020-01-01'",
  declared: 'SELECT id, shout(name) AS name FROM ship',
  behind: 'SELECT id FROM dice',
  aggregated: 'SELECT 1 AS id, loud(name) AS names FROM ship',
  sampled: 'SELECT id FROM ship TABLESAMPLE bernoulli (100)',
  catalogs: 'SELECT 1 AS id, count(*) FROM pg_catalog.pg_class',
} as const

const SEEN = {
  plain: 'SELECT id, upper(name) AS name, tons FROM ship WHERE tons > 1',
  stable: "SELECT id, to_char(timestamptz '2020-01-01', 'YYYY') AS year FROM ship",
  nested: 'SELECT id, name FROM plain',
} as const

beforeAll(async () => {
  wharf = await startWharf()
  const views = Object.entries({ ...UNSEEN, ...SEEN }).map(([name, query]) => `CREATE VIEW ${name} AS ${query};`)
  await createShips(
    wharf,
    `${SHIPS}
     CREATE SEQUENCE numbers;
     CREATE FUNCTION shout(text) RETURNS text LANGUAGE sql AS 'SELECT upper($1)';
     CREATE FUNCTION louder(text, text) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT $1 || $2';
     CREATE AGGREGATE loud(text) (SFUNC = louder, STYPE = text, INITCOND = '');
     ${views.join('\n')}
     CREATE VIEW numbered AS SELECT id, nextval('numbers') FROM ship;
     CREATE VIEW endless AS SELECT 1 AS id;
     CREATE OR REPLACE VIEW endless AS SELECT id FROM endless;
     CREATE VIEW at_home AS SELECT id, port, name FROM ship;
     CREATE VIEW dice_at_home AS SELECT id, port, random() AS roll FROM ship;
     CREATE FUNCTION roll(ship) RETURNS float8 LANGUAGE sql AS 'SELECT random()';
     CREATE FUNCTION shouted(ship) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper($1.name)';
     CREATE MATERIALIZED VIEW stored AS SELECT id FROM ship;`,
  )
})
afterAll(() => wharf.close())

const path = (view: string): string => `/content/ships/live/${view}?select=id&order=id`

test.each([...Object.keys(UNSEEN), 'stored'])('what %s shows is never kept, and has no reference', async (view) => {
  const current = await latestEvent(wharf)
  const first = await wharf.root.get(path(view), { headers: { 'x-service-ref': current } })
  expect(first, first.text).toMatchObject({ status: 200, headers: { 'x-cache': 'miss' } })
  const reference = first.headers['x-service-ref'] ?? ''
  expect(reference).toMatch(/^[\da-f-]{36}$/)
  expect(reference).not.toBe(current)
  const again = await wharf.root.get(path(view), {
    headers: { 'x-service-ref': reference, 'if-none-match': first.headers.etag ?? '' },
  })
  expect(again).toMatchObject({ status: 200, headers: { 'x-cache': 'miss' } })
  const tagged = await wharf.root.get(path(view), { headers: { 'if-none-match': `W/"${current}"` } })
  expect(tagged.status).toBe(200)
  expect((await wharf.root.request('HEAD', path(view), { headers: { 'x-service-ref': current } })).status).toBe(200)
})

test.each([...Object.keys(SEEN), 'ship'])('what %s shows is kept, and answered with 304', async (view) => {
  const current = await latestEvent(wharf)
  const first = await wharf.root.get(path(view))
  expect(first, first.text).toMatchObject({ status: 200, headers: { 'x-service-ref': current } })
  expect(await wharf.root.get(path(view))).toMatchObject({ status: 200, headers: { 'x-cache': 'hit' } })
  expect((await wharf.root.get(path(view), { headers: { 'x-service-ref': current } })).status).toBe(304)
})

test.each([
  { what: 'a VOLATILE function of a row', query: 'ship?select=id,roll', unseen: true },
  { what: 'a filter by one', query: 'ship?roll=lt.2', unseen: true },
  { what: 'an order by one', query: 'ship?order=roll', unseen: true },
  { what: 'an embedded view that is unseen', query: 'port?select=id,dice_at_home(roll)', unseen: true },
  { what: 'rows that have one', query: 'port?select=id,dice_at_home!inner()', unseen: true },
  { what: 'an IMMUTABLE function of a row', query: 'ship?select=id,shouted', unseen: false },
  { what: 'an embedded view that is seen', query: 'port?select=id,at_home(name)', unseen: false },
])('of rows with $what, that is the same: $unseen', async ({ query, unseen }) => {
  const current = await latestEvent(wharf)
  const first = await wharf.root.get(`/content/ships/live/${query}`)
  expect(first, first.text).toMatchObject({ status: 200 })
  expect(first.headers['x-service-ref'] === current).toBe(!unseen)
  const known = await wharf.root.get(`/content/ships/live/${query}`, { headers: { 'x-service-ref': current } })
  expect(known.status).toBe(unseen ? 200 : 304)
  const again = await wharf.root.get(`/content/ships/live/${query}`)
  expect(again.headers['x-cache']).toBe(unseen ? 'miss' : 'hit')
})

test('the stage at a glance counts no rows that change without an event', async () => {
  const { json } = await wharf.root.get('/content/ships/live')
  expect(json).toMatchObject({
    tables: expect.arrayContaining([
      expect.objectContaining({ name: 'stored', rows: expect.objectContaining({ exact: false }) }),
      expect.objectContaining({ name: 'ship', rows: { count: 3, exact: true } }),
    ]),
  })
})

test('what a VOLATILE function says is asked for anew by each request', async () => {
  const roll = async () => (await wharf.root.get('/content/ships/live/dice?id=eq.1')).text
  expect(new Set(await Promise.all(Array.from({ length: 5 }, roll))).size).toBe(5)
})

test('a view that would write is refused with what it would do', async () => {
  const refused = await wharf.root.get('/content/ships/live/numbered')
  expect(refused).toMatchObject({
    status: 400,
    json: { code: '25006', detail: expect.stringContaining('cannot execute nextval() in a read-only transaction') },
  })
})

test('a view that reads itself is refused with what PostgreSQL says', async () => {
  const refused = await wharf.root.get(path('endless'))
  expect(refused).toMatchObject({
    status: 400,
    json: { code: '42P17', detail: expect.stringContaining('infinite recursion') },
  })
})

test('a view that comes to call a VOLATILE function is no longer kept', async () => {
  await applyScript(wharf, 'ships', 'CREATE VIEW later AS SELECT id FROM ship')
  expect((await read('later')).status).toBe(304)
  await applyScript(wharf, 'ships', 'CREATE OR REPLACE VIEW later AS SELECT id FROM ship WHERE random() < 2')
  expect((await read('later')).status).toBe(200)
})

const read = async (view: string) =>
  wharf.root.get(path(view), { headers: { 'x-service-ref': await latestEvent(wharf) } })
