import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Access } from '../../src/api/access.ts'
import { PERMISSIONS, type Permission } from '../../src/contract/role.ts'
import { toPermissions } from '../../src/projects/permissions.ts'
import { exportOf } from '../support/archives/import.ts'
import type { ApiClient, ApiRequest } from '../support/http/api-client.ts'
import { askExport, jobOf } from '../support/jobs/jobs.ts'
import { makeSchedule } from '../support/jobs/schedules.ts'
import { makeWebhook } from '../support/notifications/webhooks.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * Every operation of /openapi.json is asked for by every kind of caller. Who may is not written here: it is declared
 * beside each route (`access`), and what follows from that for each caller is the function `expectedOf`.
 */

interface Caller {
  readonly name: string
  readonly client: ApiClient
  readonly is: 'nobody' | 'refused' | 'outsider' | 'member' | 'author' | 'root'
  /** What a member's role allows, in all projects of the requests. */
  readonly may: readonly Permission[]
}

/** A valid request for an operation. */
interface Example {
  /** Where it is not the operation's own. */
  readonly method?: 'HEAD'
  /** Its path, with a new resource for each caller where the call uses it up. */
  readonly path?: string | (() => string | Promise<string>)
  readonly request?: ApiRequest | (() => ApiRequest)
  /** What is answered to those who may; 200 where it is missing. */
  readonly answer?: number
  /** What it needs beside what its route declares. */
  readonly needs?: readonly Permission[]
  /** Whether it asks for the system section. */
  readonly system?: boolean
}

let wharf: TestWharf
let author: ApiClient
let callers: readonly Caller[]
let archives: { readonly content: string; readonly system: string }
const ids = { token: '', queued: '', ended: '', schedule: '', webhook: '' }
const NO_ID = '00000000-0000-4000-8000-000000000000'

const newJob = async (): Promise<string> => jobOf(await askExport(author, [{ slug: 'shop' }])).id

async function newEndedJob(): Promise<string> {
  const id = await newJob()
  expect((await author.post(`/jobs/${id}/cancel`)).status).toBe(202)
  return id
}

const newSchedule = async (): Promise<string> => (await makeSchedule(author, 'shop')).id

/** @returns the path of an upload of the author's. */
async function newUpload(): Promise<string> {
  const begun = await author.post('/uploads', { headers: { 'upload-length': '9' } })
  expect(begun.status).toBe(201)
  return begun.headers.location ?? ''
}

const partOf = (bytes: string): ApiRequest => ({
  headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
  body: bytes,
})

const roleFor = (permission: Permission): string => `only-${permission.replace('.', '-')}`

beforeAll(async () => {
  // Without a worker, so that jobs stay queued.
  wharf = await startWharf()
  const { root } = wharf
  for (const slug of ['shop', 'copy']) {
    await createProject(
      wharf,
      slug,
      `CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1);
       CREATE FUNCTION steady() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1';
       CREATE FUNCTION writes() RETURNS void LANGUAGE sql AS 'DELETE FROM t WHERE n = -1'`,
    )
    await root.put(`/projects/${slug}/roles/nothing`, { json: {} })
    for (const permission of PERMISSIONS) {
      await root.put(`/projects/${slug}/roles/${roleFor(permission)}`, {
        json: toPermissions((each) => each === permission),
      })
    }
  }
  await createProject(wharf, 'other', 'CREATE TABLE t (n int PRIMARY KEY)')
  await createProject(wharf, 'blank')
  const almost = toPermissions((each) => each !== 'content.structure')
  for (const slug of ['shop', 'copy']) await root.put(`/projects/${slug}/roles/almost`, { json: almost })
  const roles = z.object({ items: z.array(z.looseObject({ name: z.string() })) })
  for (const { name, ...role } of roles.parse((await root.get('/projects/shop/roles')).json).items) {
    await root.put(`/projects/blank/roles/${name}`, { json: role })
  }
  const both = ['shop', 'copy', 'blank']
  const withToken = async (role: string, projects = both): Promise<ApiClient> =>
    (await createToken(wharf, role, projects)).client
  const revoked = await createToken(wharf, 'admin', both)
  await root.delete(`/tokens/${revoked.id}`)
  const expired = await createToken(wharf, 'admin', both)
  await wharf.database.query(
    `UPDATE control.token SET expires_at = now() - interval '1 second' WHERE id = '${expired.id}'`,
  )
  author = await withToken('admin')
  const refused = { is: 'refused', may: [] } as const
  callers = [
    { name: 'no token', client: root.withToken(undefined), is: 'nobody', may: [] },
    { name: 'a malformed token', client: root.withToken('two words'), ...refused },
    { name: 'an unknown token', client: root.withToken(`wharf_${'x'.repeat(43)}`), ...refused },
    { name: 'a revoked token', client: root.withToken(revoked.token), ...refused },
    { name: 'an expired token', client: root.withToken(expired.token), ...refused },
    { name: 'the admin of another project', client: await withToken('admin', ['other']), is: 'outsider', may: [] },
    { name: 'a member that may do nothing', client: await withToken('nothing'), is: 'member', may: [] },
    ...(await Promise.all(
      PERMISSIONS.map(async (permission): Promise<Caller> => {
        const client = await withToken(roleFor(permission))
        return { name: `a member with ${permission}`, client, is: 'member', may: [permission] }
      }),
    )),
    {
      name: 'a member that may do all but content.structure',
      client: await withToken('almost'),
      is: 'member',
      may: PERMISSIONS.filter((permission) => permission !== 'content.structure'),
    },
    { name: 'a member that may do all', client: await withToken('admin'), is: 'member', may: PERMISSIONS },
    { name: 'the author', client: author, is: 'author', may: PERMISSIONS },
    { name: 'the root token', client: root, is: 'root', may: PERMISSIONS },
  ]
  archives = {
    content: await exportOf(root, 'shop'),
    system: await exportOf(root, 'shop', { system: true }),
  }
  ids.token = (await createToken(wharf, 'nothing', both)).id
  ids.queued = await newJob()
  ids.ended = await newEndedJob()
  ids.schedule = await newSchedule()
  ids.webhook = (await makeWebhook(root, 'https://example.org/hook')).id
  // So that there is something to undo.
  expect((await root.post('/import', importOf('content'))).status).toBe(200)
})

afterAll(() => wharf.close())

const importOf = (section: keyof typeof archives): ApiRequest => ({
  headers: { 'content-type': 'application/x-ndjson' },
  body: archives[section],
})

const transferOf = (system: boolean): object => ({ source: { project: 'shop' }, target: { project: 'copy' }, system })
const nightly = (system: boolean): ApiRequest => ({
  json: { name: 'nightly', cron: '@daily', kind: 'transfer', request: transferOf(system), enabled: false },
})
const body = (json: unknown): ApiRequest => ({ json })
const rows = '/content/shop/live/t'
const rpc = '/content/shop/live/rpc'

/** At least one request for every operation, by its `operationId`. */
const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  getHealth: [{}],
  getReadiness: [{}],
  getMetrics: [{}],
  getOpenApi: [{}],
  getDocs: [{}],
  whoAmI: [{}],
  beginSession: [{ request: body({ days: 1 }), answer: 204 }],
  endSession: [{ answer: 204 }],
  showStatus: [{}],
  runDoctor: [{}],
  showQueue: [{}],
  showOverview: [{}],
  listProjects: [{}],
  createProject: [{ request: body({ slug: 'made' }), answer: 201 }],
  showProject: [{ path: '/projects/shop' }],
  changeProject: [{ path: '/projects/shop', request: body({ eventLog: { keepDays: 30 } }) }],
  deleteProject: [{ path: '/projects/made', answer: 204 }],
  listStages: [{ path: '/projects/shop/stages' }],
  createStage: [{ path: '/projects/shop/stages', request: body({ slug: 'spare' }), answer: 201 }],
  deleteStage: [{ path: '/projects/shop/stages/spare', answer: 204 }],
  // Of projects that are not attached, callers with the permission learn so.
  showAttachment: [{ path: '/projects/shop/attachment', answer: 409 }],
  changeAttachment: [
    {
      path: '/projects/shop/attachment',
      request: body({ address: 'postgres://app@db.example/app' }),
      answer: 409,
    },
  ],
  changeStage: [{ path: '/projects/shop/stages/live', request: body({ logEvents: true }), answer: 409 }],
  detachProject: [{ path: '/projects/shop/attachment', answer: 409 }],
  listAttachedServers: [{ path: '/attached-servers' }],
  attachServer: [{ path: '/attached-servers', request: body({ address: 'nonsense' }), answer: 400 }],
  showAttachedServer: [{ path: '/attached-servers/none', answer: 404 }],
  changeAttachedServer: [{ path: '/attached-servers/none', request: body({ address: 'postgres://db' }), answer: 404 }],
  lookAtServer: [{ path: '/attached-servers/none/look', answer: 404 }],
  detachServer: [{ path: '/attached-servers/none', answer: 404 }],
  applySchema: [
    {
      path: '/projects/shop/stages/live/schema',
      request: { headers: { 'content-type': 'application/sql' }, body: 'SELECT 1' },
    },
  ],
  listEvents: [{ path: '/projects/shop/stages/live/events' }],
  undoImport: [{ path: '/projects/shop/stages/live/undo?force=true' }],
  showUndo: [{ path: '/projects/shop/stages/live/undo' }],
  discardReplaced: [{ path: '/projects/shop/stages/live/undo', answer: 204 }],
  listRoles: [{ path: '/projects/shop/roles' }],
  setRole: [{ path: '/projects/shop/roles/spare', request: body({ content: { read: true } }) }],
  deleteRole: [{ path: '/projects/shop/roles/spare', answer: 204 }],
  listTokens: [{}],
  createToken: [{ request: body({ name: 'new', memberships: [{ project: 'shop', role: 'viewer' }] }), answer: 201 }],
  showToken: [{ path: () => `/tokens/${ids.token}` }],
  revokeToken: [{ path: () => `/tokens/${ids.token}`, answer: 204 }],
  exportProjects: [
    { request: body({ projects: [{ slug: 'shop' }] }) },
    { request: body({ projects: [{ slug: 'shop', system: true }] }), system: true },
    { request: { json: { projects: [{ slug: 'shop' }] }, headers: { prefer: 'respond-async' } }, answer: 202 },
  ],
  examineExport: [
    { path: '/export/dry-run', request: body({ projects: [{ slug: 'shop' }] }) },
    { path: '/export/dry-run', request: body({ projects: [{ slug: 'shop', system: true }] }), system: true },
  ],
  importArchive: [
    { path: '/import?dryRun=true', request: () => importOf('content') },
    { request: () => importOf('content') },
    { request: () => importOf('system'), system: true },
    // Where the stage has no tables, it would build them.
    {
      path: '/import?dryRun=true&targetSlug=blank',
      request: () => importOf('content'),
      needs: ['content.structure'],
    },
  ],
  createUpload: [{ path: '/uploads', request: { headers: { 'upload-length': '9' } }, answer: 201 }],
  showUpload: [{ path: () => newUpload() }],
  sendUpload: [{ path: () => newUpload(), request: () => partOf('n'), answer: 204 }],
  deleteUpload: [{ path: () => newUpload(), answer: 204 }],
  // Who began it learns that bytes of it are missing.
  importUpload: [{ path: async () => `${await newUpload()}/import`, answer: 409 }],
  transferProject: [
    { request: body(transferOf(false)), answer: 202 },
    { request: body(transferOf(true)), answer: 202, system: true },
  ],
  getStage: [{ path: '/content/shop/live' }],
  // The first is found without the router, which finds the others.
  getRows: [{ path: rows }, { path: '/content/shop/live/%74' }, { path: rows, method: 'HEAD' }],
  insertRows: [
    {
      path: rows,
      // The row is there already.
      request: { json: [{ n: 1 }], headers: { prefer: 'resolution=merge-duplicates' } },
    },
  ],
  putRow: [{ path: `${rows}?n=eq.1`, request: body({ n: 1 }), answer: 204 }],
  readFunction: [{ path: `${rpc}/steady` }, { path: `${rpc}/steady`, method: 'HEAD' }],
  callFunction: [
    { path: `${rpc}/steady`, request: body({}) },
    { path: `${rpc}/writes`, request: body({}), answer: 204, needs: ['content.write'] },
  ],
  updateRows: [{ path: `${rows}?n=eq.1`, request: body({ n: 1 }), answer: 204 }],
  deleteRows: [{ path: `${rows}?n=eq.-1`, answer: 204 }],
  listJobs: [{}],
  watchJobs: [{ method: 'HEAD' }],
  showJob: [{ path: () => `/jobs/${ids.queued}` }],
  watchJob: [{ path: () => `/jobs/${ids.ended}/events` }],
  cancelJob: [{ path: async () => `/jobs/${await newJob()}/cancel`, answer: 202 }],
  deleteJob: [{ path: async () => `/jobs/${await newEndedJob()}`, answer: 204 }],
  // Callers with the permission learn that there is no archive.
  downloadJobFile: [{ path: () => `/jobs/${ids.ended}/file`, answer: 409 }],
  importJobFile: [{ path: () => `/jobs/${ids.ended}/import`, answer: 409 }],
  listSchedules: [{}],
  createSchedule: [
    { request: nightly(false), answer: 201 },
    { request: nightly(true), answer: 201, system: true },
  ],
  previewKeep: [{ path: () => `/schedules/${ids.schedule}/keep-preview`, request: body({ last: 1 }) }],
  previewSchedule: [{ path: '/schedules/preview', request: body({ cron: '@daily' }) }],
  showSchedule: [{ path: () => `/schedules/${ids.schedule}` }],
  changeSchedule: [
    { path: () => `/schedules/${ids.schedule}`, request: body({ name: 'other' }) },
    {
      path: async () => `/schedules/${await newSchedule()}`,
      request: body({ request: { projects: [{ slug: 'shop', system: true }] } }),
    },
  ],
  runSchedule: [{ path: async () => `/schedules/${await newSchedule()}/run`, answer: 202 }],
  listWebhooks: [{}],
  createWebhook: [{ request: body({ name: 'made', url: 'https://example.org/hook' }), answer: 201 }],
  showWebhook: [{ path: () => `/webhooks/${ids.webhook}` }],
  changeWebhook: [{ path: () => `/webhooks/${ids.webhook}`, request: body({ name: 'other' }) }],
  rotateWebhookSecret: [{ path: () => `/webhooks/${ids.webhook}/rotate` }],
  testWebhook: [{ path: () => `/webhooks/${ids.webhook}/test`, answer: 202 }],
  listDeliveries: [{ path: () => `/webhooks/${ids.webhook}/deliveries` }],
  showDelivery: [{ path: () => `/webhooks/${ids.webhook}/deliveries/${NO_ID}`, answer: 404 }],
  resendDelivery: [{ path: () => `/webhooks/${ids.webhook}/deliveries/${NO_ID}/resend`, answer: 404 }],
  deleteWebhook: [{ path: () => `/webhooks/${ids.webhook}`, answer: 204 }],
  deleteSchedule: [{ path: async () => `/schedules/${await newSchedule()}`, answer: 204 }],
}

const hasAll = (caller: Caller, permissions: readonly Permission[]): boolean =>
  permissions.every((permission) => caller.may.includes(permission))

/** What a caller is answered, as follows from who may make a call. */
function expectedOf(access: Access, caller: Caller, { answer = 200, system = false, needs = [] }: Example): number {
  if (access.by === 'anyone') return answer
  // None of the projects has a role for requests without a token.
  if (caller.is === 'nobody' || caller.is === 'refused') return 401
  if (caller.is === 'root') return answer
  // Jobs and schedules are exports of one project.
  const mayAsk = hasAll(caller, ['content.export'])
  switch (access.by) {
    case 'token':
      return answer
    case 'root':
      return 403
    case 'member':
      return caller.is === 'outsider' ? 404 : answer
    case 'permission':
    case 'visitor':
      return caller.is === 'outsider' ? 404 : hasAll(caller, [access.permission, ...needs]) ? answer : 403
    case 'somewhere':
      return caller.may.includes(access.permission) || caller.is === 'outsider' ? answer : 403
    case 'sender':
      return caller.is === 'author' ? answer : 404
    case 'request': {
      const needed = [...access.permissions, ...(system ? access.system : []), ...needs]
      return caller.is === 'outsider' ? 404 : hasAll(caller, needed) ? answer : 403
    }
    case 'viewer':
    case 'asker':
      return caller.is === 'author' || mayAsk ? answer : 404
    case 'author':
      return caller.is === 'author' ? answer : mayAsk ? 403 : 404
  }
}

const isAccess = (value: unknown): value is Access => typeof value === 'object' && value !== null && 'by' in value
const operationSchema = z.object({ operationId: z.string(), 'x-wharf-access': z.custom<Access>(isAccess) })
const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })

interface Operation {
  readonly method: string
  readonly path: string
  readonly operationId: string
  readonly access: Access
}

async function operations(): Promise<readonly Operation[]> {
  const { paths } = documentSchema.parse((await wharf.root.get('/openapi.json')).json)
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const declared = operationSchema.safeParse(operation)
      expect(declared.error, `${method} ${path} declares who may make it`).toBeUndefined()
      const { operationId, 'x-wharf-access': access } = operationSchema.parse(operation)
      return { method: method.toUpperCase(), path, operationId, access }
    }),
  )
}

test('every operation says who may ask for it, and is asked for below', async () => {
  expect((await operations()).map(({ operationId }) => operationId).toSorted()).toEqual(
    Object.keys(EXAMPLES).toSorted(),
  )
})

test.for(Object.entries(EXAMPLES))('%s answers every caller as its route declares', async ([operationId, examples]) => {
  const operation = (await operations()).find((each) => each.operationId === operationId)
  if (!operation) throw new Error(`there is no operation ${operationId}`)
  const { access } = operation
  for (const example of examples) {
    const found: Record<string, number> = {}
    const expected: Record<string, number> = {}
    for (const caller of callers) {
      const { path = operation.path, request } = example
      const target = typeof path === 'function' ? await path() : path
      const init = typeof request === 'function' ? request() : request
      found[caller.name] = (await caller.client.request(example.method ?? operation.method, target, init)).status
      expected[caller.name] = expectedOf(access, caller, example)
    }
    expect(found).toEqual(expected)
  }
})

test('lists show nobody what they may not see one by one', async () => {
  for (const [list, ...names] of [
    ['/projects', '"shop"', '"copy"'],
    ['/overview', '"shop"', '"copy"'],
    ['/jobs', ids.queued, ids.ended],
    ['/schedules', ids.schedule],
  ] as const) {
    for (const { name, client, is, may } of callers) {
      if (is === 'nobody' || is === 'refused') continue
      const { text } = await client.get(`${list}?limit=200`)
      const sees = list === '/projects' || list === '/overview' ? is !== 'outsider' : may.includes('content.export')
      for (const shown of names) expect(text.includes(shown), `${name} sees ${shown} in ${list}`).toBe(sees)
    }
  }
})

test('requests without a token may do what the role public allows, and no request with one that is refused', async () => {
  await wharf.root.put('/projects/other/roles/public', { json: { content: { read: true } } })
  const path = '/content/other/live/t'
  for (const { name, client, is } of callers) {
    const [read, write] = [await client.get(path), await client.delete(`${path}?n=eq.-1`)].map(({ status }) => status)
    const expected = {
      nobody: [200, 403],
      refused: [401, 401],
      outsider: [200, 204],
      // Of another project, so there is none for them, whatever it lets everybody do.
      member: [404, 404],
      author: [404, 404],
      root: [200, 204],
    }[is]
    expect([read, write], name).toEqual(expected)
  }
})
