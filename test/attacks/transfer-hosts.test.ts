import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, test } from 'vitest'
import { assertAllowedHost, createVettedLookup, type FindAddresses, hostAndPortOf } from '../../src/allowed-hosts.ts'
import { openSession } from '../../src/database/session-client.ts'
import { createLogger } from '../../src/logger.ts'
import { connectRemoteServer } from '../../src/transfer/remote/remote-server.ts'
import { serveHttp } from '../support/http/serve-http.ts'

const namesLeadTo =
  (...addresses: string[]): FindAddresses =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

/** What a connection to `origin` may go to, where its name leads to `addresses`. */
async function reach(origin: string, allowed: string[], ...addresses: string[]): Promise<string[]> {
  try {
    assertAllowedHost(hostAndPortOf(origin), allowed)
  } catch {
    return []
  }
  const lookup = createVettedLookup(hostAndPortOf(origin), allowed, { findAddresses: namesLeadTo(...addresses) })
  return new Promise((resolve) => {
    lookup(new URL(origin).hostname, { all: true }, (_error, found) => {
      resolve(Array.isArray(found) ? found.map(({ address }) => address) : [])
    })
  })
}

const PARTNER = 'https://partner.example'

test.each<[what: string, origin: string, allowed: string[], address: string]>([
  ['any local port, where one is allowed', PARTNER, ['partner.example', '127.0.0.1:4249'], '127.0.0.1'],
  ['another local port', `${PARTNER}:4250`, ['partner.example', '127.0.0.1:4249'], '127.0.0.1'],
  ['another port of a private address', PARTNER, ['partner.example', '10.0.0.5:4000'], '10.0.0.5'],
  ['a local port by IPv6', `${PARTNER}:1`, ['partner.example', '[::1]:4249'], '::1'],
  ['a private address', PARTNER, ['partner.example'], '10.0.0.5'],
  ['the addresses of localhost, which is allowed for itself', PARTNER, ['partner.example', 'localhost'], '127.0.0.1'],
  ['the metadata of a cloud', PARTNER, ['partner.example'], '169.254.169.254'],
  ['the unspecified address', PARTNER, ['partner.example'], '0.0.0.0'],
  ['the unspecified address of IPv6', PARTNER, ['partner.example'], '::'],
  ['an address of IPv4 as one of IPv6', PARTNER, ['partner.example'], '::ffff:127.0.0.1'],
  ['the same in hexadecimal digits', PARTNER, ['partner.example'], '::ffff:7f00:1'],
  ['an address of IPv4 behind NAT64', PARTNER, ['partner.example'], '64:ff9b::7f00:1'],
  ['an address of IPv4 by 6to4', PARTNER, ['partner.example'], '2002:7f00:1::'],
  ['a unique local address', PARTNER, ['partner.example'], 'fd00::1'],
  ['a link-local address', PARTNER, ['partner.example'], 'fe80::1'],
  ['carrier-grade NAT', PARTNER, ['partner.example'], '100.64.0.1'],
  ['broadcast', PARTNER, ['partner.example'], '255.255.255.255'],
  ['a name below an allowed one', 'https://a.partner.example', ['partner.example'], '8.8.8.8'],
  ['an allowed name with a dot at its end', 'https://partner.example.', ['partner.example'], '8.8.8.8'],
  ['another port of an allowed name', `${PARTNER}:8443`, ['partner.example:443'], '8.8.8.8'],
])('a name leads to %s', async (_what, origin, allowed, address) => {
  expect(await reach(origin, allowed, address)).toEqual([])
})

test.each([
  'http://127.0.0.1:22',
  'http://2130706433:22',
  'http://0x7f.1:22',
  'http://0177.0.0.1:22',
  'http://127.1:22',
  'http://0:22',
  'http://[::1]:22',
  'http://[::ffff:127.0.0.1]:22',
  'http://localhost:22',
  'http://LOCALHOST:22',
])('a transfer reaches %s, where another port is allowed', async (origin) => {
  expect(await reach(origin, ['127.0.0.1:4249', '[::1]:4249', 'localhost:4249', '0.0.0.0:4249'], '127.0.0.1')).toEqual(
    [],
  )
})

test.each<[origin: string, allowed: string[], address: string]>([
  [PARTNER, ['partner.example'], '8.8.8.8'],
  [PARTNER, ['partner.example:443'], '2606:4700::1111'],
  [PARTNER, ['partner.example', '10.0.0.5'], '10.0.0.5'],
  [`${PARTNER}:4249`, ['partner.example', '127.0.0.1:4249'], '127.0.0.1'],
  ['http://localhost:4000', ['localhost'], '127.0.0.1'],
  ['http://localhost:4000', ['localhost:4000'], '::1'],
  ['http://[::1]:4000', ['[::1]:4000'], '::1'],
  ['http://[0:0:0:0:0:0:0:1]', ['[::1]'], '::1'],
  ['http://[::ffff:127.0.0.1]:4000', ['127.0.0.1'], '127.0.0.1'],
])('%s is reached with %o at %s', async (origin, allowed, address) => {
  expect(await reach(origin, allowed, address)).toEqual([address])
})

test('only those addresses of a name that may be connected to are used', async () => {
  expect(await reach(PARTNER, ['partner.example'], '127.0.0.1', '8.8.8.8', '10.0.0.1')).toEqual(['8.8.8.8'])
})

test('an address that changes after it was looked up is looked up again, and refused', async () => {
  const answers = ['8.8.8.8', '127.0.0.1']
  const lookup = createVettedLookup(hostAndPortOf(PARTNER), ['partner.example'], {
    findAddresses: async () => [{ address: answers.shift() ?? '', family: 4 }],
  })
  const ask = () =>
    new Promise((resolve) => lookup('partner.example', {}, (error, address) => resolve(error?.message ?? address)))
  expect(await ask()).toBe('8.8.8.8')
  expect(await ask()).toMatch(/^partner\.example is an address inside .* can allow it by the address itself/)
  const socket = connect({
    host: 'partner.example',
    port: 443,
    lookup: createVettedLookup(hostAndPortOf(PARTNER), [], { findAddresses: namesLeadTo('127.0.0.1') }),
  })
  const [error] = await once(socket, 'error')
  expect(String(error)).toMatch(/inside this server's own network/)
})

test('a session of PostgreSQL goes to addresses only that its lookup gives', async () => {
  const { hostname, port, username, password, pathname } = new URL(inject('wharfUrl'))
  const server = { hostname: 'partner.example', port: Number(port) }
  const open = (allowed: string[], address: string) =>
    openSession(
      {
        ...{ name: 'partner', host: server.hostname, port: server.port, user: username, database: pathname.slice(1) },
        ...{ password: decodeURIComponent(password), encryption: false },
        lookup: createVettedLookup(server, allowed, { findAddresses: namesLeadTo(address) }),
      },
      { kind: 'attached', applicationName: 'test', logger: createLogger('silent') },
    )
  await expect(open(['partner.example'], hostname)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const client = await open(['partner.example', `${hostname}:${port}`], hostname)
  expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  await client.end()
})

test('a server that answers with a redirect leads nowhere', async () => {
  const inside = await serveHttp((_, response) => response.end('secret'))
  const partner = await serveHttp((_, response) => {
    response.writeHead(307, { location: inside.url })
    response.end()
  })
  const server = connectRemoteServer({
    origin: partner.url,
    token: 'T',
    allowed: [new URL(partner.url).host],
    signal: AbortSignal.timeout(20_000),
  })
  try {
    await expect(server.openExport({ slug: 'shop', system: false })).rejects.toMatchObject({ code: 'REMOTE_FAILED' })
    expect(inside.requests).toEqual([])
  } finally {
    await server.close()
  }
})
