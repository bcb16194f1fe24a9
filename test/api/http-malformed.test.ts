import { once } from 'node:events'
import { expect, test } from 'vitest'
import { TOKEN } from '../support/http/frame-routes.ts'
import { start } from '../support/http/frame-server.ts'
import { openSocket, sendRaw } from '../support/http/raw-http.ts'

const AUTHORIZED = `host: x\r\nauthorization: Bearer ${TOKEN}\r\n`
const JSON_TYPE = 'content-type: application/json\r\n'
const BODY = '{"things":[]}'

interface Case {
  readonly what: string
  readonly request: string
  /** Those of all answers, in their order. */
  readonly statuses: readonly number[]
}

const CASES: readonly Case[] = [
  {
    what: 'both Content-Length and Transfer-Encoding',
    request: `POST /things HTTP/1.1\r\n${AUTHORIZED}${JSON_TYPE}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    statuses: [400],
  },
  {
    what: 'two different lengths',
    request: `POST /things HTTP/1.1\r\n${AUTHORIZED}${JSON_TYPE}content-length: 13\r\ncontent-length: 5\r\n\r\n${BODY}`,
    statuses: [400],
  },
  {
    what: 'a length that is no number',
    request: `POST /things HTTP/1.1\r\n${AUTHORIZED}${JSON_TYPE}content-length: +13\r\n\r\n${BODY}`,
    statuses: [400],
  },
  {
    what: 'a coding of transfer that hides chunked',
    request: `POST /things HTTP/1.1\r\n${AUTHORIZED}${JSON_TYPE}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    statuses: [400],
  },
  {
    what: 'a space before the colon of a header',
    request: `GET /things HTTP/1.1\r\n${AUTHORIZED}transfer-encoding : chunked\r\n\r\n`,
    statuses: [400],
  },
  {
    what: 'a header that goes on in another line',
    request: `GET /things HTTP/1.1\r\nhost: x\r\n folded\r\n\r\n`,
    statuses: [400],
  },
  {
    what: 'lines that end without a carriage return',
    request: `GET /things HTTP/1.1\nhost: x\n\n`,
    statuses: [400],
  },
  {
    what: 'a chunk whose size is no number',
    request: `POST /things HTTP/1.1\r\n${AUTHORIZED}${JSON_TYPE}transfer-encoding: chunked\r\n\r\nzz\r\n`,
    statuses: [400],
  },
  {
    what: 'an upload with such a chunk',
    request: `POST /uploads HTTP/1.1\r\n${AUTHORIZED}content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n`,
    statuses: [400],
  },
  { what: 'no Host', request: 'GET /healthz HTTP/1.1\r\n\r\n', statuses: [400] },
  { what: 'an unknown version', request: 'GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n', statuses: [400] },
  { what: 'the beginning of HTTP/2', request: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', statuses: [400] },
  { what: 'an unknown method', request: 'BREW /things HTTP/1.1\r\nhost: x\r\n\r\n', statuses: [400] },
  { what: 'a tunnel', request: 'CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n', statuses: [405] },
  {
    what: 'a URL that is too long',
    request: `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
    statuses: [431],
  },
  {
    what: 'a query that is too long',
    request: `GET /things?after=${'x'.repeat(20_000)} HTTP/1.1\r\n${AUTHORIZED}\r\n`,
    statuses: [431],
  },
  {
    what: 'very long headers of which much is still to come',
    request: `GET /things HTTP/1.1\r\n${`x-a: ${'x'.repeat(1000)}\r\n`.repeat(200)}${AUTHORIZED}\r\n`,
    statuses: [431],
  },
  {
    what: 'more than two thousand headers before the one that counts',
    request: `GET /things HTTP/1.1\r\n${'a:\r\n'.repeat(2_500)}${AUTHORIZED}connection: close\r\n\r\n`,
    statuses: [200],
  },
  {
    what: 'two tokens, of which the first counts',
    request: `GET /things HTTP/1.1\r\n${AUTHORIZED}authorization: Bearer other\r\nconnection: close\r\n\r\n`,
    statuses: [200],
  },
  {
    what: 'HTTP/1.0, without a Host',
    request: `GET /things HTTP/1.0\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`,
    statuses: [200],
  },
  {
    what: 'HTTP/1.0 that says that it waits for 100 Continue, which it does not know',
    request: `POST /things HTTP/1.0\r\n${AUTHORIZED}${JSON_TYPE}expect: 100-continue\r\ncontent-length: 13\r\n\r\n${BODY}`,
    statuses: [201],
  },
  {
    what: 'an expectation that nobody knows',
    request: `GET /things HTTP/1.1\r\n${AUTHORIZED}expect: the-best\r\nconnection: close\r\n\r\n`,
    statuses: [200],
  },
  {
    what: 'a wish to speak another protocol',
    request: `GET /things HTTP/1.1\r\n${AUTHORIZED}connection: upgrade, close\r\nupgrade: websocket\r\n\r\n`,
    statuses: [200],
  },
  {
    what: 'a target with scheme and host',
    request: `GET http://elsewhere.example/things HTTP/1.1\r\n${AUTHORIZED}connection: close\r\n\r\n`,
    statuses: [200],
  },
  {
    what: 'OPTIONS of everything',
    request: 'OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    statuses: [404],
  },
  {
    what: 'a body with HEAD',
    request: `HEAD /things HTTP/1.1\r\n${AUTHORIZED}content-length: 3\r\nconnection: close\r\n\r\nabc`,
    statuses: [200],
  },
  {
    what: 'what is no HTTP after two requests, which are both answered',
    request: `GET /things HTTP/1.1\r\n${AUTHORIZED}\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\nHELO\r\n\r\n`,
    statuses: [200, 200],
  },
  {
    what: 'a request hidden in the body of another, which is not answered',
    request: `POST /things HTTP/1.1\r\n${AUTHORIZED}${JSON_TYPE}content-length: 40\r\nconnection: close\r\n\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\n      `,
    statuses: [400],
  },
]

test.each(CASES)('answers $what with $statuses, and closes the connection', async ({ request, statuses }) => {
  const { server, client, lines } = await start()
  const { text } = await sendRaw(server.url, request)
  expect([...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))).toEqual(statuses)
  expect((await client.get('/things')).status).toBe(200)
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
})

test('says what is too long in a request whose head is', async () => {
  const { server } = await start()
  const { text } = await sendRaw(server.url, `GET /things?after=${'x'.repeat(60_000)} HTTP/1.1\r\nhost: x\r\n\r\n`)
  expect(text).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\ncontent-type: application\/problem\+json/)
  expect(text).toContain('the path, the query and the headers of a request have at most 16384 bytes together')
})

test.each([
  ['a JSON body', '/things', 'application/json'],
  ['a raw body', '/sql', 'application/sql'],
  ['an upload', '/uploads', 'application/x-ndjson'],
])('answers a client that ends %s before it is whole', async (_, target, type) => {
  const { server } = await start()
  const method = target === '/sql' ? 'PUT' : 'POST'
  for (const framing of [
    'content-length: 90\r\n\r\n{"things"',
    'transfer-encoding: chunked\r\n\r\n9\r\n{"things"\r\n',
  ]) {
    const request = `${method} ${target} HTTP/1.1\r\n${AUTHORIZED}content-type: ${type}\r\n${framing}`
    const { status, text } = await sendRaw(server.url, request, { end: true })
    expect(status, text).toBe(400)
    expect(text).toContain('the body ended before all of it had arrived')
  }
})

test('answers a client that has ended its body early before anybody looked at it', async () => {
  const { server } = await start()
  const request = `POST /things HTTP/1.1\r\nhost: x\r\nauthorization: Bearer other\r\n${JSON_TYPE}content-length: 900\r\n\r\n{`
  expect((await sendRaw(server.url, request, { end: true })).status).toBe(401)
})

test('answers HEAD as GET, without a body, on every path that has GET', async () => {
  const { client } = await start()
  const { json } = await client.get('/openapi.json')
  const { paths } = json as { readonly paths: Readonly<Record<string, object>> }
  for (const path of Object.keys(paths).filter((each) => 'get' in (paths[each] ?? {}))) {
    const target = path.replace('{slug}', 'anchor').replace('{kind}', 'whole')
    const [head, get] = [await client.request('HEAD', target), await client.get(target)]
    expect(head, path).toMatchObject({ status: get.status, text: '' })
    expect((await client.request('OPTIONS', target)).headers.allow, path).toContain('HEAD')
  }
})

test('lets one connection be used again after a request that was refused', async () => {
  const { server } = await start()
  const socket = await openSocket(server.url)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  for (const target of ['/things?limit=%zz', '/nowhere', '/things']) {
    const before = text.length
    socket.write(`GET ${target} HTTP/1.1\r\n${AUTHORIZED}\r\n`)
    while (text.length === before) await once(socket, 'data')
  }
  socket.destroy()
  expect([...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)).toEqual(['400', '404', '200'])
})
