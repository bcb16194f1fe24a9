import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createAddressOf } from '../../src/api/client-address.ts'
import { TOKEN } from '../support/http/frame-routes.ts'
import { start } from '../support/http/frame-server.ts'
import { openSocket, sendRaw } from '../support/http/raw-http.ts'
import { startWharf } from '../support/service/wharf.ts'

const RETRY_AFTER = { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) }

const tooMany = { status: 429, headers: RETRY_AFTER, json: { type: 'urn:wharf:error:too-many-requests' } }

test('guesses tokens without end, or shuts others out who share the address', async () => {
  const { client } = await start({ requestLimits: { maxFailedLogins: 3, maxRequests: 0 } })
  expect((await client.get('/things')).status).toBe(200)
  for (let guess = 0; guess < 4; guess += 1) {
    expect((await client.withToken(`guess-${guess}`).get('/things')).status).toBe(401)
  }
  expect(await client.withToken('guess-5').get('/things')).toMatchObject(tooMany)
  expect((await client.get('/things')).status).toBe(200)
  expect((await client.withToken(undefined).get('/things')).status).toBe(401)
})

test('guesses on from behind a proxy, under addresses of its own invention', async () => {
  const { client } = await start({
    requestLimits: { maxFailedLogins: 2, maxRequests: 0 },
    trustedProxies: ['127.0.0.0/8'],
  })
  const guess = async (forwarded: string): Promise<number> =>
    (await client.withToken('guess').get('/things', { headers: { 'x-forwarded-for': forwarded } })).status
  for (let number = 0; number < 3; number += 1) expect(await guess(`198.51.100.${number}, 203.0.113.7`)).toBe(401)
  expect(await guess('198.51.100.9, 203.0.113.7')).toBe(429)
  expect(await guess('198.51.100.9, 203.0.113.7, 127.0.0.9')).toBe(429)
  expect(await guess('203.0.113.7, 203.0.113.8')).toBe(401)
})

test('is taken for another client by a header, where no proxy is trusted', async () => {
  const { client } = await start({ requestLimits: { maxFailedLogins: 2, maxRequests: 0 } })
  const statuses: number[] = []
  for (let number = 0; number < 5; number += 1) {
    const headers = { 'x-forwarded-for': `198.51.100.${number}` }
    statuses.push((await client.withToken('guess').get('/things', { headers })).status)
  }
  expect(statuses).toEqual([401, 401, 401, 429, 429])
})

test.each([
  { peer: '10.0.0.1', header: '1.1.1.1, 2.2.2.2', address: '2.2.2.2' },
  { peer: '10.0.0.1', header: '1.1.1.1, 2.2.2.2, 10.9.9.9', address: '2.2.2.2' },
  { peer: '::ffff:10.0.0.1', header: '2.2.2.2', address: '2.2.2.2' },
  { peer: '10.0.0.1', header: undefined, address: '10.0.0.1' },
  { peer: '10.0.0.1', header: ' , ', address: '10.0.0.1' },
  { peer: '10.0.0.1', header: '10.0.0.5, 10.0.0.6', address: '10.0.0.5' },
  { peer: '9.9.9.9', header: '2.2.2.2', address: '9.9.9.9' },
  { peer: '2001:db8:1:2:aaaa::1', header: undefined, address: '2001:db8:1:2::/64' },
  { peer: 'fd00::1', header: '2001:db8:1:2::5', address: '2001:db8:1:2::/64' },
  { peer: '10.0.0.1', header: '1.1.1.1, 2.2.2.2:5678', address: '2.2.2.2' },
  { peer: '10.0.0.1', header: '2.2.2.2:1, 10.9.9.9:5678', address: '2.2.2.2' },
  { peer: '10.0.0.1', header: '[2001:db8:1:2::5]:5678', address: '2001:db8:1:2::/64' },
  { peer: '10.0.0.1', header: '[2001:db8:1:2::5]', address: '2001:db8:1:2::/64' },
  { peer: '10.0.0.1', header: '[::ffff:2.2.2.2]:80', address: '2.2.2.2' },
])('a request over $peer with "$header" is counted as from $address', ({ peer, header, address }) => {
  const addressOf = createAddressOf(['10.0.0.0/8', 'fd00::1'])
  const request = { socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': header } }
  expect(addressOf(request)).toBe(address)
})

test('uses up the service with one token, while others go on', async () => {
  const { client } = await start({ requestLimits: { maxFailedLogins: 0, maxRequests: 3 } })
  for (let request = 0; request < 3; request += 1) expect((await client.get('/things')).status).toBe(200)
  expect(await client.get('/things')).toMatchObject(tooMany)
  expect((await client.withToken(undefined).get('/healthz')).status).toBe(200)
  expect((await client.withToken(undefined).get('/things')).status).toBe(401)
})

test('has a token looked up with each request that is refused', async () => {
  const { client, probe } = await start({ requestLimits: { maxFailedLogins: 0, maxRequests: 2 } })
  for (const status of [200, 200, 429]) expect((await client.get('/things')).status).toBe(status)
  const nobody = client.withToken(undefined)
  for (const status of [401, 401, 429]) expect((await nobody.get('/things')).status).toBe(status)
  const { lookUps } = probe
  for (let request = 0; request < 5; request += 1) {
    expect(await client.get('/things')).toMatchObject(tooMany)
    expect(await nobody.get('/things')).toMatchObject(tooMany)
  }
  expect(probe.lookUps).toBe(lookUps)
})

test('floods the content of a project, or guesses its tokens, over the route that comes most often', async () => {
  const wharf = await startWharf({ environment: { WHARF_MAX_REQUESTS: '3', WHARF_MAX_FAILED_LOGINS: '2' } })
  try {
    const path = '/content/nowhere/live/item'
    for (let request = 0; request < 3; request += 1) expect((await wharf.root.get(path)).status).toBe(404)
    expect(await wharf.root.get(path)).toMatchObject(tooMany)
    for (let guess = 0; guess < 3; guess += 1) {
      expect((await wharf.root.withToken(`guess-${guess}`).get(path)).status).toBe(401)
    }
    expect(await wharf.root.withToken('guess').get(path)).toMatchObject(tooMany)
  } finally {
    await wharf.close()
  }
})

/** Opens connections that send nothing, and collects what comes over each. */
async function openMany(url: string, count: number): Promise<{ readonly sockets: Socket[]; close: () => void }> {
  const sockets: Socket[] = []
  for (let index = 0; index < count; index += 1) sockets.push(await openSocket(url))
  return { sockets, close: () => sockets.forEach((socket) => void socket.destroy()) }
}

test('takes every connection there is from one address', async () => {
  const { server } = await start({ connections: { maxConnections: 4, trustedProxies: [] } })
  const request = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
  // One more is kept alive by the client of the harness.
  const { sockets, close } = await openMany(server.url, 3)
  const refused = await sendRaw(server.url, request)
  expect(refused.status).toBe(429)
  for (const header of [/retry-after: \d+/i, /connection: close/i]) expect(refused.text).toMatch(header)
  expect(refused.text).toContain('urn:wharf:error:too-many-requests')
  close()
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')))
  await expect.poll(async () => (await sendRaw(server.url, request)).status).toBe(200)
})

test('keeps connections that are too many open by saying nothing', async () => {
  const { server } = await start({ connections: { maxConnections: 4, trustedProxies: [] } })
  const { sockets, close } = await openMany(server.url, 12)
  const ended = (): number => sockets.filter((socket) => socket.resume().readableEnded || socket.destroyed).length
  await expect.poll(ended, { timeout: 30_000 }).toBeGreaterThanOrEqual(8)
  expect(ended()).toBeLessThan(12)
  close()
})

test('has the connections of a trusted proxy counted as those of one address', async () => {
  const { server, client } = await start({ connections: { maxConnections: 1, trustedProxies: ['127.0.0.1'] } })
  const { close } = await openMany(server.url, 5)
  expect((await client.get('/healthz')).status).toBe(200)
  close()
})

test.each([
  ['nothing at all', ''],
  ['half of a request line', 'GET /thi'],
  ['headers without an end', 'GET /things HTTP/1.1\r\nhost: x\r\nx-a: 1\r\n'],
])('keeps a connection open by sending %s', async (_, head) => {
  const { server } = await start({ headMs: 200 })
  const answer = await sendRaw(server.url, head)
  expect(answer.status).toBe(408)
  expect(answer.text).toMatch(/retry-after: \d+/)
  expect(answer.text).toContain('urn:wharf:error:request-timeout')
})

test('keeps a connection busy by a body that it never ends', async () => {
  const { server } = await start({ limits: { wholeBodyMs: 100, uploadIdleMs: 100 } })
  const head = (target: string, type: string): string =>
    `POST ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: ${type}\r\ncontent-length: 100\r\n\r\n{`
  for (const request of [head('/things', 'application/json'), head('/uploads', 'application/x-ndjson')]) {
    const answer = await sendRaw(server.url, request)
    expect(answer.status).toBe(408)
    expect(answer.text).toMatch(/retry-after: \d+/)
  }
})

test('keeps a connection busy by a body that nobody asked for', async () => {
  const { server } = await start({ limits: { wholeBodyMs: 200 } })
  const answer = await sendRaw(server.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nx')
  expect(answer.status).toBe(200)
})
