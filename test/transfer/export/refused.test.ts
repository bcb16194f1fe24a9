import { readdir } from 'node:fs/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { quoteIdentifier } from '../../../src/database/quoting.ts'
import { tablesOf } from '../../support/archives/archive-text.ts'
import { noTransactionStaysOpen } from '../../support/database/transactions.ts'
import type { ApiClient, ApiRequest } from '../../support/http/api-client.ts'
import { query } from '../../support/servers/sessions.ts'
import { createProject, loginUrl } from '../../support/service/projects.ts'
import { createToken } from '../../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const WHO = ['root', 'nobody', 'unknown', 'expired', 'revoked', 'admin', 'viewer', 'exporter', 'elsewhere'] as const
type Who = (typeof WHO)[number]

let wharf: TestWharf
let clients: Record<Who, ApiClient>
let files: string[]

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', 'CREATE TABLE t AS SELECT 1 AS n')
  await createProject(wharf, 'blog')
  await wharf.root.put('/projects/shop/roles/exporter', { json: { content: { export: true } } })
  const [expired, revoked] = [await createToken(wharf, 'admin', 'shop'), await createToken(wharf, 'admin', 'shop')]
  await wharf.database.query(`UPDATE control.token SET expires_at = now() WHERE id = $1`, [expired.id])
  await wharf.root.delete(`/tokens/${revoked.id}`)
  const { root } = wharf
  clients = {
    root,
    nobody: root.withToken(undefined),
    unknown: root.withToken('wharf_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG'),
    expired: root.withToken(expired.token),
    revoked: root.withToken(revoked.token),
    admin: await wharf.member('shop', 'admin'),
    viewer: await wharf.member('shop', 'viewer'),
    exporter: await wharf.member('shop', 'exporter'),
    elsewhere: await wharf.member('blog', 'admin'),
  }
  files = await listFiles()
})

afterAll(() => wharf.close())

const listFiles = (): Promise<string[]> => readdir(wharf.container.config.dataDir, { recursive: true })

afterEach(async () => {
  await noTransactionStaysOpen(wharf)
  expect(await listFiles()).toEqual(files)
})

const shop = { json: { projects: [{ slug: 'shop' }] } }
const withSystem = { json: { projects: [{ slug: 'shop', system: true }] } }
const asJson = { 'content-type': 'application/json' }
const projects = (...items: readonly object[]): ApiRequest => ({ json: { projects: items } })

type Refused = readonly [what: string, who: Who, request: ApiRequest, status: number, said: RegExp]

const REFUSED: readonly Refused[] = [
  ['no token', 'nobody', shop, 401, /a token is needed/],
  ['a token that is not known', 'unknown', shop, 401, /not known/],
  ['a token that has expired', 'expired', shop, 401, /expired/],
  ['a token that was revoked', 'revoked', shop, 401, /revoked/],
  ['a token of another project', 'elsewhere', shop, 404, /there is no project "shop"/],
  [
    'a role that may not export',
    'viewer',
    shop,
    403,
    /"viewer" in project "shop" lacks the permission content\.export/,
  ],
  ['a role that may not export the system', 'exporter', withSystem, 403, /lacks the permission system\.export/],
  ['one project of two out of reach', 'admin', projects({ slug: 'shop' }, { slug: 'blog' }), 404, /project "blog"/],
  ['an unknown project', 'root', projects({ slug: 'nothing' }), 404, /there is no project "nothing"/],
  ['an unknown project after a known one', 'root', projects({ slug: 'shop' }, { slug: 'nothing' }), 404, /"nothing"/],
  ['an unknown stage', 'admin', projects({ slug: 'shop', stages: ['draft'] }), 404, /stage "draft" in project "shop"/],
  ['an unknown table', 'admin', projects({ slug: 'shop', excludeTables: ['u'] }), 404, /table "u" in project "shop"/],
  [
    'the same project twice',
    'admin',
    projects({ slug: 'shop' }, { slug: 'shop' }),
    400,
    /exported once.*projects\/1\/slug/,
  ],
  ['no project', 'admin', projects(), 400, /"\/projects"/],
  [
    'too many projects',
    'root',
    projects(...Array.from({ length: 33 }, (_, n) => ({ slug: `p${n}` }))),
    400,
    /"\/projects"/,
  ],
  ['no body', 'admin', {}, 400, /a body of the type application\/json is required/],
  ['a body that is not JSON', 'admin', { body: '{"projects":', headers: asJson }, 400, /not valid JSON/],
  [
    'a body of another type',
    'admin',
    { body: 'shop', headers: { 'content-type': 'text/plain' } },
    415,
    /application\/json/,
  ],
  ['a body that is no object', 'admin', { json: [] }, 400, /expected object/],
  ['projects that are no list', 'admin', { json: { projects: 'shop' } }, 400, /"\/projects"/],
  ['a project without a slug', 'admin', projects({ system: true }), 400, /"\/projects\/0\/slug".*is missing/],
  ['a slug that is none', 'admin', projects({ slug: 'Shop' }), 400, /"\/projects\/0\/slug"/],
  ['a system that is no boolean', 'admin', projects({ slug: 'shop', system: 'yes' }), 400, /"\/projects\/0\/system"/],
  [
    'an unknown field',
    'admin',
    projects({ slug: 'shop', tables: [] }),
    400,
    /"\/projects\/0\/tables".*not a known field/,
  ],
  [
    'an unknown field beside the projects',
    'admin',
    { json: { projects: [{ slug: 'shop' }], gzip: true } },
    400,
    /"\/gzip"/,
  ],
  ['an empty list of stages', 'admin', projects({ slug: 'shop', stages: [] }), 400, /"\/projects\/0\/stages"/],
  [
    'a target that is no slug',
    'admin',
    projects({ slug: 'shop', targetSlug: 'a b' }),
    400,
    /"\/projects\/0\/targetSlug"/,
  ],
  ['an Accept that leaves archives out', 'admin', { ...shop, headers: { accept: 'text/html' } }, 406, /x-ndjson/],
]

test.for(REFUSED)('refuses %s', async ([, who, request, status, said]) => {
  const answer = await clients[who].post('/export', request)
  expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({
    status,
    type: 'application/problem+json',
  })
  expect(answer.text.replaceAll('\\"', '"')).toMatch(said)
})

test.for(['GET', 'PUT', 'DELETE', 'PATCH'])('refuses %s with 405, naming what is allowed', async (method) => {
  const answer = await clients.admin.request(method, '/export')
  expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST, OPTIONS' } })
})

const ZIPPED_FORMS: readonly [name: string, ApiRequest][] = [
  ['Content-Encoding: gzip on a plain body', { ...shop, headers: { 'content-encoding': 'gzip' } }],
  [
    'Content-Encoding: gzip on a body that is gzip',
    { body: gzipSync(JSON.stringify(shop.json)), headers: { ...asJson, 'content-encoding': 'gzip' } },
  ],
  ['Accept-Encoding: gzip', { ...shop, headers: { 'accept-encoding': 'br;q=1, gzip;q=0.5' } }],
  ['Accept-Encoding: x-gzip', { ...shop, headers: { 'accept-encoding': 'X-Gzip' } }],
]

test.for(ZIPPED_FORMS)('%s gives a gzip archive', async ([, request]) => {
  const answer = await clients.admin.post('/export', request)
  expect(answer).toMatchObject({
    status: 200,
    headers: {
      'content-encoding': 'gzip',
      'content-type': 'application/x-ndjson',
      'content-disposition': 'attachment; filename="shop.jsonl.gz"',
    },
  })
  expect(tablesOf(gunzipSync(answer.bytes).toString())).toMatchObject([{ path: 'shop/live/t', rows: [[1]] }])
})

test('without any of these, and where gzip is not wanted, the archive is plain', async () => {
  for (const headers of [{}, { 'accept-encoding': 'gzip;q=0, br' }, { 'content-encoding': 'identity' }]) {
    const answer = await clients.exporter.post('/export', { ...shop, headers })
    expect(answer.headers['content-encoding']).toBeUndefined()
    expect(answer.headers['content-disposition']).toBe('attachment; filename="shop.jsonl"')
    expect(tablesOf(answer.text)).toHaveLength(1)
  }
})

test('rows that a policy hides from the login are refused aloud, not left out', async () => {
  await createProject(
    wharf,
    'guarded',
    `CREATE TABLE secret AS SELECT 1 AS n;
     ALTER TABLE secret ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;`,
  )
  const answer = await wharf.root.post('/export', projects({ slug: 'guarded' }))
  expect(answer.status).toBe(409)
  expect(answer.text).toMatch(/may not read all rows of .*secret.* NO FORCE ROW LEVEL SECURITY .* BYPASSRLS/)
})

test('a table whose policies are for its owner, too, is exported by a login that they do not bind', async () => {
  await createProject(
    wharf,
    'bypassing',
    `CREATE TABLE secret AS SELECT 1 AS n; CREATE POLICY none ON secret USING (false);
     ALTER TABLE secret ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;`,
  )
  const login = (await loginUrl(wharf, 'bypassing')).username
  await query(wharf.database.superuserUrl, `ALTER ROLE ${quoteIdentifier(login)} BYPASSRLS`)
  const answer = await wharf.root.post('/export', projects({ slug: 'bypassing' }))
  expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('{"row":[1]}') })
})

test('a table that the login took its own rights to is refused by name', async () => {
  const script = `CREATE TABLE shut AS SELECT 1 AS n; REVOKE SELECT ON shut FROM CURRENT_USER`
  await createProject(wharf, 'shut', script)
  const answer = await wharf.root.post('/export', projects({ slug: 'shut' }))
  expect(answer.status).toBe(409)
  expect(answer.text).toMatch(/may not read all of it: permission denied for table .*shut/)
})
