import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { ApiClient, ApiRequest } from '../support/http/api-client.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { createToken, type NewToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/** The callers: the root token, members of `shop` by their roles, a member of another project, and nobody. */
const CALLERS = ['root', 'admin', 'editor', 'viewer', 'exporter', 'outsider', 'nobody'] as const
type Caller = (typeof CALLERS)[number]

let wharf: TestWharf
let clients: Record<Caller, ApiClient>
const tokens: string[] = []

async function newToken(
  role: string,
  project = 'shop',
  more: Readonly<Record<string, unknown>> = {},
): Promise<NewToken> {
  const created = await createToken(wharf, role, project, more)
  tokens.push(created.token)
  return created
}

let spare: NewToken

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', 'CREATE TABLE t AS SELECT 1 AS n')
  await createProject(wharf, 'blog')
  await wharf.root.put('/projects/shop/roles/exporter', { json: { content: { export: true } } })
  await wharf.root.put('/projects/shop/roles/spare', { json: {} })
  spare = await newToken('viewer', 'blog')
  const member = async (role: string, project?: string): Promise<ApiClient> => (await newToken(role, project)).client
  clients = {
    root: wharf.root,
    admin: await member('admin'),
    editor: await member('editor'),
    viewer: await member('viewer'),
    exporter: await member('exporter'),
    outsider: await member('admin', 'blog'),
    nobody: wharf.root.withToken(undefined),
  }
})

afterAll(() => wharf.close())

interface Call {
  readonly operation: string
  readonly path?: string | (() => string)
  readonly request?: ApiRequest
  /** What each caller is answered; 401 for nobody. */
  readonly statuses: Readonly<Record<Exclude<Caller, 'nobody'>, number>>
}

const forRoot = (root: number) => ({ root, admin: 403, editor: 403, viewer: 403, exporter: 403, outsider: 403 })
const forMembers = { root: 200, admin: 200, editor: 200, viewer: 200, exporter: 200, outsider: 404 }
const forAll = { ...forMembers, outsider: 200 }
const forExport = { root: 200, admin: 200, editor: 403, viewer: 403, exporter: 200, outsider: 404 }
const sql = { headers: { 'content-type': 'application/sql' }, body: 'SELECT 1' }
const stageOf = (slug: string): ApiRequest => ({ json: { slug } })

/** Every call that needs a token, in an order in which the root token can carry them out. */
const CALLS: readonly Call[] = [
  { operation: 'GET /me', statuses: forAll },
  {
    operation: 'POST /session',
    request: { json: { days: 1 } },
    statuses: { root: 204, admin: 204, editor: 204, viewer: 204, exporter: 204, outsider: 204 },
  },
  { operation: 'GET /overview', statuses: forAll },
  { operation: 'GET /status', statuses: forRoot(200) },
  { operation: 'GET /doctor', statuses: forRoot(200) },
  { operation: 'GET /queue', statuses: forRoot(200) },
  { operation: 'GET /projects', statuses: forAll },
  { operation: 'POST /projects', request: stageOf('made'), statuses: forRoot(201) },
  { operation: 'GET /projects/{slug}', path: '/projects/shop', statuses: forMembers },
  {
    operation: 'PATCH /projects/{slug}',
    path: '/projects/shop',
    request: { json: { eventLog: { keepDays: 30 } } },
    statuses: forRoot(200),
  },
  { operation: 'DELETE /projects/{slug}', path: '/projects/made', statuses: forRoot(204) },
  { operation: 'GET /projects/{slug}/stages', path: '/projects/shop/stages', statuses: forMembers },
  {
    operation: 'POST /projects/{slug}/stages',
    path: '/projects/shop/stages',
    request: stageOf('draft'),
    statuses: forRoot(201),
  },
  {
    operation: 'PATCH /projects/{slug}/stages/{stage}',
    path: '/projects/shop/stages/draft',
    request: { json: { logEvents: true } },
    statuses: forRoot(409),
  },
  { operation: 'DELETE /projects/{slug}/stages/{stage}', path: '/projects/shop/stages/draft', statuses: forRoot(204) },
  // The project is not attached, which those learn who may know.
  {
    operation: 'GET /projects/{slug}/attachment',
    path: '/projects/shop/attachment',
    statuses: { ...forExport, root: 409, admin: 409, exporter: 409 },
  },
  {
    operation: 'PUT /projects/{slug}/attachment',
    path: '/projects/shop/attachment',
    request: { json: { address: 'postgres://app@db.example/app' } },
    statuses: forRoot(409),
  },
  { operation: 'GET /attached-servers', statuses: forRoot(200) },
  { operation: 'POST /attached-servers', request: { json: { address: 'nonsense' } }, statuses: forRoot(400) },
  { operation: 'GET /attached-servers/{name}', path: '/attached-servers/none', statuses: forRoot(404) },
  {
    operation: 'PUT /attached-servers/{name}',
    path: '/attached-servers/none',
    request: { json: { address: 'postgres://db.example' } },
    statuses: forRoot(404),
  },
  { operation: 'POST /attached-servers/{name}/look', path: '/attached-servers/none/look', statuses: forRoot(404) },
  { operation: 'DELETE /attached-servers/{name}', path: '/attached-servers/none', statuses: forRoot(404) },
  {
    operation: 'DELETE /projects/{slug}/attachment',
    path: '/projects/shop/attachment',
    statuses: forRoot(409),
  },
  {
    operation: 'POST /projects/{slug}/stages/{stage}/schema',
    path: '/projects/shop/stages/live/schema',
    request: sql,
    statuses: { ...forRoot(200), admin: 200, outsider: 404 },
  },
  {
    operation: 'GET /projects/{slug}/stages/{stage}/events',
    path: '/projects/shop/stages/live/events',
    statuses: { ...forRoot(200), admin: 200, outsider: 404 },
  },
  {
    operation: 'GET /projects/{slug}/stages/{stage}/undo',
    path: '/projects/shop/stages/live/undo',
    statuses: { ...forRoot(200), admin: 200, outsider: 404 },
  },
  {
    operation: 'DELETE /projects/{slug}/stages/{stage}/undo',
    path: '/projects/shop/stages/live/undo',
    statuses: { ...forRoot(204), admin: 204, outsider: 404 },
  },
  { operation: 'GET /projects/{slug}/roles', path: '/projects/shop/roles', statuses: forMembers },
  {
    operation: 'PUT /projects/{slug}/roles/{role}',
    path: '/projects/shop/roles/spare',
    request: { json: { system: { import: true } } },
    statuses: forRoot(200),
  },
  { operation: 'DELETE /projects/{slug}/roles/{role}', path: '/projects/shop/roles/spare', statuses: forRoot(204) },
  { operation: 'GET /tokens', statuses: forRoot(200) },
  {
    operation: 'POST /tokens',
    request: { json: { name: 'new', memberships: [{ project: 'shop', role: 'viewer' }] } },
    statuses: forRoot(201),
  },
  { operation: 'GET /tokens/{id}', path: () => `/tokens/${spare.id}`, statuses: forRoot(200) },
  { operation: 'DELETE /tokens/{id}', path: () => `/tokens/${spare.id}`, statuses: forRoot(204) },
  { operation: 'POST /export', request: { json: { projects: [{ slug: 'shop' }] } }, statuses: forExport },
  { operation: 'POST /export/dry-run', request: { json: { projects: [{ slug: 'shop' }] } }, statuses: forExport },
]

test.for(CALLS)('$operation answers each caller as its role says', async ({ operation, path, request, statuses }) => {
  const [method = '', template = ''] = operation.split(' ')
  const target = typeof path === 'function' ? path() : (path ?? template)
  const expected = { ...statuses, nobody: 401 }
  const found: Partial<Record<Caller, number>> = {}
  // The root token last, since what it asks for is done.
  for (const caller of CALLERS.toReversed()) {
    found[caller] = (await clients[caller].request(method, target, request)).status
  }
  expect(found).toEqual(expected)
})

const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ security: z.array(z.unknown()).optional() }))),
})

/** Calls that are described and have their access told in tests of their own. */
const ELSEWHERE =
  /^(POST \/import|POST \/transfer|POST .*\/undo|\w+ \/(content|jobs|schedules|uploads|webhooks)(\/.*)?)$/

test('the table above has every call that needs a token', async () => {
  const { paths } = documentSchema.parse((await wharf.root.get('/openapi.json')).json)
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { security = [] }]) =>
      security.length > 0 ? [`${method.toUpperCase()} ${path}`] : [],
    ),
  )
  const open = described.filter((operation) => !ELSEWHERE.test(operation))
  expect(open.toSorted()).toEqual(CALLS.map(({ operation }) => operation).toSorted())
})

test('a member sees its own projects in the list, and the root token all', async () => {
  const slugs = async (client: ApiClient): Promise<string[]> => {
    const { json } = await client.get('/projects')
    return z
      .object({ items: z.array(z.object({ slug: z.string() })) })
      .parse(json)
      .items.map(({ slug }) => slug)
  }
  expect(await slugs(clients.viewer)).toEqual(['shop'])
  expect(await slugs(clients.outsider)).toEqual(['blog'])
  expect(await slugs(clients.root)).toEqual(['blog', 'shop'])
})

test('a token says of itself what it may do where', async () => {
  const { json } = await clients.exporter.get('/me')
  expect(json).toMatchObject({
    root: false,
    name: 'exporter of shop',
    memberships: [
      {
        project: 'shop',
        role: {
          name: 'exporter',
          content: { read: false, write: false, export: true, import: false, structure: false },
          system: { export: false, import: false },
        },
      },
    ],
  })
})

test('what a role allows is in force from the next request on', async () => {
  const ask = () => clients.exporter.post('/export', { json: { projects: [{ slug: 'shop', system: true }] } })
  expect((await ask()).status).toBe(403)
  const both = { content: { export: true }, system: { export: true } }
  await wharf.root.put('/projects/shop/roles/exporter', { json: both })
  expect((await ask()).status).toBe(200)
  await wharf.root.put('/projects/shop/roles/exporter', { json: { system: { export: true } } })
  const refused = await ask()
  expect(refused.status).toBe(403)
  expect(refused.text).toContain('lacks the permission content.export')
})

test('a role that a token has is not deleted, and the answer names the token', async () => {
  await wharf.root.put('/projects/blog/roles/held', { json: { content: { read: true } } })
  const { id } = await newToken('held', 'blog')
  const refused = await wharf.root.delete('/projects/blog/roles/held')
  expect(refused).toMatchObject({
    status: 409,
    json: { errors: [{ detail: `token "held of blog" (${id}) has it` }] },
  })
  await wharf.root.delete(`/tokens/${id}`)
  expect((await wharf.root.delete('/projects/blog/roles/held')).status).toBe(204)
})

test('a revoked token is refused from the next request on, and revoking it again changes nothing', async () => {
  const { id, token } = await newToken('viewer')
  const client = wharf.root.withToken(token)
  expect((await client.get('/me')).status).toBe(200)
  expect((await wharf.root.delete(`/tokens/${id}`)).status).toBe(204)
  expect((await client.get('/me')).status).toBe(401)
  const revoked = await wharf.root.get(`/tokens/${id}`)
  expect((await wharf.root.delete(`/tokens/${id}`)).status).toBe(204)
  expect((await wharf.root.get(`/tokens/${id}`)).json).toEqual(revoked.json)
})

test("tokens expire by the database's clock, not by the process's", async () => {
  const lasting = await newToken('viewer', 'shop', { expiresAt: '2050-01-01T00:00:00Z' })
  const expired = await newToken('viewer', 'shop', { expiresAt: '2050-01-01T00:00:00+02:00' })
  await wharf.database.query(`UPDATE control.token SET expires_at = now() - interval '1 second' WHERE id = $1`, [
    expired.id,
  ])
  try {
    for (const year of [1990, 2100]) {
      vi.useFakeTimers({ toFake: ['Date'], now: new Date(`${year}-01-01`) })
      expect((await wharf.root.withToken(lasting.token).get('/me')).status, `in ${year}`).toBe(200)
      expect((await wharf.root.withToken(expired.token).get('/me')).status, `in ${year}`).toBe(401)
    }
  } finally {
    vi.useRealTimers()
  }
})

const FAULTY_TOKENS: readonly [what: string, json: object, status: number][] = [
  ['for no project', { name: 'a', memberships: [] }, 400],
  ['without a name', { name: '', memberships: [{ project: 'shop', role: 'viewer' }] }, 400],
  ['for an unknown project', { name: 'a', memberships: [{ project: 'nothing', role: 'viewer' }] }, 404],
  ['with an unknown role', { name: 'a', memberships: [{ project: 'shop', role: 'nobody' }] }, 404],
  ['with a role of another project', { name: 'a', memberships: [{ project: 'blog', role: 'exporter' }] }, 404],
  [
    'with two roles in one project',
    {
      name: 'a',
      memberships: [
        { project: 'shop', role: 'viewer' },
        { project: 'shop', role: 'editor' },
      ],
    },
    400,
  ],
  [
    'that would have expired already',
    { name: 'a', memberships: [{ project: 'shop', role: 'viewer' }], expiresAt: '2020-01-01T00:00:00Z' },
    400,
  ],
]

test.for(FAULTY_TOKENS)('makes no token %s', async ([, json, status]) => {
  const count = 'SELECT count(*) FROM control.token'
  const before = await wharf.database.query(count)
  expect((await wharf.root.post('/tokens', { json })).status).toBe(status)
  expect(await wharf.database.query(count)).toEqual(before)
})

test('neither the log nor the tables have a token or a password in them', async () => {
  const passwords = [(await loginUrl(wharf, 'shop')).password, (await loginUrl(wharf, 'blog')).password]
  const { password } = new URL(wharf.database.url)
  await wharf.root.withToken('wharf_unknown-token-that-was-sent').get('/me')
  await wharf.root.get('/me', { headers: { authorization: 'Basic cm9vdDpzZWNyZXQ=' } })
  const tables = ['token', 'project', 'membership', 'role'].map(
    (table) => `SELECT string_agg(t::text, ' ') AS content FROM control.${table} t`,
  )
  const contents = await wharf.database.query<{ content: string }>(tables.join(' UNION ALL '))
  const targets = { log: wharf.log(), tables: JSON.stringify(contents) }
  expect(tokens.length).toBeGreaterThan(8)
  const secrets = [
    ...tokens,
    ...passwords,
    password,
    ROOT_TOKEN,
    'wharf_unknown-token-that-was-sent',
    'cm9vdDpzZWNyZXQ=',
  ]
  for (const [target, text] of Object.entries(targets)) {
    expect(text.length, target).toBeGreaterThan(1000)
    for (const secret of secrets) {
      const forms = [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')]
      expect(
        forms.filter((form) => text.includes(form)),
        target,
      ).toEqual([])
    }
  }
})
