import { afterAll, beforeAll, expect, test } from 'vitest'
import { createShips, SHIP } from '../support/content/content.ts'
import { sendRaw } from '../support/http/raw-http.ts'
import { applyScript } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  await createShips(wharf)
})
afterAll(() => wharf.close())

interface Ask {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

const asking = (target: string, method = 'GET', body = ''): Ask => ({
  method,
  target,
  headers: [['authorization', `Bearer ${ROOT_TOKEN}`]],
  body,
})

function toBytes({ method, target, headers, body }: Ask): string {
  const given = new Map<string, string>([
    ['host', 'wharf'],
    ['connection', 'close'],
    ...(body === ''
      ? []
      : ([
          ['content-length', String(body.length)],
          ['content-type', 'application/json'],
        ] as const)),
    ...headers,
  ])
  const lines = [...given].map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

test.each([
  ['POST', '/projects', { slug: '\0' }],
  ['POST', '/projects', { slug: 'a\0b' }],
  ['POST', '/projects/ships/stages', { slug: '\0' }],
  ['POST', '/tokens', { name: '\0', memberships: [{ project: 'ships', role: 'viewer' }] }],
  ['POST', '/tokens', { name: '\ud800', memberships: [{ project: 'ships', role: 'viewer' }] }],
  ['POST', '/tokens', { name: 'a', memberships: [{ project: 'ships', role: '\0' }] }],
  [
    'POST',
    '/tokens',
    { name: 'a', memberships: [{ project: 'ships', role: 'viewer' }], expiresAt: '0000-01-01T00:00:00Z' },
  ],
  ['PUT', '/projects/ships/roles/new', { content: { '\0': true } }],
  ['POST', '/export', { projects: [{ slug: '\0' }] }],
  ['POST', '/export', { projects: [{ slug: 'ships', excludeTables: ['\0'] }] }],
  ['POST', '/export', { projects: [{ slug: 'ships', stages: ['\0'] }] }],
  ['POST', '/transfer', { source: { dsn: '\0' }, target: { project: 'ships' } }],
  ['POST', '/transfer', { source: { project: 'ships' }, target: { project: '\ud800' } }],
  ['POST', '/schedules', { name: '\0', cron: '* * * * *', kind: 'export', request: {} }],
  ['POST', '/schedules', { name: 'a', cron: '\0', timezone: '\0', kind: 'export', request: {} }],
  ['POST', SHIP, { id: 50, name: 'a\0b' }],
  ['POST', SHIP, { id: 51, name: '\ud800' }],
  ['POST', SHIP, { '\0': 1 }],
  ['PATCH', `${SHIP}?id=eq.1`, { name: '\udfff' }],
] as const)('gets an error of ours out of %s %s with %j', async (method, path, json) => {
  const answer = await wharf.root.request(method, path, { json })
  expect(answer.status).toBeGreaterThanOrEqual(400)
  expect(answer.status).toBeLessThan(500)
})

test('runs the part of a script before a NUL character, as if that were its end', async () => {
  const answer = await wharf.root.post('/projects/ships/stages/live/schema', {
    headers: { 'content-type': 'application/sql' },
    body: 'CREATE TABLE before_nul (); \0 CREATE TABLE after_nul ()',
  })
  expect(answer.status).toBe(422)
  expect((await wharf.root.get('/content/ships/live/before_nul')).status).toBe(404)
})

test('gets an error of ours out of an idempotency key that PostgreSQL cannot take', async () => {
  for (const key of ['\x80', 'a'.repeat(10_000), '\t']) {
    const answer = await sendRaw(
      wharf.url,
      toBytes({
        ...asking('/export', 'POST', '{"projects":[{"slug":"ships"}]}'),
        headers: [
          ['authorization', `Bearer ${ROOT_TOKEN}`],
          ['prefer', 'respond-async'],
          ['idempotency-key', key],
        ],
      }),
    )
    expect([202, 400], `${answer.text}`).toContain(answer.status)
  }
})

test('takes an answer that belongs to another path, by a slash within a name', async () => {
  const [first, second] = await Promise.all([
    wharf.root.get('/content/ships%2Flive/ship/x'),
    wharf.root.get('/content/ships/live%2Fship/x'),
  ])
  expect(first).toMatchObject({ status: 404, json: { detail: expect.stringContaining('"ships/live"') } })
  expect(second.status).toBe(404)
})

test('has a filter read as another text than was sent, since bytes were replaced', async () => {
  for (const query of ['name=eq.%ff', 'name=eq.\xc3\xa4', 'name=eq.%c3', '\xff=eq.1', 'name=eq.a%80']) {
    const answer = await sendRaw(wharf.url, toBytes(asking(`${SHIP}?${query}`)))
    expect(answer, query).toMatchObject({
      status: 400,
      text: expect.stringMatching(/percent-encoded|not a valid HTTP/),
    })
  }
})

/** Types for whose values PostgreSQL has codes of syntax, or of names that are not there, and what is no value of theirs. */
const PARSED: readonly (readonly [type: string, value: string])[] = [
  ['tsquery', '\\'],
  ['tsquery', '&'],
  ['tsvector', "'"],
  ['jsonpath', '$.'],
  ['regclass', 'nothing'],
  ['regclass', 'nowhere.nothing'],
  ['regclass', '"'],
  ['regtype', '('],
  ['regtype', 'nothing'],
  ['regproc', '$.'],
  ['regprocedure', 'abs('],
  ['regnamespace', 'nowhere'],
  ['regrole', '$.'],
  ['regconfig', '"'],
]

test.each(PARSED)('gets an error of ours out of a value that is no %s: %s', async (type, value) => {
  await applyScript(wharf, 'ships', `DROP TABLE IF EXISTS parsed; CREATE TABLE parsed (id int, c ${type})`)
  const path = '/content/ships/live/parsed'
  expect(await wharf.root.post(path, { json: { id: 1, c: value } })).toMatchObject({ status: 400 })
  expect(await wharf.root.get(`${path}?c=eq.${encodeURIComponent(value)}`)).toMatchObject({ status: 400 })
})

test.each(['tsquery', 'tsvector', 'jsonpath'])('gets an error of ours out of a cast to %s', async (type) => {
  const script = String.raw`DROP TABLE IF EXISTS texts; CREATE TABLE texts (c text); INSERT INTO texts VALUES ('''\')`
  await applyScript(wharf, 'ships', script)
  expect(await wharf.root.get(`/content/ships/live/texts?select=c::${type}`)).toMatchObject({ status: 400 })
})

test('gets an error of ours out of a search for a backslash', async () => {
  expect(await wharf.root.get(`${SHIP}?name=fts.%5c`)).toMatchObject({ status: 400 })
})
