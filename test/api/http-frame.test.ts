import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request as nodeRequest } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { jsonBody } from '../../src/api/body.ts'
import { createApi } from '../../src/api/create-api.ts'
import { PROBLEMS } from '../../src/api/problem.ts'
import { defineRoute } from '../../src/api/route.ts'
import { createLogger } from '../../src/logger.ts'
import { createThings, fail, SECRET, TOKEN, wait } from '../support/http/frame-routes.ts'
import { start } from '../support/http/frame-server.ts'
import { sendRaw } from '../support/http/raw-http.ts'

const bigUpload = (chunks: number): AsyncIterable<Uint8Array> =>
  (async function* () {
    for (let index = 0; index < chunks; index += 1) yield Buffer.alloc(64 * 1024, 'x')
  })()

// Routes, requests and answers

test('answers what the handler says, without the fields that are not declared', async () => {
  const { client } = await start()
  const answer = await client.get('/things/anchor')
  expect(answer).toMatchObject({ status: 200, headers: { 'x-reference': 'r1' } })
  expect(answer.json).toEqual({ slug: 'anchor', size: 0 })
})

test('answers 304 without a body and without a content type', async () => {
  const { client } = await start()
  const answer = await client.get('/things/anchor', { headers: { 'x-known': 'r1' } })
  expect(answer).toMatchObject({ status: 304, text: '', headers: { 'x-reference': 'r1' } })
  expect(answer.headers).not.toHaveProperty('content-type')
})

test('prefers a literal path to one with a parameter, and sends serialised JSON as it is', async () => {
  const { client } = await start()
  expect((await client.get('/things/newest')).text).toBe('{"slug":"crane","size":2}')
})

test('pages a list by cursor until next is null', async () => {
  const { client } = await start()
  const first = await client.get('/things?limit=2')
  expect(first.json).toMatchObject({ items: [{ slug: 'anchor' }, { slug: 'buoy' }], next: 'buoy' })
  const second = await client.get('/things?limit=2&after=buoy')
  expect(second.json).toMatchObject({ items: [{ slug: 'crane' }], next: null })
  expect((await client.get('/things?big=true')).json).toMatchObject({ items: [{ slug: 'buoy' }, { slug: 'crane' }] })
})

test('names every parameter that is wrong, and refuses unknown ones', async () => {
  const { client } = await start()
  const answer = await client.get('/things?limit=500&big=yes&aftr=x&after=a&after=b')
  expect(answer.status).toBe(400)
  expect(answer.json).toMatchObject({
    type: 'urn:wharf:error:invalid-request',
    errors: [
      { detail: 'query parameter "aftr" is not known; known are limit, after, big' },
      { detail: 'query parameter "limit" must be a whole number from 1 to 200' },
      { detail: expect.stringContaining('query parameter "after"') },
      { detail: 'query parameter "big" must be true or false' },
    ],
  })
  expect((await client.get('/things/UPPER')).json).toMatchObject({
    errors: [{ detail: 'path parameter "slug" must be a slug' }],
  })
  expect((await client.get('/things/anchor?x=1')).status).toBe(400)
})

test.each(['after=%zz', 'after=100%', 'after=%ff', '%c3=1'])(
  'refuses the query "%s", which cannot be decoded',
  async (query) => {
    const { client } = await start()
    expect(await client.get(`/things?limit=2&${query}`)).toMatchObject({
      status: 400,
      json: {
        detail: 'the query cannot be decoded',
        errors: [{ detail: expect.stringContaining('must be percent-encoded UTF-8') }],
      },
    })
  },
)

test('answers HEAD as GET without the body, and OPTIONS with what is allowed', async () => {
  const { client } = await start()
  const head = await client.request('HEAD', '/things/anchor')
  expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': '26' } })
  expect(await client.request('HEAD', '/downloads/endless')).toMatchObject({ status: 200, text: '' })
  const options = await client.withToken(undefined).request('OPTIONS', '/things')
  expect(options).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, POST, OPTIONS' } })
})

test('answers 404 to an unknown path, 405 with Allow to a wrong method, 400 to a path that cannot be decoded', async () => {
  const { client } = await start()
  for (const path of ['/nowhere', '/Things', '/things/', '/things/a/b']) {
    expect(await client.get(path), path).toMatchObject({ status: 404, json: { type: 'urn:wharf:error:not-found' } })
  }
  const wrong = await client.delete('/things')
  expect(wrong).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, POST, OPTIONS' } })
  expect(await client.get('/things/%zz')).toMatchObject({ status: 400, json: { status: 400 } })
})

test('answers 406 when the client takes nothing that there is', async () => {
  const { client } = await start()
  for (const [accept, status] of [
    ['text/csv', 406],
    ['application/json;q=0', 406],
    ['text/html, application/*;q=0.5', 200],
    ['*/*', 200],
  ] as const) {
    expect((await client.get('/things/anchor', { headers: { accept } })).status, accept).toBe(status)
  }
})

test('carries security headers on every answer and does not say what it is made with', async () => {
  const { client } = await start()
  for (const path of ['/things/anchor', '/nowhere', '/failures/bug']) {
    const { headers } = await client.get(path)
    expect(headers, path).toMatchObject({
      'content-security-policy': "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    expect(headers).not.toHaveProperty('x-powered-by')
    expect(headers).not.toHaveProperty('etag')
  }
})

// Authentication

test('answers 401 with WWW-Authenticate to a missing, unknown or malformed token', async () => {
  const { client, probe } = await start()
  for (const authorization of [undefined, 'Bearer other', 'Basic dTpw', 'Bearer', 'Bearer a b', 'Bearer ä']) {
    const headers = authorization === undefined ? {} : { authorization: Buffer.from(authorization).toString('latin1') }
    const answer = await client.withToken(undefined).get('/things/anchor', { headers })
    expect(answer, authorization).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
    expect(answer.json).toMatchObject({ type: 'urn:wharf:error:unauthenticated' })
  }
  expect(probe.started).toBe(0)
})

test('takes the scheme of a token in any case', async () => {
  const { client } = await start()
  for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
    const answer = await client
      .withToken(undefined)
      .get('/things/anchor', { headers: { authorization: `${scheme} ${TOKEN}` } })
    expect(answer.status, scheme).toBe(200)
  }
})

test.each([
  ['application/json', 200],
  ['text/html, application/*;q=0.1', 200],
  ['text/html, */*;q=0.1', 200],
  ['Application/JSON;charset=utf-8', 200],
  ['', 200],
  ['text/html', 406],
  ['application/json;q=0, */*', 406],
  ['application/json;q=0.0, text/html', 406],
])('answers in JSON where the client takes it: Accept: %s', async (accept, status) => {
  const { client } = await start()
  expect((await client.get('/things/anchor', { headers: { accept } })).status).toBe(status)
})

test('authenticates before anything of the request is looked at', async () => {
  const { client } = await start()
  const anonymous = client.withToken('wrong')
  expect((await anonymous.get('/things/UPPER?x=1', { headers: { accept: 'text/csv' } })).status).toBe(401)
  expect((await anonymous.post('/things', { body: 'no json' })).status).toBe(401)
})

test('refuses an upload without a valid token before it has come in', async () => {
  const { client } = await start()
  const answer = await client.withToken('wrong').post('/uploads', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: bigUpload(200),
  })
  expect(answer).toMatchObject({ status: 401, headers: { connection: 'close' } })
})

test('asks a client that waits for 100 Continue for its body only when the body is wanted', async () => {
  const { server } = await start()
  const head = (token: string): string =>
    `POST /things HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n` +
    'content-length: 100000\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n'
  expect((await sendRaw(server.url, head('wrong'))).text).toMatch(/^HTTP\/1\.1 401 /)
  const body = `{"things":[]}`.padEnd(100_000)
  const { text: answered } = await sendRaw(server.url, head(TOKEN) + body)
  expect(answered).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
})

// Bodies

test('names every fault of a JSON body at once, by pointer', async () => {
  const { client } = await start()
  const answer = await client.post('/things', {
    json: { things: [{ slug: 'UP', size: 1, 'a/b~c': 1 }, { slug: 'ok' }, 7], extra: true },
  })
  expect(answer.status).toBe(400)
  expect(answer.json).toMatchObject({
    errors: [
      { pointer: '/things/0/slug', detail: 'must be a slug' },
      { pointer: '/things/0/a~1b~0c', detail: 'is not a known field' },
      { pointer: '/things/1/size', detail: 'is missing' },
      { pointer: '/things/2', detail: 'invalid input: expected object, received number' },
      { pointer: '/extra', detail: 'is not a known field' },
    ],
  })
})

test('reads JSON that is gzip and JSON that is not, whatever Content-Encoding says', async () => {
  const { client } = await start()
  const plain = '{"things":[{"slug":"a","size":1}]}'
  for (const body of [plain, gzipSync(plain), `\uFEFF${plain}`]) {
    for (const encoding of [{}, { 'content-encoding': 'gzip' }]) {
      const headers = { 'content-type': 'Application/JSON; charset=UTF-8', ...encoding }
      expect(await client.post('/things', { body, headers })).toMatchObject({ status: 201, json: { made: 1 } })
    }
  }
})

test('refuses bodies that it cannot read, saying why', async () => {
  const { client, probe } = await start()
  const type = { 'content-type': 'application/json' }
  for (const [what, init, status, detail] of [
    ['no body', { headers: type }, 400, 'a body of the type application/json is required'],
    ['no type', { body: '{}' }, 415, 'must have the Content-Type application/json'],
    ['other type', { body: '{}', headers: { 'content-type': 'text/plain' } }, 415, 'must have the Content-Type'],
    ['other charset', { body: '{}', headers: { 'content-type': 'application/json;charset=latin1' } }, 415, 'UTF-8'],
    ['not JSON', { body: '{"secret-content', headers: type }, 400, 'the body is not valid JSON'],
    ['not UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]), headers: type }, 400, 'the body is not valid UTF-8'],
    ['cut gzip', { body: gzipSync('{"things":[]}').subarray(0, 20), headers: type }, 400, 'cannot be unpacked'],
    ['too long', { body: ' '.repeat(1024 * 1024 + 1), headers: type }, 413, 'at most 1048576 bytes'],
    ['gzip bomb', { body: gzipSync(' '.repeat(2 * 1024 * 1024)), headers: type }, 413, 'at most 1048576 bytes'],
    ['prototype', { body: '{"things":[],"__proto__":{"x":1}}', headers: type }, 400, 'expected form'],
  ] as const) {
    const answer = await client.post('/things', init)
    expect(answer, what).toMatchObject({ status, json: { detail: expect.stringContaining(detail) } })
    expect(answer.text, what).not.toContain('secret-content')
  }
  expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
  expect(probe.started).toBe(0)
})

test('refuses a body that is too long and has no declared length', async () => {
  const { client } = await start()
  const answer = await client.post('/things', { body: bigUpload(64), headers: { 'content-type': 'application/json' } })
  expect(answer).toMatchObject({ status: 413, headers: { connection: 'close' } })
})

test('hands over raw bodies up to their limit', async () => {
  const { client } = await start()
  const headers = { 'content-type': 'application/sql' }
  expect(await client.put('/sql', { body: 'SELECT 1', headers })).toMatchObject({ status: 200, json: { length: 8 } })
  expect((await client.put('/sql', { body: 'x'.repeat(101), headers })).status).toBe(413)
  expect((await client.put('/sql', { body: 'x', headers: { ...headers, 'content-encoding': 'br' } })).status).toBe(415)
})

test('answers 408 when a whole body does not arrive in time, and closes the connection', async () => {
  const { server } = await start({ limits: { wholeBodyMs: 50 } })
  const { text: answer } = await sendRaw(
    server.url,
    `POST /things HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n` +
      'content-length: 100\r\n\r\n{"things',
  )
  expect(answer).toMatch(/^HTTP\/1\.1 408 /)
  expect(answer).toContain('urn:wharf:error:request-timeout')
})

test('streams an upload of any length, and says how it is coded', async () => {
  const { client } = await start()
  const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' }
  const answer = await client.post('/uploads', { body: bigUpload(100), headers })
  expect(answer).toMatchObject({ status: 200, json: { coding: 'gzip', size: 100 * 64 * 1024 } })
  expect((await client.post('/uploads', { body: 'x', headers: { ...headers, 'content-encoding': 'br' } })).status).toBe(
    415,
  )
  expect((await client.post('/uploads', { json: {} })).status).toBe(415)
})

test('tells a client what is wrong with its upload while it is still sending', async () => {
  const { client } = await start()
  const answer = await client.post('/uploads?refuseAfter=100000', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: bigUpload(400),
  })
  expect(answer).toMatchObject({ status: 400, json: { errors: [{ line: 3, detail: 'is odd' }] } })
})

test('answers 408 when a streamed upload stops, and lets a slow one that goes on be', async () => {
  const { server, client } = await start({ limits: { uploadIdleMs: 800 } })
  const head =
    `POST /uploads HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n` +
    'content-type: application/x-ndjson\r\ncontent-length: 1000000\r\n\r\n'
  expect((await sendRaw(server.url, `${head}one line\n`)).text).toMatch(/^HTTP\/1\.1 408 /)
  const slowly = (async function* () {
    for (let index = 0; index < 10; index += 1) {
      yield Buffer.from('x')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()
  const answer = await client.post('/uploads', { body: slowly, headers: { 'content-type': 'application/x-ndjson' } })
  expect(answer).toMatchObject({ status: 200, json: { size: 10 } })
})

test('answers 408 to an upload that goes on for ever, and lets a long one of many bytes be', async () => {
  const limits = { uploadMs: 300, uploadBytesPerSecond: 1_000 }
  const { client } = await start({ limits })
  const pieces = (sizeBytes: number) =>
    (async function* () {
      for (let index = 0; index < 12; index += 1) {
        yield Buffer.alloc(sizeBytes, 'x')
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })()
  const headers = { 'content-type': 'application/x-ndjson' }
  expect(await client.post('/uploads', { body: pieces(1), headers })).toMatchObject({
    status: 408,
    json: { type: 'urn:wharf:error:request-timeout' },
  })
  expect(await client.post('/uploads', { body: pieces(100_000), headers })).toMatchObject({
    status: 200,
    json: { size: 1_200_000 },
  })
})

// Streamed answers

test('streams an answer from an iterable or from a function that writes it', async () => {
  const { client } = await start()
  for (const kind of ['whole', 'written']) {
    const answer = await client.get(`/downloads/${kind}`)
    expect(answer.text, kind).toBe('{"line":1}\n{"line":2}\n')
    expect(answer.headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      'content-disposition': 'attachment',
    })
  }
  expect(await client.get('/downloads/empty')).toMatchObject({ status: 200, text: '' })
})

test('answers a problem when a stream fails before its first byte', async () => {
  const { client } = await start()
  const answer = await client.get('/downloads/fails-first')
  expect(answer).toMatchObject({ status: 503, json: { type: 'urn:wharf:error:export-interrupted' } })
})

test('breaks the connection when a stream fails later, so that a part never looks complete', async () => {
  const { client, accessLines, until } = await start()
  await expect(client.get('/downloads/fails-later')).rejects.toThrow(/closed|terminated/)
  await until(() => accessLines().length === 1)
  expect(accessLines()[0]).toMatchObject({ complete: false, problem: 'urn:wharf:error:export-interrupted' })
  expect(accessLines()[0]).not.toHaveProperty('aborted')
})

test('gives up a reader that takes nothing any more', async () => {
  const { server, accessLines, until } = await start({ limits: { answerIdleMs: 50 } })
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /downloads/endless HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`)
  socket.pause()
  await until(() => accessLines().length === 1)
  expect(accessLines()[0]).toMatchObject({ path: '/downloads/endless', complete: false })
  socket.destroy()
})

test('gives up a reader that takes a little now and then, so that its answer would never end', async () => {
  const { server, accessLines, until } = await start({
    limits: { answerIdleMs: 400, answerBytesPerSecond: 2 ** 30 },
  })
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.write(`GET /downloads/endless HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`)
  socket.pause()
  const sips = setInterval(() => socket.read(65_536), 20)
  await until(() => accessLines().length === 1)
  expect(accessLines()[0]).toMatchObject({ path: '/downloads/endless', complete: false })
  clearInterval(sips)
  socket.destroy()
})

// Problems

test('answers an expected failure with its code, its faults and the id of the request', async () => {
  const { client } = await start()
  const answer = await client.get('/failures/conflict', { headers: { 'x-request-id': 'my-request.1' } })
  expect(answer).toMatchObject({ status: 409, headers: { 'content-type': 'application/problem+json' } })
  expect(answer.json).toEqual({
    type: 'urn:wharf:error:conflict',
    title: 'Conflict',
    status: 409,
    detail: 'they differ',
    instance: 'urn:wharf:request:my-request.1',
    errors: [{ line: 3, detail: 'this' }, { detail: 'and that' }],
  })
})

test('never lets out what an unexpected error, or one for the operator, says', async () => {
  const { client, lines } = await start()
  const bug = await client.get('/failures/bug')
  expect(bug).toMatchObject({ status: 500, json: { type: 'urn:wharf:error:internal' } })
  const database = await client.get('/failures/database')
  expect(database).toMatchObject({ status: 503, headers: { 'retry-after': '7' } })
  for (const { text } of [bug, database]) expect(text).not.toMatch(/SELECT|inner\.host|\.ts:|failAs/)
  const logged = lines.find(({ msg }) => msg === 'request failed unexpectedly')
  expect(logged).toMatchObject({
    requestId: bug.headers['x-request-id'],
    err: { stack: expect.stringContaining('failAs') },
  })
})

test('answers what is not HTTP with a problem, and ends the connection', async () => {
  const { server } = await start()
  const { text: garbage } = await sendRaw(server.url, 'HELO wharf\r\n\r\n')
  expect(garbage).toMatch(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/problem\+json/)
  const { text: huge } = await sendRaw(server.url, `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`)
  expect(huge).toMatch(/^HTTP\/1\.1 431 /)
})

// Request ids and logs

test('keeps a well-formed request id of the client, and makes one otherwise', async () => {
  const { client } = await start()
  const idFor = async (id: string): Promise<string | undefined> =>
    (await client.get('/nowhere', { headers: { 'x-request-id': id } })).headers['x-request-id']
  expect(await idFor('Trace_1.2-3')).toBe('Trace_1.2-3')
  for (const id of ['a b', 'x'.repeat(129), '"', '']) {
    expect(await idFor(id), id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  }
})

test('leaves one line for each request, without token or query', async () => {
  const { client, lines, accessLines, until } = await start()
  await client.get('/things?after=hidden-value', { headers: { 'x-request-id': 'r-1' } })
  await until(() => accessLines().length === 1)
  expect(accessLines()).toEqual([
    {
      level: 30,
      time: expect.any(String),
      requestId: 'r-1',
      method: 'GET',
      path: '/things',
      operation: 'listThings',
      status: 200,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      tokenId: 'token-7',
      msg: 'request',
    },
  ])
  expect(JSON.stringify(lines)).not.toContain(TOKEN)
  expect(JSON.stringify(lines)).not.toContain('hidden-value')
})

test('gives the lines that a handler logs the id of the request', async () => {
  const { client, lines } = await start()
  await client.get('/things/anchor', { headers: { 'x-request-id': 'r-2' } })
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'looking', requestId: 'r-2' }))
})

test('logs health checks at debug only', async () => {
  const { lines, until } = await start()
  await until(() => lines.some(({ path }) => path === '/healthz'))
  expect(lines.find(({ path }) => path === '/healthz')).toMatchObject({ level: 20, status: 200 })
})

// Clients that leave, and shutdown

test('aborts the work for a client that goes away, and does not call it an error', async () => {
  const { server, probe, lines, accessLines, until } = await start()
  const reasons: unknown[] = []
  probe.onWait = async (signal) => {
    await once(signal, 'abort')
    reasons.push(signal.reason)
    throw new Error('the query was cancelled')
  }
  const request = nodeRequest(`${server.url}/waits`, { method: 'POST' })
  request.on('error', () => undefined)
  request.end()
  await until(() => probe.started === 1)
  request.destroy()
  await until(() => accessLines().length === 1 && reasons.length === 1)
  expect(reasons[0]).toMatchObject({ name: 'ClientGone' })
  expect(accessLines()[0]).toMatchObject({ operation: 'wait', complete: false, aborted: true })
  expect(accessLines()[0]).not.toHaveProperty('status')
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
})

test('stops reading an upload whose client goes away', async () => {
  const { server, probe, lines, accessLines, until } = await start()
  const request = nodeRequest(`${server.url}/uploads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' },
  })
  request.on('error', () => undefined)
  request.write('one line\n')
  await until(() => probe.started === 1)
  request.socket?.resetAndDestroy()
  await until(() => accessLines().length === 1 && lines.some(({ msg }) => msg === 'client went away'))
  expect(accessLines()[0]).toMatchObject({ path: '/uploads', complete: false, aborted: true })
  for (const name of ['status', 'problem']) expect(accessLines()[0]).not.toHaveProperty(name)
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
})

test('logs a download that its client leaves with the status that it had, and as left', async () => {
  const { server, accessLines, until } = await start()
  const request = nodeRequest(`${server.url}/downloads/endless`, { headers: { authorization: `Bearer ${TOKEN}` } })
  request.on('error', () => undefined)
  request.end()
  const [response] = await once(request, 'response')
  await once(response, 'data')
  request.destroy()
  await until(() => accessLines().length === 1)
  expect(accessLines()[0]).toMatchObject({ status: 200, complete: false, aborted: true })
  expect(accessLines()[0]).not.toHaveProperty('problem')
})

test('lets a running request end when the service stops, and takes no new ones', async () => {
  const { server, client, probe, until } = await start({ graceMs: 5_000 })
  const released = deferred()
  probe.onWait = () => released.promise
  const running = client.post('/waits')
  await until(() => probe.started === 1)
  const closed = server.close()
  await expect(sendRaw(server.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')).rejects.toThrow(/ECONNREFUSED/)
  released.resolve()
  expect(await running).toMatchObject({ status: 204, headers: { connection: 'close' } })
  await closed
})

test('aborts what is still running after the grace period, with 503', async () => {
  const { server, client, probe, api, until } = await start({ graceMs: 20 })
  const running = client.post('/waits')
  await until(() => probe.started === 1)
  const closed = server.close()
  const answer = await running
  expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5', connection: 'close' } })
  expect(answer.json).toMatchObject({ type: 'urn:wharf:error:shutting-down' })
  await closed
  expect(api.running.size).toBe(0)
})

test('breaks off an endless answer when the service stops', async () => {
  const { server, client, probe, until, accessLines } = await start({ graceMs: 20 })
  probe.started = 0
  const running = client.get('/downloads/endless').catch((error: unknown) => error)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await server.close()
  expect(await running).toBeInstanceOf(Error)
  await until(() => accessLines().length === 1)
})

// The service's own calls

test('says ready while everything it depends on answers, and what does not otherwise', async () => {
  let reachable = true
  const database = async (): Promise<void> => {
    if (!reachable) throw new Error(SECRET)
  }
  const { client, lines } = await start({ checks: { database } })
  const anonymous = client.withToken(undefined)
  expect(await anonymous.get('/readyz')).toMatchObject({ status: 200, json: { status: 'ready' } })
  reachable = false
  const answer = await anonymous.get('/readyz')
  expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
  expect(answer.json).toMatchObject({ errors: [{ detail: 'database does not answer' }] })
  expect(answer.text).not.toContain('inner.host')
  // However often it is asked, that is logged when it begins, and when it is over.
  await anonymous.get('/readyz')
  reachable = true
  await anonymous.get('/readyz')
  await anonymous.get('/readyz')
  const said = lines.filter(({ level, msg }) => Number(level) >= 30 && msg !== 'request')
  expect(said.map(({ msg, check }) => [msg, check])).toEqual([
    ['not ready', 'database'],
    ['ready again', 'database'],
  ])
})

test('describes every call, body, parameter and failure', async () => {
  const { client } = await start()
  const { json: document } = await client.get('/openapi.json')
  expect(document).toMatchObject({
    openapi: '3.1.1',
    info: { version: '1.2.3' },
    components: { securitySchemes: { token: { scheme: 'bearer' } }, schemas: { Problem: {}, Thing: {} } },
    paths: {
      '/things': {
        get: {
          security: [{ token: [] }],
          parameters: expect.arrayContaining([
            expect.objectContaining({
              in: 'query',
              name: 'limit',
              schema: { type: 'integer', minimum: 1, maximum: 200, default: 50, description: expect.any(String) },
            }),
          ]),
        },
        post: {
          requestBody: { required: true },
          responses: { 201: {}, 400: {}, 401: {}, 408: {}, 413: {}, 415: {}, 500: {} },
        },
      },
      '/things/{slug}': { get: { responses: { 304: {}, 403: {}, 404: {} } } },
      '/healthz': { get: { security: [] } },
    },
  })
})

test('fails a test whose server answers what it does not describe', async () => {
  const { client } = await start()
  await expect(client.get('/failures/undeclared-status')).rejects.toThrow('this status is not described')
  await expect(client.get('/failures/undeclared-code')).rejects.toThrow('its body is wrong at "/type"')
})

test('shows the same to people', async () => {
  const { client } = await start()
  const { text, headers } = await client.get('/docs')
  expect(headers['content-type']).toMatch(/^text\/html/)
  expect(headers['content-security-policy']).toMatch(/^default-src 'none';script-src 'self'/)
  expect(text.replaceAll('<wbr>', '')).toContain('/things/{slug}')
})

test('explains every error code for users', async () => {
  const explained = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  for (const [code, { status }] of Object.entries(PROBLEMS)) {
    expect(explained, code).toMatch(new RegExp(`^\\| \`${code}\` \\| ${status} \\|`, 'm'))
  }
})

test.each([
  [
    'two routes on one path',
    [wait.handle(() => ({ status: 204 })), wait.handle(() => ({ status: 204 }))],
    /two routes/,
  ],
  [
    'a body with an object that is not strict',
    [
      defineRoute({
        ...createThings.spec,
        body: jsonBody(z.strictObject({ inner: z.object({ a: z.string() }) })),
      }).handle(() => ({ status: 201, body: { made: 0 } })),
    ],
    /not strict at "\/properties\/inner"/,
  ],
  [
    'parameters that are not in the path',
    [defineRoute({ ...fail.spec, path: '/failures/{other}' }).handle(() => ({ status: 200, body: { status: 'ok' } }))],
    /\(kind\), its path has \(other\)/,
  ],
  [
    'a call for those with a right in a project that its path does not name',
    [
      defineRoute({ ...fail.spec, access: { by: 'member', project: 'slug' } }).handle(() => ({
        status: 200,
        body: { status: 'ok' },
      })),
    ],
    /its path has no \{slug\}/,
  ],
])('refuses to start with %s', (_, routes, message) => {
  const options = {
    authenticate: async () => ({ id: '' }),
    authorise: () => undefined,
    tokenIdOf: () => '',
    logger: createLogger('silent'),
  }
  expect(() => createApi({ ...options, routes })).toThrow(message)
})

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
