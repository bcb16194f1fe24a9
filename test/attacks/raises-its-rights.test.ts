import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { buildArchive } from '../support/archives/archive-builder.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import type { ApiClient } from '../support/http/api-client.ts'
import { askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let shop = ''
let made = 0
let importer: ApiClient

const nothing = {
  content: { read: false, write: false, export: false, import: false, structure: false },
  system: { export: false, import: false },
}
const everything = {
  content: { read: true, write: true, export: true, import: true, structure: true },
  system: { export: true, import: true },
}
/** May import both sections, and see rows; nothing else. */
const importing = { content: { ...nothing.content, read: true, import: true }, system: { export: false, import: true } }

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
})

afterAll(() => wharf.close())

beforeEach(async () => {
  made += 1
  shop = `shop-${made}`
  await createProject(wharf, shop, 'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)')
  await setRole('importer', importing)
  importer = await wharf.member(shop, 'importer')
})

const setRole = (name: string, role: typeof nothing) =>
  wharf.root.put(`/projects/${shop}/roles/${name}`, { json: role })

const archiveWith = (...roles: readonly ({ readonly name: string } & typeof nothing)[]): Buffer =>
  buildArchive({ slug: shop, roles, stages: [] })

const rolesSchema = z.object({ items: z.array(z.looseObject({ name: z.string() })) })

async function roleOf(name: string): Promise<unknown> {
  const { items } = rolesSchema.parse((await wharf.root.get(`/projects/${shop}/roles`)).json)
  const role = items.find((candidate) => candidate.name === name)
  if (!role) return undefined
  const { name: _, ...permissions } = role
  return permissions
}

const leftOut = (...roles: readonly object[]) => ({ json: { projects: [{ targetSlug: shop, rolesLeftOut: roles }] } })

test('gives its own role everything by an import', async () => {
  const answer = await sendArchive(importer, archiveWith({ name: 'importer', ...everything }))
  expect(answer).toMatchObject({
    status: 200,
    ...leftOut(
      {
        role: 'importer',
        notGiven: ['content.write', 'content.export', 'content.structure', 'system.export'],
        notTaken: [],
      },
      { role: 'admin' },
      { role: 'content_admin' },
      { role: 'editor' },
    ),
  })
  expect(await roleOf('importer')).toEqual(importing)
})

test("gives another role, or a new one, what it hasn't itself", async () => {
  const archive = archiveWith({ name: 'viewer', ...everything }, { name: 'made', ...everything })
  expect((await sendArchive(importer, archive)).status).toBe(200)
  expect(await roleOf('viewer')).toEqual(importing)
  expect(await roleOf('made')).toEqual(importing)
})

test("takes from another role what it hasn't itself", async () => {
  const answer = await sendArchive(importer, archiveWith({ name: 'editor', ...nothing }))
  expect(answer).toMatchObject(
    leftOut(
      { role: 'editor', notGiven: [], notTaken: ['content.write'] },
      { role: 'admin', notGiven: [] },
      { role: 'content_admin', notGiven: [] },
      { role: 'importer', notGiven: [] },
    ),
  )
  expect(await roleOf('editor')).toMatchObject({ content: { read: false, write: true } })
  expect(await roleOf('admin')).toEqual(everything)
})

test('lets everybody in by an import that makes a public role', async () => {
  const answer = await sendArchive(importer, archiveWith({ name: 'public', ...everything }))
  expect(answer).toMatchObject(leftOut({ role: 'public' }, {}, {}, {}, {}))
  expect(await roleOf('public')).toBeUndefined()
  expect((await wharf.root.withToken(undefined).get(`/content/${shop}/live/t`)).status).toBe(401)
})

test('lets everybody write by an import that widens the public role, with a token that may do all', async () => {
  await setRole('public', { ...nothing, content: { ...nothing.content, read: true } })
  const admin = await wharf.member(shop, 'admin')
  const answer = await sendArchive(admin, archiveWith({ name: 'public', ...everything }))
  expect(answer.status).toBe(200)
  expect(await roleOf('public')).toMatchObject({ content: { read: true, write: false } })
})

test('the root token brings a public role along, and all of every other', async () => {
  const archive = archiveWith({ name: 'public', ...importing }, { name: 'importer', ...everything })
  expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200, ...leftOut() })
  expect(await roleOf('public')).toEqual(importing)
  expect(await roleOf('importer')).toEqual(everything)
})

test('a token that may do all brings along every role but that of everybody', async () => {
  const admin = await wharf.member(shop, 'admin')
  const clerk = { ...nothing, content: { ...nothing.content, export: true } }
  const answer = await sendArchive(admin, archiveWith({ name: 'editor', ...nothing }, { name: 'clerk', ...clerk }))
  const inUse = [
    { role: 'admin', notGiven: [], notTaken: expect.arrayContaining(['content.write', 'system.import']) },
    { role: 'importer', notGiven: [], notTaken: expect.arrayContaining(['content.import', 'system.import']) },
  ]
  expect(answer).toMatchObject({ status: 200, ...leftOut(...inUse) })
  expect(await roleOf('admin')).toEqual(everything)
  expect(await roleOf('editor')).toEqual(nothing)
  expect(await roleOf('clerk')).toEqual(clerk)
})

test('a dry run and the result of a job say what is left out, too', async () => {
  const archive = archiveWith({ name: 'importer', ...everything }, { name: 'admin', ...everything })
  const reported = { role: 'importer', notTaken: [] }
  const dry = await sendArchive(importer, archive, { query: '?dryRun=true' })
  expect(dry.json).toMatchObject({
    projects: [{ rolesLeftOut: expect.arrayContaining([expect.objectContaining(reported)]) }],
  })
  const job = await untilEnded(importer, jobOf(await askImport(importer, archive)))
  expect(job).toMatchObject({
    status: 'succeeded',
    result: { projects: [{ rolesLeftOut: expect.arrayContaining([expect.objectContaining(reported)]) }] },
  })
  expect(await roleOf('importer')).toEqual(importing)
})

test('the command line says what is left out, before and after', async () => {
  const created = await wharf.root.post('/tokens', {
    json: { name: 'cli', memberships: [{ project: shop, role: 'importer' }] },
  })
  const { token } = z.object({ token: z.string() }).parse(created.json)
  const address = dsnOf(wharf, shop, token)
  const note =
    /^role importer of \S+ does not get content\.write, content\.export, content\.structure, system\.export: /m
  for (const options of ['--dry-run', '--yes']) {
    const input = archiveWith({ name: 'importer', ...everything })
    const done = await runCommand(['data:import', '-', address, options], { input })
    expect(done.stdout).toMatch(note)
    expect(done.stdout).toMatch(/^role editor of \S+ keeps content\.read, content\.write: /m)
  }
})

interface StoredEvent {
  readonly token: string | null
  readonly archived: string | null
  readonly importer: string | null
  readonly imported: boolean
}

const eventsOf = (slug: string): Promise<StoredEvent[]> =>
  wharf.database.query<StoredEvent>(
    `SELECT token_id AS token, archived_token_id AS archived, imported_by AS importer, imported_at IS NOT NULL AS imported
       FROM system.event JOIN control.stage ON stage.id = stage_id JOIN control.project ON project.id = project_id
      WHERE project.slug = '${slug}' ORDER BY transaction_id, ordinal`,
  )

const idSchema = z.object({ id: z.string() })

test('puts its own deeds down to another token by an import of events', async () => {
  const editor = await wharf.member(shop, 'editor')
  await editor.post(`/content/${shop}/live/t`, { json: { n: 2 } })
  const { id: editorId } = idSchema.parse((await editor.get('/me')).json)
  const { id: importerId } = idSchema.parse((await importer.get('/me')).json)
  const archive = await exportOf(wharf.root, shop, { system: true })
  expect(archive).toContain(`"token":"${editorId}"`)
  const before = await eventsOf(shop)
  expect(before.map(({ token, imported }) => ({ token, imported }))).toContainEqual({
    token: editorId,
    imported: false,
  })

  expect((await sendArchive(importer, archive)).status).toBe(200)
  const after = await eventsOf(shop)
  expect(after.slice(0, before.length)).toEqual(
    before.map(({ token }) => ({ token: null, archived: token, importer: importerId, imported: true })),
  )
  // The import itself has happened here.
  expect(after.slice(before.length)).toEqual([{ token: importerId, archived: null, importer: null, imported: false }])
  const lines = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('{"event":'))
  const again = await exportOf(wharf.root, shop, { system: true })
  expect(lines(again).slice(0, before.length)).toEqual(lines(archive))
})
