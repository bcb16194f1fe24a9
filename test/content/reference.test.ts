import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createShips, latestEvent, SHIP, schemaOf } from '../support/content/content.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, loginUrl } from '../support/service/projects.ts'
import { SECRET_KEY } from '../support/service/service-process.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let current: string

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_SECRET_KEY: SECRET_KEY } })
  await createShips(wharf)
})
afterAll(() => wharf.close())
beforeEach(async () => {
  current = await latestEvent(wharf)
})

const read = (reference?: string, path = SHIP): Promise<ApiAnswer> =>
  wharf.root.get(path, { headers: reference === undefined ? {} : { 'x-service-ref': reference } })

const rename = (name: string): Promise<ApiAnswer> => wharf.root.patch(`${SHIP}?id=eq.1`, { json: { name } })

/** Runs statements as the project's own login, past Wharf. */
async function plainSql(...statements: string[]): Promise<void> {
  const url = await loginUrl(wharf, 'ships')
  await withSession(url.href, async (client) => {
    await client.query(`SET search_path = "${await schemaOf(wharf)}"`)
    for (const statement of statements) await client.query(statement)
  })
}

test('a reference that is no known UUID, such as a first one, is answered with rows and the latest event', async () => {
  const answer = await read('first')
  expect(answer).toMatchObject({ status: 200, headers: { 'x-service-ref': current } })
  expect(answer.json).toHaveLength(3)
})

test('the current reference is answered with 304', async () => {
  expect(await read(current)).toMatchObject({ status: 304, headers: { 'x-service-ref': current } })
  expect((await read(current.toUpperCase())).status).toBe(304)
})

test('a 304 has neither a body nor anything that describes one', async () => {
  const { hostname, port } = new URL(wharf.url)
  const socket = connect(Number(port), hostname)
  socket.write(
    `GET ${SHIP} HTTP/1.1\r\nHost: wharf\r\nAuthorization: Bearer ${ROOT_TOKEN}\r\nx-service-ref: ${current}\r\nConnection: close\r\n\r\n`,
  )
  const [head = '', ...body] = (await readText(socket)).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 304 /)
  expect(head.toLowerCase()).not.toMatch(/^(content-length|content-type|transfer-encoding):/m)
  expect(body.join('')).toBe('')
})

test('a stale reference is answered with the latest rows and the new reference', async () => {
  await rename('Stale')
  const answer = await read(current)
  expect(answer.status).toBe(200)
  expect(answer.json).toContainEqual(expect.objectContaining({ name: 'Stale' }))
  expect(answer.headers['x-service-ref']).toBe(await latestEvent(wharf))
  expect(answer.headers['x-service-ref']).not.toBe(current)
})

test('an empty reference counts as none', async () => {
  expect((await read('')).status).toBe(200)
  expect((await read('  ')).status).toBe(200)
  expect((await read()).headers['x-service-ref']).toBe(current)
})

test('HEAD is answered as GET is, without the body', async () => {
  const get = await read()
  const head = await wharf.root.request('HEAD', SHIP)
  expect(head).toMatchObject({ status: 200, text: '', headers: { 'x-service-ref': current } })
  expect(head.headers['content-length']).toBe(get.headers['content-length'])
  const known = await wharf.root.request('HEAD', SHIP, { headers: { 'x-service-ref': current } })
  expect(known).toMatchObject({ status: 304, text: '' })
})

test('the stage at a glance is answered in the same way', async () => {
  const first = await read(undefined, '/content/ships/live')
  expect(first).toMatchObject({ status: 200, headers: { 'x-service-ref': current } })
  expect(first.json).toMatchObject({
    project: 'ships',
    stage: 'live',
    tables: expect.arrayContaining([
      expect.objectContaining({
        name: 'ship',
        primaryKey: ['id'],
        rows: { count: 3, exact: true },
        relations: [{ name: 'ship_at_home', kind: 'to one', columns: ['port'], table: 'port', foreignColumns: ['id'] }],
        links: { rows: SHIP },
      }),
    ]),
  })
  expect((await read(current, '/content/ships/live')).status).toBe(304)
})

test.each([
  { tag: (reference: string) => `W/"${reference}"`, status: 304 },
  { tag: (reference: string) => `"${reference}"`, status: 304 },
  { tag: (reference: string) => `"other", W/"${reference}" , "third"`, status: 304 },
  { tag: () => '*', status: 304 },
  { tag: () => 'W/"00000000-0000-4000-8000-000000000000"', status: 200 },
  { tag: (reference: string) => `W/"${reference}.csv"`, status: 200 },
  { tag: (reference: string) => reference, status: 200 },
])('If-None-Match is compared weakly, in lists, and with * (case %#)', async ({ tag, status }) => {
  const answer = await wharf.root.get(SHIP, { headers: { 'if-none-match': tag(current) } })
  expect(answer).toMatchObject({ status, headers: { 'x-service-ref': current, etag: `W/"${current}"` } })
})

test('the entity tag of each form is its own', async () => {
  const csv = await wharf.root.get(SHIP, { headers: { accept: 'text/csv' } })
  expect(csv.headers.etag).toBe(`W/"${current}.csv"`)
  const tag = csv.headers.etag ?? ''
  expect((await wharf.root.get(SHIP, { headers: { accept: 'text/csv', 'if-none-match': tag } })).status).toBe(304)
  expect((await wharf.root.get(SHIP, { headers: { 'if-none-match': tag } })).status).toBe(200)
})

test("Node's own fetch, which adds Cache-Control: no-cache to a conditional request, gets 304", async () => {
  const headers = { authorization: `Bearer ${ROOT_TOKEN}`, 'if-none-match': `W/"${current}"` }
  expect((await fetch(wharf.url + SHIP, { headers })).status).toBe(304)
})

test('x-service-ref decides alone where it says something', async () => {
  const headers = { 'x-service-ref': 'stale', 'if-none-match': `W/"${current}"` }
  expect((await wharf.root.get(SHIP, { headers })).status).toBe(200)
  expect((await wharf.root.get(SHIP, { headers: { ...headers, 'x-service-ref': '' } })).status).toBe(304)
})

test('no cache may keep an answer for others, or without asking', async () => {
  for (const answer of [await read(), await read(current)]) {
    expect(answer.headers['cache-control']).toBe('private, no-cache')
    expect(answer.headers.vary).toMatch(/^authorization, /)
  }
})

test('a write answers with the event that it caused', async () => {
  const written = await rename('Caused')
  expect(written).toMatchObject({ status: 204, headers: { 'x-service-ref': await latestEvent(wharf) } })
  expect((await read(written.headers['x-service-ref'])).status).toBe(304)
})

test('a write that changes nothing causes no event, and names none', async () => {
  const written = await wharf.root.patch(`${SHIP}?id=eq.99`, { json: { name: 'Nobody' } })
  expect(written).toMatchObject({ status: 204, text: '' })
  expect(written.headers).not.toHaveProperty('x-service-ref')
  expect((await read(current)).status).toBe(304)
})

test('plain SQL on the tables is a change like any other', async () => {
  await plainSql(`UPDATE ship SET tons = tons + 1 WHERE id = 2`)
  expect(await read(current)).toMatchObject({ status: 200, headers: { 'x-service-ref': await latestEvent(wharf) } })
})

test('what is rolled back moves nothing', async () => {
  await plainSql('BEGIN', 'DELETE FROM ship', 'ROLLBACK')
  expect(await read(current)).toMatchObject({ status: 304, headers: { 'x-service-ref': current } })
})

test('a transaction that began earlier and commits later is not overlooked', async () => {
  const url = await loginUrl(wharf, 'ships')
  await withSession(url.href, async (slow) => {
    await slow.query(`SET search_path = "${await schemaOf(wharf)}"`)
    await slow.query('BEGIN')
    await slow.query(`UPDATE ship SET tons = 77 WHERE id = 3`)
    const between = (await rename('Quick')).headers['x-service-ref']
    expect((await read(between)).status).toBe(304)
    await slow.query('COMMIT')
    const answer = await read(between)
    expect(answer.status).toBe(200)
    expect(answer.json).toContainEqual(expect.objectContaining({ id: 3, tons: 77 }))
  })
})

test('an import and its undoing are changes', async () => {
  const exported = await wharf.root.post('/export', { json: { projects: [{ slug: 'ships' }] } })
  await rename('Overwritten')
  const before = await latestEvent(wharf)
  const imported = await wharf.root.post('/import', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: exported.bytes,
  })
  expect(imported.status).toBe(200)
  const after = await read(before)
  expect(after.status).toBe(200)
  expect(after.json).not.toContainEqual(expect.objectContaining({ name: 'Overwritten' }))
  expect((await wharf.root.post('/projects/ships/stages/live/undo')).status).toBe(200)
  const undone = await read(after.headers['x-service-ref'])
  expect(undone.status).toBe(200)
  expect(undone.json).toContainEqual(expect.objectContaining({ name: 'Overwritten' }))
})

test('a change of structure is one, and the next answer has it', async () => {
  await applyScript(wharf, 'ships', 'ALTER TABLE ship ADD COLUMN flag text DEFAULT $$red$$')
  const answer = await read(current)
  expect(answer.status).toBe(200)
  expect(answer.json).toContainEqual(expect.objectContaining({ flag: 'red' }))
})

test('what is acknowledged by one process is seen through another', async () => {
  const other = await startWharf({
    database: { ...wharf.database, drop: async () => undefined },
    environment: { WHARF_SECRET_KEY: SECRET_KEY },
  })
  try {
    const client = other.root
    for (let turn = 0; turn < 20; turn += 1) {
      const reference = (await rename(`Turn ${turn}`)).headers['x-service-ref'] ?? ''
      const known = await client.get(SHIP, { headers: { 'x-service-ref': reference } })
      expect(known).toMatchObject({ status: 304, headers: { 'x-service-ref': reference } })
      const rows = await client.get(`${SHIP}?id=eq.1`)
      expect(rows.json).toMatchObject([{ name: `Turn ${turn}` }])
    }
  } finally {
    await other.close()
  }
})
