import { afterAll, beforeAll, expect, test } from 'vitest'
import { createShips, latestEvent, SHIP } from '../support/content/content.ts'
import type { ApiAnswer, ApiClient } from '../support/http/api-client.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
const clients: Record<string, ApiClient> = {}

beforeAll(async () => {
  wharf = await startWharf()
  await createShips(wharf)
  await createProject(wharf, 'open', 'CREATE TABLE ship (id integer PRIMARY KEY)')
  await setRole('ships', 'writer', { content: { write: true } })
  await setRole('ships', 'nothing', {})
  await setRole('open', 'public', { content: { read: true } })
  for (const role of ['admin', 'editor', 'viewer', 'writer', 'nothing']) {
    clients[role] = await wharf.member('ships', role)
  }
  clients.root = wharf.root
  clients.nobody = wharf.root.withToken(undefined)
  clients.unknown = wharf.root.withToken('wharf_unknown')
  clients.outsider = await wharf.member('open', 'admin')
})
afterAll(() => wharf.close())

const setRole = (project: string, role: string, permissions: object): Promise<ApiAnswer> =>
  wharf.root.put(`/projects/${project}/roles/${role}`, { json: permissions })

const CALLS: Record<string, (client: ApiClient) => Promise<ApiAnswer>> = {
  overview: (client) => client.get('/content/ships/live'),
  read: (client) => client.get(SHIP),
  head: (client) => client.request('HEAD', SHIP),
  insert: (client) => client.post(SHIP, { json: { id: Math.floor(Math.random() * 1e9), name: String(Math.random()) } }),
  update: (client) => client.patch(`${SHIP}?id=eq.2`, { json: { tons: 5 } }),
  remove: (client) => client.delete(`${SHIP}?id=eq.98`),
}

test('a filter that cannot be decoded is refused, and is not another filter', async () => {
  for (const filter of ['name=eq.%c3', 'name=neq.%ff', 'name=like.*%*%80']) {
    const refused = { status: 400, text: expect.stringContaining('query parameter \\"name\\" must be percent-encoded') }
    expect(await wharf.root.get(`${SHIP}?${filter}`), filter).toMatchObject(refused)
    expect(await wharf.root.delete(`${SHIP}?${filter}`), filter).toMatchObject(refused)
  }
})

test('a "%" that is no escape is itself', async () => {
  for (const filter of ['name=like.%zz%', 'name=eq.100%', 'name=like(any).{%quay%,%25x}']) {
    expect(await wharf.root.get(`${SHIP}?select=id&id=lt.0&${filter}`), filter).toMatchObject({ status: 200, json: [] })
  }
})

const ALL_READ = { overview: 200, read: 200, head: 200 }
const ALL_WRITE = { insert: 201, update: 204, remove: 204 }
const every = (status: number) => Object.fromEntries(Object.keys(CALLS).map((call) => [call, status]))

const EXPECTED: Record<string, Record<string, number>> = {
  root: { ...ALL_READ, ...ALL_WRITE },
  admin: { ...ALL_READ, ...ALL_WRITE },
  editor: { ...ALL_READ, ...ALL_WRITE },
  viewer: { ...every(403), ...ALL_READ },
  writer: { ...every(403), ...ALL_WRITE },
  nothing: every(403),
  outsider: every(404),
  unknown: every(401),
  nobody: every(401),
}

const MATRIX = Object.entries(EXPECTED).flatMap(([who, calls]) =>
  Object.entries(calls).map(([call, status]) => ({ who, call, status })),
)

test.each(MATRIX)('$who may $call: $status', async ({ who, call, status }) => {
  const client = clients[who]
  if (!client) throw new Error(`there is no ${who}`)
  expect((await CALLS[call]?.(client))?.status).toBe(status)
})

test('a permission that is missing is named', async () => {
  const answer = await clients.viewer?.delete(`${SHIP}?id=eq.1`)
  expect(answer?.json).toMatchObject({
    detail: 'role "viewer" in project "ships" lacks the permission content.write',
  })
})

test('OPTIONS says what there is only to who may read it; without a token it names the methods of any such path', async () => {
  const any = { status: 204, headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' } }
  for (const path of [SHIP, '/content/ships/live/nothing', '/content/nothing/live/ship']) {
    expect(await clients.nobody?.request('OPTIONS', path)).toMatchObject(any)
  }
  expect(await clients.viewer?.request('OPTIONS', SHIP)).toMatchObject({ status: 200 })
  expect(await clients.nothing?.request('OPTIONS', SHIP)).toMatchObject({ status: 403 })
  expect(await clients.unknown?.request('OPTIONS', SHIP)).toMatchObject({ status: 401 })
  expect(await clients.outsider?.request('OPTIONS', SHIP)).toMatchObject({ status: 404 })
})

test('what the public role allows needs no token, and nothing else', async () => {
  const nobody = wharf.root.withToken(undefined)
  expect((await nobody.get('/content/open/live/ship')).status).toBe(200)
  expect((await nobody.post('/content/open/live/ship', { json: { id: 1 } })).status).toBe(403)
  expect((await nobody.get('/content/open/live/none')).status).toBe(404)
  expect((await nobody.get('/content/open/none')).status).toBe(404)
  expect((await nobody.get('/content/none/live')).status).toBe(401)
  expect((await nobody.get('/content/UPPER/live')).status).toBe(401)
})

test('a token that is no good any more is no good where none is needed either', async () => {
  const reference = await latestEvent(wharf, 'open')
  for (const token of ['wharf_unknown', 'not a token']) {
    const answer = await wharf.root
      .withToken(token)
      .get('/content/open/live/ship', { headers: { 'x-service-ref': reference } })
    expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
  }
})

test('once the public role is taken back, nobody gets a 304 any more', async () => {
  const nobody = wharf.root.withToken(undefined)
  const conditional = { headers: { 'x-service-ref': await latestEvent(wharf, 'open') } }
  expect((await nobody.get('/content/open/live/ship', conditional)).status).toBe(304)
  await setRole('open', 'public', {})
  expect((await nobody.get('/content/open/live/ship', conditional)).status).toBe(403)
  await wharf.root.delete('/projects/open/roles/public')
  expect((await nobody.get('/content/open/live/ship', conditional)).status).toBe(401)
  await setRole('open', 'public', { content: { read: true } })
})

test('a token that was revoked gets 401 from the next request on, and never a 304', async () => {
  const { token, id } = await createToken(wharf, 'viewer', 'ships')
  const client = wharf.root.withToken(token)
  const conditional = { headers: { 'x-service-ref': await latestEvent(wharf) } }
  expect((await client.get(SHIP, conditional)).status).toBe(304)
  await wharf.root.delete(`/tokens/${id}`)
  expect((await client.get(SHIP, conditional)).status).toBe(401)
  expect((await client.get(SHIP)).status).toBe(401)
})

test('under many conditional requests, none that began after the revocation gets a 304', async () => {
  const { token, id } = await createToken(wharf, 'viewer', 'ships')
  const client = wharf.root.withToken(token)
  const conditional = { headers: { 'x-service-ref': await latestEvent(wharf) } }
  let revoked = false
  const late: number[] = []
  const loops = Array.from({ length: 8 }, async () => {
    for (let turn = 0; turn < 60; turn += 1) {
      const startedAfter = revoked
      const { status } = await client.get(SHIP, conditional)
      if (startedAfter) late.push(status)
    }
  })
  await wharf.root.delete(`/tokens/${id}`)
  revoked = true
  await Promise.all(loops)
  expect(late.length).toBeGreaterThan(0)
  expect(new Set(late)).toEqual(new Set([401]))
})

test('a role that may read no longer gets 403, and never a 304', async () => {
  await setRole('ships', 'passing', { content: { read: true } })
  const { token } = await createToken(wharf, 'passing', 'ships')
  const client = wharf.root.withToken(token)
  const conditional = { headers: { 'x-service-ref': await latestEvent(wharf) } }
  expect((await client.get(SHIP, conditional)).status).toBe(304)
  await setRole('ships', 'passing', { content: { write: true } })
  expect((await client.get(SHIP, conditional)).status).toBe(403)
})

test('a token that has expired gets 401, and never a 304', async () => {
  const { token, id } = await createToken(wharf, 'viewer', 'ships')
  const client = wharf.root.withToken(token)
  const conditional = { headers: { 'x-service-ref': await latestEvent(wharf) } }
  expect((await client.get(SHIP, conditional)).status).toBe(304)
  await wharf.database.query(`UPDATE control.token SET expires_at = now() WHERE id = $1`, [id])
  expect((await client.get(SHIP, conditional)).status).toBe(401)
})

test('a stage of one project cannot be had through another', async () => {
  await wharf.root.post('/projects/open/stages', { json: { slug: 'draft' } })
  expect((await wharf.root.get('/content/ships/draft')).status).toBe(404)
  expect((await wharf.root.get('/content/open/draft')).status).toBe(200)
})

test('the access log has the id of the token, also of one that was refused', async () => {
  const { token, id } = await createToken(wharf, 'nothing', 'ships')
  await wharf.root.withToken(token).get(SHIP)
  await expect.poll(() => wharf.log()).toMatch(new RegExp(`"status":403.*"tokenId":"${id}"`))
  expect(wharf.log()).not.toContain(token)
})
