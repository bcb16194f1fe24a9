import { expect, test } from 'vitest'
import { maskSecrets } from '../../src/cli/mask.ts'
import { parseProjectTarget, parseServerTarget } from '../../src/transfer/remote/target.ts'

const TOKEN = 'wharf_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG'

test.each([
  ['wharf://shop:T@example.org', 'https://example.org', 'shop', 'T'],
  ['wharf://shop:T@example.org:8443', 'https://example.org:8443', 'shop', 'T'],
  ['wharf://shop:T@example.org:80', 'https://example.org:80', 'shop', 'T'],
  ['wharf://shop:T@example.org:443/', 'https://example.org', 'shop', 'T'],
  ['WHARF://shop:T@Example.ORG', 'https://example.org', 'shop', 'T'],
  ['wharf://shop:T@localhost:4000', 'http://localhost:4000', 'shop', 'T'],
  ['wharf://shop:T@127.0.0.1:443', 'http://127.0.0.1:443', 'shop', 'T'],
  ['wharf://shop:T@127.1.2.3', 'http://127.1.2.3', 'shop', 'T'],
  ['wharf://shop:T@[::1]:4000', 'http://[::1]:4000', 'shop', 'T'],
  ['wharf://shop:T@128.0.0.1', 'https://128.0.0.1', 'shop', 'T'],
  ['wharf://shop:T@localhost.example.org', 'https://localhost.example.org', 'shop', 'T'],
  ['wharf+http://shop:T@example.org', 'http://example.org', 'shop', 'T'],
  ['wharf+https://shop:T@localhost', 'https://localhost', 'shop', 'T'],
  ['wharf://shop@example.org', 'https://example.org', 'shop', undefined],
  ['wharf://shop:@example.org', 'https://example.org', 'shop', undefined],
  ['wharf://my-shop_2:a%2Fb%40c%25@example.org', 'https://example.org', 'my-shop_2', 'a/b@c%'],
])('%s leads to %s', (dsn, origin, project, token) => {
  expect(parseProjectTarget(dsn)).toMatchObject({ kind: 'remote', origin, project, token })
})

test.each([undefined, '.'])('%s is the local project', (dsn) => {
  expect(parseProjectTarget(dsn)).toEqual({ kind: 'local' })
  expect(parseServerTarget(dsn)).toEqual({ kind: 'local' })
})

test.each([
  ['shop', 'does not begin with wharf://'],
  [`https://shop:${TOKEN}@example.org`, 'does not begin with wharf://'],
  [`wharf:/shop:${TOKEN}@example.org`, 'does not begin with wharf://'],
  ['', 'does not begin with wharf://'],
  ['wharf://', 'not well formed'],
  [`wharf://shop:${TOKEN}@`, 'not well formed'],
  [`wharf://shop:${TOKEN}@example.org:99999`, 'not well formed'],
  [`wharf://shop:${TOKEN}/x@example.org`, 'not well formed'],
  [`wharf://shop:${TOKEN}@example.org/path`, 'nothing can follow'],
  [`wharf://shop:${TOKEN}@example.org?x=1`, 'nothing can follow'],
  [`wharf://shop:${TOKEN}@example.org#x`, 'nothing can follow'],
  [`wharf://shop:%zz${TOKEN}@example.org`, 'percent-encoding'],
  [`wharf://Shop:${TOKEN}@example.org`, 'not a slug'],
  [`wharf://${TOKEN}@example.org`, 'not a slug'],
  ['wharf://example.org', 'names no project'],
  [`wharf://:${TOKEN}@example.org`, 'names no project'],
])('%s is refused with what is expected, and never repeated', (dsn, reason) => {
  const parse = () => parseProjectTarget(dsn)
  expect(parse).toThrow(reason)
  expect(parse).toThrow('expected wharf://<project>:<TOKEN>@<host>[:port]')
  expect(parse).not.toThrow(TOKEN)
  expect(parse).toThrow(expect.objectContaining({ code: 'WRONG_USE' }))
})

test.each([
  ['wharf://example.org', undefined, undefined, 'wharf://example.org'],
  ['wharf://:T@example.org:8080', undefined, 'T', 'wharf://example.org:8080'],
  ['wharf+http://shop:T@example.org', 'shop', 'T', 'wharf+http://shop@example.org'],
])('a server may be named without a project: %s', (dsn, project, token, name) => {
  expect(parseServerTarget(dsn)).toMatchObject({ project, token, name })
})

test.each([
  ['no wharf://shop:secret@example.org here', 'no wharf://shop:***@example.org here'],
  ['wharf+http://:secret@h and wharf://b:other@h', 'wharf+http://:***@h and wharf://b:***@h'],
  ['wharf://shop:se@cret@example.org', 'wharf://shop:***@example.org'],
  ['wharf://shop:se/cret@example.org', 'wharf://shop:***@example.org'],
  ["unknown command 'wharf://shop:secret@h'", "unknown command 'wharf://shop:***@h'"],
  [`wharf://${TOKEN}@h`, 'wharf://wharf_***@h'],
  [`the token ${TOKEN}, used`, 'the token wharf_***, used'],
  [`wharf_old_${TOKEN.slice(6)}`, 'wharf_***'],
  ['wharf_old_0123456789abcdef0123456789abcdef01234567', 'wharf_***'],
  ['wharf_new_0123456789abcdef-', 'wharf_***'],
  ['in "wharf_old_0123456789abcdef", kept', 'in "wharf_old_0123456789abcdef", kept'],
  ['wharf_new_0123456789abcdef.item', 'wharf_new_0123456789abcdef.item'],
  ['wharf_direct_0123456789abcdef', 'wharf_direct_0123456789abcdef'],
  ['wharf://shop@example.org', 'wharf://shop@example.org'],
  ['wharf://<project>:<TOKEN>@<host>', 'wharf://<project>:<TOKEN>@<host>'],
  ['at postgres://app:secret@db/app', 'at postgres://app:***@db/app'],
  ['postgresql://app:se/cr:e?t@x@db and more', 'postgresql://app:***@db and more'],
  ["'postgres://:secret@db'", "'postgres://:***@db'"],
  ['postgres://app%40corp:secret@db', 'postgres://app%40corp:***@db'],
  ['/projects/postgres%3A%2F%2Fapp%3Ase%40cret%40db%2Fapp', '/projects/postgres%3A%2F%2Fapp:***%40db%2Fapp'],
  ['in /tmp/postgres:/app:secret@db', 'in /tmp/postgres:/app:***@db'],
  ['postgres://app@db/app?password=secret&sslmode=require', 'postgres://app@db/app?password=***&sslmode=require'],
  ['postgres://db?sslpassword=secret', 'postgres://db?sslpassword=***'],
  ["host=db password = 'se cr\\'et' user=app", 'host=db password = *** user=app'],
  ['PGPASSWORD=secret wharf', 'PGPASSWORD=*** wharf'],
  [
    'GRANT "wharf_0123456789abcdef0123456789abcdef" TO wharf',
    'GRANT "wharf_0123456789abcdef0123456789abcdef" TO wharf',
  ],
  ['wharf_0123456789abcdef0123456789abcdef0123', 'wharf_***'],
  ['postgres://app@db:5432/app asks for a password', 'postgres://app@db:5432/app asks for a password'],
])('shows %s as %s', (text, shown) => {
  expect(maskSecrets(text)).toBe(shown)
})
