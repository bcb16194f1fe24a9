import { afterAll, beforeAll, expect, test } from 'vitest'
import { createShips, latestEvent, SHIP, SHIPS } from '../support/content/content.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { noTransactionStaysOpen, openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_QUERY_TIMEOUT_MS: '5000', WHARF_MAX_ROWS: '50' } })
  await createShips(
    wharf,
    `${SHIPS}
     CREATE TABLE berth (section int4range NOT NULL, EXCLUDE USING gist (section WITH &&));
     CREATE TABLE crate (id integer PRIMARY KEY, label text DEFAULT 'empty', weight integer DEFAULT 5);
     CREATE VIEW endless AS SELECT pg_sleep(3600)::text AS nothing;
     CREATE TABLE number AS SELECT n FROM generate_series(1, 120) AS n;`,
  )
  await createProject(wharf, 'notes', `CREATE TABLE note (id integer PRIMARY KEY, text text CHECK (${PAUSE}))`)
})
afterAll(() => wharf.close())

const NOTE = '/content/notes/live/note'

const prefer = (value: string) => ({ headers: { prefer: value } })

// What an answer shows

test('rows inserted are shown where that is asked for, and nothing of them where it is not', async () => {
  const shown = await wharf.root.post(`${SHIP}?select=name`, {
    json: { id: 10, name: 'Dock', tons: 5 },
    ...prefer('return=representation'),
  })
  expect(shown).toMatchObject({ status: 201, headers: { 'preference-applied': 'return=representation' } })
  expect(shown.json).toEqual([{ name: 'Dock' }])
  const minimal = await wharf.root.post(SHIP, { json: [{ id: 11, name: 'Ebb' }], ...prefer('return=minimal') })
  expect(minimal).toMatchObject({ status: 201, text: '', headers: { 'preference-applied': 'return=minimal' } })
  const key = await wharf.root.post(SHIP, { json: { id: 12, name: 'Foam' }, ...prefer('return=headers-only') })
  expect(key).toMatchObject({ status: 201, text: '', headers: { location: `${SHIP}?id=eq.12` } })
  expect((await wharf.root.get(key.headers.location ?? '')).json).toMatchObject([{ name: 'Foam' }])
})

test('rows changed and deleted are shown, and counted, where that is asked for', async () => {
  await wharf.root.post(SHIP, { json: [20, 21].map((id) => ({ id, name: `Ship ${id}` })) })
  const changed = await wharf.root.patch(`${SHIP}?id=in.(20,21)&select=id,tons`, {
    json: { tons: 9 },
    ...prefer('return=representation, count=exact'),
  })
  expect(changed).toMatchObject({ status: 200, headers: { 'content-range': '0-1/2' } })
  expect(changed.json).toEqual([20, 21].map((id) => ({ id, tons: 9 })))
  const deleted = await wharf.root.delete(`${SHIP}?id=eq.20`, prefer('count=exact'))
  expect(deleted).toMatchObject({ status: 204, text: '', headers: { 'content-range': '*/1' } })
})

test.each(['tx=maybe', 'handling=strict, max-affected=few', 'max-affected=-1', 'handling=strict, nonsense=1'])(
  'a safeguard that is not supported is refused, and nothing is written: %s',
  async (preference) => {
    const before = (await wharf.root.get(SHIP)).json
    const refused = {
      status: 400,
      json: { detail: expect.stringContaining('is not supported here, so nothing was done') },
    }
    expect(await wharf.root.delete(`${SHIP}?id=gt.0`, prefer(preference))).toMatchObject(refused)
    expect(await wharf.root.patch(`${SHIP}?id=gt.0`, { json: { tons: 0 }, ...prefer(preference) })).toMatchObject(
      refused,
    )
    expect(await wharf.root.post(SHIP, { json: { id: 99, name: 'Gull' }, ...prefer(preference) })).toMatchObject(
      refused,
    )
    expect((await wharf.root.get(SHIP)).json).toEqual(before)
  },
)

test.each(['__proto__', 'constructor=x', 'nonsense=1', 'handling=lenient, nonsense', 'handling=strict, tx=commit,'])(
  'what a client prefers beyond that is left alone: %s',
  async (preference) => {
    expect((await wharf.root.patch(`${SHIP}?id=eq.0`, { json: { tons: 0 }, ...prefer(preference) })).status).toBe(204)
  },
)

test('a row whose key is there already is changed, left as it is, or refused, as is asked for', async () => {
  const json = { id: 1, name: 'Anchor', tons: 123 }
  const tons = async () => (await wharf.root.get(`${SHIP}?id=eq.1&select=tons`)).json
  expect((await wharf.root.post(SHIP, { json })).status).toBe(409)
  await wharf.root.post(SHIP, { json, ...prefer('resolution=ignore-duplicates') })
  expect(await tons()).toEqual([{ tons: 100 }])
  await wharf.root.post(SHIP, { json, ...prefer('resolution=merge-duplicates') })
  expect(await tons()).toEqual([{ tons: 123 }])
})

test('a column that "columns" names and the body lacks gets its default, or else NULL, in a change and in a merge', async () => {
  const path = '/content/ships/live/crate'
  await wharf.root.post(path, { json: [1, 2, 3].map((id) => ({ id, label: 'full', weight: 70 })) })
  const all = async () => (await wharf.root.get(`${path}?order=id`)).json
  const changed = await wharf.root.patch(`${path}?id=eq.1&columns=label,weight`, {
    json: { label: 'new' },
    ...prefer('missing=default'),
  })
  expect(changed).toMatchObject({ status: 204, headers: { 'preference-applied': 'missing=default' } })
  await wharf.root.patch(`${path}?id=eq.2&columns=label,weight`, { json: { label: 'old' } })
  const shown = await wharf.root.patch(`${path}?id=eq.2&columns=weight&select=weight`, {
    json: {},
    ...prefer('missing=default, return=representation'),
  })
  expect(shown).toMatchObject({ status: 200, json: [{ weight: 5 }] })
  await wharf.root.patch(`${path}?id=eq.2&columns=weight`, { json: { label: 'left out' }, ...prefer('missing=null') })
  await wharf.root.post(`${path}?columns=id,label,weight`, {
    json: [{ id: 3, label: 'merged' }],
    ...prefer('resolution=merge-duplicates, missing=default'),
  })
  expect(await all()).toEqual([
    { id: 1, label: 'new', weight: 5 },
    { id: 2, label: 'old', weight: null },
    { id: 3, label: 'merged', weight: 5 },
  ])
})

test('a row that is merged keeps what neither it nor "columns" names', async () => {
  const path = '/content/ships/live/crate'
  await wharf.root.post(path, { json: { id: 11, label: 'full', weight: 70 } })
  await wharf.root.post(path, {
    json: [
      { id: 11, label: 'merged' },
      { id: 12, weight: 1 },
    ],
    ...prefer('resolution=merge-duplicates, missing=default'),
  })
  expect((await wharf.root.get(`${path}?id=gt.10&order=id`)).json).toEqual([
    { id: 11, label: 'merged', weight: 70 },
    { id: 12, label: 'empty', weight: 1 },
  ])
})

// What is refused, and that nothing is changed then

const one = { headers: { accept: 'application/vnd.pgrst.object+json' } }

const REFUSED: readonly {
  readonly what: string
  readonly ask: () => Promise<ApiAnswer>
  readonly status: number
  readonly code?: string
  readonly says: RegExp
}[] = [
  {
    what: 'a key that is there already',
    ask: () => wharf.root.post(SHIP, { json: { id: 1, name: 'Twice' } }),
    status: 409,
    code: '23505',
    says: /table "ship", constraint "ship_pkey"/,
  },
  {
    what: 'a row that is not there being referred to',
    ask: () => wharf.root.post(SHIP, { json: { id: 90, name: 'Lost', port: 77 } }),
    status: 409,
    code: '23503',
    says: /constraint "ship_at_home"/,
  },
  {
    what: 'a row that is still referred to being deleted',
    ask: () => wharf.root.delete('/content/ships/live/port?id=eq.1'),
    status: 409,
    code: '23503',
    says: /constraint "ship_at_home"/,
  },
  {
    what: 'a row that another excludes',
    ask: () => wharf.root.post('/content/ships/live/berth', { json: [{ section: '[1,5)' }, { section: '[4,9)' }] }),
    status: 409,
    code: '23P01',
    says: /constraint "berth_section_excl"/,
  },
  {
    what: 'a check that is broken',
    ask: () => wharf.root.patch(`${SHIP}?id=eq.1`, { json: { tons: -1 } }),
    status: 422,
    code: '23514',
    says: /constraint "tons_are_positive"/,
  },
  {
    what: 'a value that is missing',
    ask: () => wharf.root.post(SHIP, { json: { id: 91 } }),
    status: 422,
    code: '23502',
    says: /table "ship", column "name"/,
  },
  {
    what: 'a value that is not of its type',
    ask: () => wharf.root.patch(`${SHIP}?id=eq.1`, { json: { tons: 'heavy' } }),
    status: 400,
    code: '22P02',
    says: /tons/,
  },
  {
    what: 'changing every row',
    ask: () => wharf.root.patch(SHIP, { json: { tons: 1 } }),
    status: 400,
    says: /PATCH without a filter/,
  },
  { what: 'deleting every row', ask: () => wharf.root.delete(SHIP), status: 400, says: /DELETE without a filter/ },
  {
    what: 'exactly one row being asked for where there are more',
    ask: () =>
      wharf.root.patch(`${SHIP}?id=lt.3`, {
        json: { tons: 8 },
        headers: { prefer: 'return=representation', accept: 'application/vnd.pgrst.object+json' },
      }),
    status: 406,
    code: 'PGRST116',
    says: /exactly one row/,
  },
  ...[
    { what: 'several rows', filter: 'id=gt.0&id=lt.4' },
    { what: 'no row', filter: 'id=eq.77' },
  ].flatMap(({ what, filter }) => [
    ...['minimal', 'headers-only', 'representation'].map((shown) => ({
      what: `deleting ${what} where exactly one was asked for, with return=${shown}`,
      ask: () => wharf.root.delete(`${SHIP}?${filter}`, { headers: { ...one.headers, prefer: `return=${shown}` } }),
      status: 406,
      says: /exactly one row/,
    })),
    {
      what: `deleting ${what} where exactly one was asked for`,
      ask: () => wharf.root.delete(`${SHIP}?${filter}`, one),
      status: 406,
      says: /exactly one row/,
    },
    {
      what: `changing ${what} where exactly one was asked for`,
      ask: () => wharf.root.patch(`${SHIP}?${filter}`, { json: { tons: 7 }, ...one }),
      status: 406,
      says: /exactly one row/,
    },
  ]),
  {
    what: 'inserting two rows where exactly one was asked for',
    ask: () => wharf.root.post(SHIP, { json: [95, 96].map((id) => ({ id, name: `Ship ${id}` })), ...one }),
    status: 406,
    says: /exactly one row/,
  },
  {
    what: 'inserting a row that is there already, and ignored, where exactly one was asked for',
    ask: () =>
      wharf.root.post(SHIP, {
        json: { id: 1, name: 'Twice' },
        headers: { ...one.headers, prefer: 'resolution=ignore-duplicates, return=headers-only' },
      }),
    status: 406,
    says: /exactly one row/,
  },
  {
    what: 'a body that is no JSON',
    ask: () => wharf.root.post(SHIP, { headers: { 'content-type': 'application/json' }, body: '{"id":' }),
    status: 400,
    says: /JSON/,
  },
  {
    what: 'a body of another type',
    ask: () => wharf.root.post(SHIP, { headers: { 'content-type': 'text/plain' }, body: 'id' }),
    status: 415,
    says: /application\/json/,
  },
]

test.each(['{}', '[]', '[{}]'])('a change by %s writes nothing, and is no event', async (body) => {
  const before = await latestEvent(wharf)
  const json = { 'content-type': 'application/json' }
  expect(await wharf.root.patch(`${SHIP}?id=eq.1`, { headers: json, body })).toMatchObject({ status: 204 })
  const headers = { ...json, prefer: 'return=representation' }
  expect(await wharf.root.patch(`${SHIP}?id=eq.1`, { headers, body })).toMatchObject({ status: 200, text: '[]' })
  expect(await latestEvent(wharf)).toEqual(before)
})

test('a body that does not say of which type it is counts as JSON', async () => {
  const changed = await wharf.root.patch(`${SHIP}?id=eq.0`, { body: '{"name":"Nobody"}' })
  expect(changed, changed.text).toMatchObject({ status: 204 })
})

test.each(REFUSED)('$what is refused with $status, and changes nothing', async ({ ask, status, code, says }) => {
  const before = await latestEvent(wharf)
  const answer = await ask()
  expect(answer).toMatchObject({ status, json: { status, detail: expect.stringMatching(says) } })
  expect(answer.json).toMatchObject({ message: expect.any(String), hint: null })
  if (code !== undefined) expect(answer.json).toMatchObject({ code })
  expect(await latestEvent(wharf)).toBe(before)
})

// Reads: counting, ranges, forms, limits

test('rows are counted, and a part of them answered with 206, as PostgREST does', async () => {
  const path = '/content/ships/live/number?order=n'
  const page = await wharf.root.get(`${path}&limit=10&offset=20`, prefer('count=exact'))
  expect(page).toMatchObject({
    status: 206,
    headers: { 'content-range': '20-29/120', 'preference-applied': 'count=exact' },
  })
  const ranged = await wharf.root.get(path, { headers: { range: '0-4', 'range-unit': 'items' } })
  expect(ranged).toMatchObject({ status: 200, headers: { 'content-range': '0-4/*' } })
  expect(ranged.json).toHaveLength(5)
  const none = await wharf.root.get(`${path}&n=eq.0`, prefer('count=exact'))
  expect(none).toMatchObject({ status: 200, text: '[]', headers: { 'content-range': '*/0' } })
  const beyond = await wharf.root.get(`${path}&offset=500`, prefer('count=exact'))
  expect(beyond).toMatchObject({ status: 416, headers: { 'content-range': '*/120' }, json: { code: 'PGRST103' } })
})

test('no answer has more rows than the configuration lets it', async () => {
  const all = await wharf.root.get('/content/ships/live/number')
  expect(all).toMatchObject({ status: 200, headers: { 'content-range': '0-49/*' } })
  expect(all.json).toHaveLength(50)
})

test('rows come as JSON, as CSV, or as one object, and as nothing else', async () => {
  const path = '/content/ships/live/port?order=id&select=id,name'
  const as = (accept: string, filter = '') => wharf.root.get(path + filter, { headers: { accept } })
  expect((await as('text/csv')).text).toBe('id,name\n1,Lanternholm\n2,Amber Quay')
  for (const [accept, type] of [
    ['application/json', 'application/json'],
    ['application/vnd.pgrst.array+json', 'application/json'],
    ['application/vnd.pgrst.array;nulls=stripped', 'application/vnd.pgrst.array+json;nulls=stripped'],
    ['application/vnd.pgrst.object', 'application/vnd.pgrst.object+json'],
    ['application/vnd.pgrst.object+json;nulls=stripped', 'application/vnd.pgrst.object+json;nulls=stripped'],
  ] as const) {
    expect((await as(accept, '&id=eq.2')).headers['content-type']).toBe(`${type}; charset=utf-8`)
  }
  const one = await as('application/vnd.pgrst.object+json', '&id=eq.2')
  expect(JSON.parse(one.text)).toEqual({ id: 2, name: 'Amber Quay' })
  for (const filter of ['', '&id=eq.99']) {
    expect(await as('application/vnd.pgrst.object+json', filter)).toMatchObject({
      status: 406,
      json: { code: 'PGRST116', details: expect.stringContaining('The result contains') },
    })
  }
  expect((await as('image/png')).status).toBe(406)
})

test('a stage at a glance comes as JSON, and as nothing else', async () => {
  const as = async (accept: string) => (await wharf.root.get('/content/ships/live', { headers: { accept } })).status
  expect(await as('application/json, text/csv')).toBe(200)
  expect(await as('text/csv;q=1, application/*;q=0.1')).toBe(200)
  for (const accept of ['text/csv', 'application/vnd.pgrst.object+json', 'image/png']) {
    expect(await as(accept), accept).toBe(406)
  }
})

test('exactly one row is written where that is asked for', async () => {
  expect((await wharf.root.post(SHIP, { json: { id: 97, name: 'Hull' }, ...one })).status).toBe(201)
  expect((await wharf.root.patch(`${SHIP}?id=eq.97`, { json: { tons: 3 }, ...one })).status).toBe(204)
  expect((await wharf.root.delete(`${SHIP}?id=eq.97`, one)).status).toBe(204)
})

// Time limits, and imports

test('a query that would run for ever is ended, and its connection can be used again', async () => {
  const queries = Array.from({ length: 12 }, () => wharf.root.get('/content/ships/live/endless?limit=1'))
  for (const answer of await Promise.all(queries)) {
    expect(answer).toMatchObject({ status: 504, json: { type: 'urn:wharf:error:query-timed-out' } })
  }
  const after = await Promise.all(Array.from({ length: 12 }, (_, n) => wharf.root.get(`${SHIP}?id=eq.${n}`)))
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]))
  await noTransactionStaysOpen(wharf)
})

const exportNotes = async (): Promise<Buffer> =>
  (await wharf.root.post('/export', { json: { projects: [{ slug: 'notes' }] } })).bytes

const importNotes = (body: Buffer): Promise<ApiAnswer> =>
  wharf.root.post('/import', { headers: { 'content-type': 'application/x-ndjson' }, body })

test('while an import runs, writes over HTTP are refused, reads go on, and afterwards both go well', async () => {
  await wharf.root.post(NOTE, { json: { id: 1, text: 'kept' } })
  const archive = await exportNotes()
  await withPausePoint(wharf, async (pausePoint) => {
    const importing = importNotes(archive)
    await pausePoint.reached()
    const refused = await wharf.root.post(NOTE, { json: { id: 50, text: 'refused' } })
    expect(refused).toMatchObject({ status: 409, headers: { 'retry-after': '5' } })
    expect((await wharf.root.get(`${NOTE}?id=eq.1`)).json).toEqual([{ id: 1, text: 'kept' }])
    await pausePoint.release()
    expect((await importing).status).toBe(200)
  })
  expect((await wharf.root.post(NOTE, { json: { id: 50, text: 'taken' } })).status).toBe(201)
  expect((await wharf.root.get(`${NOTE}?id=eq.50`)).json).toEqual([{ id: 50, text: 'taken' }])
})

test('an import waits for a write that has begun, so that none is acknowledged and lost between load and swap', async () => {
  const archive = await exportNotes()
  await withPausePoint(wharf, async (pausePoint) => {
    const writing = wharf.root.post(NOTE, { json: { id: 60, text: 'under way' } })
    await pausePoint.reached()
    const importing = importNotes(archive)
    const waiting = async () => (await openTransactions(wharf)).filter(({ waits }) => waits === 'Lock')
    await eventually(waiting).toHaveLength(2)
    expect((await wharf.root.post(NOTE, { json: { id: 61, text: 'too late' } })).status).toBe(409)
    await pausePoint.release()
    const written = await writing
    expect(written.status).toBe(201)
    expect((await importing).status).toBe(200)
    const reference = written.headers['x-service-ref'] ?? ''
    expect((await wharf.root.get(NOTE, { headers: { 'x-service-ref': reference } })).status).toBe(200)
  })
})
