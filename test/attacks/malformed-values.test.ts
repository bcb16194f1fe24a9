import { afterAll, beforeAll, expect, test } from 'vitest'
import { createShips, SHIP } from '../support/content.ts'
import { sendRaw } from '../support/raw-http.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  await createShips(wharf)
})
afterAll(() => wharf.close())

/** Every byte, percent-encoded, and encodings of what is no UTF-8, no character, or too long. */
const ENCODED: readonly string[] = [
  ...Array.from({ length: 256 }, (_, byte) => `%${byte.toString(16).padStart(2, '0')}`),
  '%',
  '%0',
  '%zz',
  '%u0000',
  '%ed%a0%80',
  '%c0%80',
  '%f4%90%80%80',
  '%e2%82',
  '%f0%9f%98',
  '%00%00%00',
  'live%00',
  '%EF%BF%BE',
  '%e2%80%ae',
  '%2e%2e%2f',
  '%2F..%2F',
  'a'.repeat(64),
  'x'.repeat(4_000),
  "'%3B--",
  '"',
  '{}',
  '__proto__',
  'constructor',
  '1e400',
  '-1',
  '99999999999999999999',
]

/** The same, sent as they are: each byte that can stand in a header, and some more. */
const PLAIN: readonly string[] = [
  ...Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)),
  '\xed\xa0\x80',
  '\xc0\x80',
  '\xff\xfe',
  ',,,;;;===',
  '"',
  'x'.repeat(4_000),
  '0-99999999999999999999999',
  '9-1',
  'bytes=-',
  'items=9-1',
  'count=exact;count=planned,,,',
  'return=\x80',
  'handling=strict, \xff',
  '*/*;q=NaN',
  'text/csv;q=-1, */*;q=0',
  '%00',
  'application/json; charset=\x00',
]

const paths = (value: string): string[] => [
  `/content/${value}/live/ship`,
  `/content/ships/${value}/ship`,
  `/content/ships/live/${value}`,
  `/content/${value}/live`,
  `/projects/${value}`,
  `/projects/ships/stages/${value}/schema`,
  `/projects/ships/roles/${value}`,
  `/jobs/${value}`,
  `/jobs/${value}/file`,
  `/jobs/${value}/events`,
  `/tokens/${value}`,
  `/schedules/${value}`,
  `/${value}`,
]

const queries = (value: string): string[] => [
  `${SHIP}?name=eq.${value}`,
  `${SHIP}?id=eq.${value}`,
  `${SHIP}?name=in.(${value})`,
  `${SHIP}?${value}=eq.1`,
  `${SHIP}?select=${value}`,
  `${SHIP}?select=${value}:name`,
  `${SHIP}?select=id::${value}`,
  `${SHIP}?order=${value}`,
  `${SHIP}?limit=${value}`,
  `${SHIP}?or=(${value})`,
  `${SHIP}?columns=${value}&on_conflict=${value}`,
  `/jobs?after=${value}`,
  `/jobs?limit=${value}`,
  `/tokens?after=${value}`,
  `/tokens?project=${value}`,
  `/projects?after=${value}`,
  `/schedules?after=${value}`,
  `/schedules?${value}=1`,
]

const HEADERS = [
  'authorization',
  'x-service-ref',
  'if-none-match',
  'prefer',
  'accept',
  'accept-encoding',
  'range',
  'idempotency-key',
  'x-request-id',
  'content-type',
  'content-encoding',
  'expect',
  'upgrade',
  'host',
  'cookie',
  'x-forwarded-for',
  'forwarded',
]

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

function* requests(): Generator<Ask> {
  const inTurn = <T>(all: readonly T[], index: number): T[] => all.slice(index % all.length).slice(0, 1)
  for (const [index, value] of ENCODED.entries()) {
    // In every place what PostgreSQL can't take or nobody can decode; the rest in one place after the other.
    const everywhere = ['%00', '%ff', '%', '%ed%a0%80'].includes(value)
    const [inPath, inQuery] = [paths(value), queries(value)]
    for (const target of everywhere ? [...inPath, ...inQuery] : [...inTurn(inPath, index), ...inTurn(inQuery, index)]) {
      yield asking(target)
    }
    yield { ...asking(`/content/${value}/${value}/${value}`), headers: [] }
  }
  for (const [index, value] of PLAIN.entries()) {
    for (const name of [...inTurn(HEADERS, index), ...inTurn(HEADERS.slice(0, 5), index)]) {
      const { headers, ...rest } = asking(`${SHIP}?limit=1`)
      yield { ...rest, headers: [...headers, [name, value]] }
    }
    // In the target as it is, and not percent-encoded.
    yield asking(`/content/ships/live/${value}?name=eq.${value}`)
  }
}

test('makes the requests of others fail by values that nobody can take, or gets an error of ours out of them', async () => {
  let reading = true
  const failures: string[] = []
  let read = 0
  const readers = Array.from({ length: 8 }, async (_, index) => {
    for (; reading; read += 1) {
      const answer = await wharf.root.get(`${SHIP}?id=eq.${index}&select=id`)
      if (answer.status !== 200) failures.push(`${answer.status} ${answer.text}`)
    }
  })
  const wrong: string[] = []
  const all = [...requests()]
  expect(all.length).toBeGreaterThan(1_000)
  let next = 0
  const senders = Array.from({ length: 16 }, async () => {
    for (let ask = all[next++]; ask !== undefined; ask = all[next++]) {
      const { status, text } = await sendRaw(wharf.url, toBytes(ask))
      if (status < 200 || status >= 500)
        wrong.push(`${status} to ${JSON.stringify(ask)}: ${text.slice(-300)}`.slice(0, 1_000))
    }
  })
  await Promise.all(senders).finally(() => {
    reading = false
  })
  await Promise.all(readers)
  expect(wrong).toEqual([])
  expect(failures).toEqual([])
  expect(read).toBeGreaterThan(8)
}, 120_000)

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
  for (const query of ['name=eq.%ff', 'name=eq.\xc3\xa4', 'name=eq.%c3', '\xff=eq.1', 'name=eq.a%']) {
    const answer = await sendRaw(wharf.url, toBytes(asking(`${SHIP}?${query}`)))
    expect(answer, query).toMatchObject({
      status: 400,
      text: expect.stringMatching(/percent-encoded|not a valid HTTP/),
    })
  }
})
