import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import type { Permissions } from '../../../src/contract/role.ts'
import { buildArchive } from '../../support/archives/archive-builder.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { readState } from '../../support/database/database-state.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const TABLE = 'CREATE TABLE t (n integer); INSERT INTO t VALUES (1), (2);'

let wharf: TestWharf
let content: string
let system: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', TABLE)
  await createProject(wharf, 'shop', TABLE)
  await createProject(wharf, 'other', TABLE)
  content = await exportOf(wharf.root, 'source')
  system = await exportOf(wharf.root, 'source', { system: true })
})

afterAll(() => wharf.close())

const importer = { content: { import: true } }
const allButImport = { content: { read: true, write: true, export: true }, system: { export: true, import: true } }

/** What a role allows, and what is answered to it for an archive without the system section, and for one with it. */
const ROLES: readonly (readonly [name: string, role: unknown, content: number, system: number, missing?: string])[] = [
  [
    'everything',
    { content: { read: true, write: true, export: true, import: true }, system: { export: true, import: true } },
    200,
    200,
  ],
  ['import of content', importer, 200, 403, 'system.import'],
  ['import of both', { ...importer, system: { import: true } }, 200, 200],
  ['all but import of content', allButImport, 403, 403, 'content.import'],
  ['reading', { content: { read: true } }, 403, 403, 'content.import'],
  ['nothing', {}, 403, 403, 'content.import'],
]

test.each(
  ROLES.flatMap((row) =>
    ['', '&dryRun=true'].map((query) => ({ row, allowed: row[0], query: `?targetSlug=shop${query}` })),
  ),
)('a role that allows $allowed may ask for $query, or not', async ({ row, query }) => {
  const [name, role, ofContent, ofSystem, missing = ''] = row
  const roleName = name.replaceAll(' ', '-')
  await wharf.root.put(`/projects/shop/roles/${roleName}`, { json: role })
  const client = await wharf.member('shop', roleName)
  for (const [archive, status] of [
    [content, ofContent],
    [system, ofSystem],
  ] as const) {
    await wharf.root.put(`/projects/shop/roles/${roleName}`, { json: role })
    const before = await readState(wharf.database)
    const answer = await sendArchive(client, archive, { query })
    expect(answer, answer.text).toMatchObject({ status })
    if (status === 403) expect(answer.text).toContain(missing)
    if (status === 403 || query.includes('dryRun')) expect(await readState(wharf.database)).toEqual(before)
  }
})

test('who is no member of the target does not learn that there is one', async () => {
  const outsider = await wharf.member('other', 'admin')
  const missing = await sendArchive(outsider, content, { query: '?targetSlug=nowhere' })
  const hidden = await sendArchive(outsider, content, { query: '?targetSlug=shop' })
  expect([missing.status, hidden.status]).toEqual([404, 404])
  expect(hidden.text.replaceAll('shop', 'nowhere').length).toBe(missing.text.length)
  expect(await sendArchive(wharf.root.withToken(undefined), content)).toMatchObject({ status: 401 })
})

test('who may not import is told long before all rows have come', async () => {
  const viewer = await wharf.member('shop', 'viewer')
  const head = content.slice(0, content.indexOf('{"row":'))
  const rows = Buffer.from('{"row":[1]}\n'.repeat(100_000))
  let sent = 0
  async function* slowly(): AsyncGenerator<Buffer> {
    yield Buffer.from(head)
    for (; sent < 200; sent += 1) yield rows
  }
  const answer = await sendArchive(viewer, slowly(), { query: '?targetSlug=shop' })
  expect(answer).toMatchObject({ status: 403 })
  expect(sent).toBeLessThan(100)
})

/** What no archive describes. */
const CONVERSION = "CREATE CONVERSION odd FOR 'UTF8' TO 'LATIN1' FROM utf8_to_iso8859_1"

test('a dry run says for each table what there is, and what there would be', async () => {
  await wharf.root.post('/projects', { json: { slug: 'dry', stages: ['full', 'empty', 'odd'] } })
  await applyScript(wharf, 'dry', 'CREATE TABLE t (n integer); INSERT INTO t SELECT generate_series(1, 7)', 'full')
  await applyScript(wharf, 'dry', `CREATE TABLE t (n integer); ${CONVERSION}`, 'odd')
  const before = await readState(wharf.database)
  for (const [stage, mode, rowsNow] of [
    ['full', 'swap', 7],
    ['empty', 'build', null],
    ['odd', 'in place', 0],
  ] as const) {
    const archive = content.replaceAll('{"slug":"live"', `{"slug":"${stage}"`)
    const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=dry&dryRun=true' })
    const tables = [{ name: 't', rowsNow, rowsAfter: 2 }]
    expect(answer.json).toEqual({
      ok: true,
      dryRun: true,
      complete: true,
      notExported: [],
      projects: [
        {
          slug: 'source',
          targetSlug: 'dry',
          roles: null,
          rolesLeftOut: [],
          stages: [
            {
              ...{ slug: stage, mode, undoable: mode !== 'in place', undoHours: mode === 'in place' ? 0 : 24 },
              reasonsInPlace: mode === 'in place' ? [expect.any(String)] : [],
              ...{ leftOut: [], notReplaced: [], tables, extensions: [] },
            },
          ],
        },
      ],
    })
  }
  expect(await readState(wharf.database)).toEqual(before)
})

const roles = z.object({ items: z.array(z.looseObject({ name: z.string() })) })

const rolesOf = async (slug: string) => roles.parse((await wharf.root.get(`/projects/${slug}/roles`)).json).items

let made = 0
let target = ''
beforeEach(async () => {
  made += 1
  target = `roles-${made}`
  await createProject(wharf, target)
})

const clerk: Permissions & { name: string } = {
  name: 'clerk',
  content: { read: true, write: false, export: true, import: false, structure: false },
  system: { export: false, import: false },
}

test('roles come along: new ones, changed ones, and those that the archive lacks go', async () => {
  const editor = { ...clerk, name: 'editor' }
  const answer = await sendArchive(wharf.root, buildArchive({ slug: target, roles: [clerk, editor], stages: [{}] }))
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(await rolesOf(target)).toMatchObject([clerk, editor])
})

test('a role that a token has stays, one whose tokens were all revoked does not', async () => {
  const viewer = await wharf.member(target, 'viewer')
  const made = await wharf.root.post('/tokens', {
    json: { name: 'gone', memberships: [{ project: target, role: 'editor' }] },
  })
  const { id } = z.object({ id: z.string() }).parse(made.json)
  await wharf.root.delete(`/tokens/${id}`)
  expect(await sendArchive(wharf.root, buildArchive({ slug: target, roles: [clerk], stages: [{}] }))).toMatchObject({
    status: 200,
  })
  expect((await rolesOf(target)).map(({ name }) => name)).toEqual(['clerk', 'viewer'])
  expect(await viewer.get(`/projects/${target}`)).toMatchObject({ status: 200 })
})

test('tokens and memberships neither go out nor come in', async () => {
  await wharf.member('source', 'admin')
  const whole = await exportOf(wharf.root, 'source', { system: true })
  expect(whole).not.toMatch(/token|member|admin of source/)
  const before = await readState(wharf.database, `nspname = 'control'`)
  expect(await sendArchive(wharf.root, whole, { query: `?targetSlug=${target}` })).toMatchObject({ status: 200 })
  const after = await readState(wharf.database, `nspname = 'control'`)
  for (const table of ['token', 'membership']) {
    expect(after[`rows of control.${table}`]).toBe(before[`rows of control.${table}`])
  }
})

test('a dry run says how many roles would come along, and brings none', async () => {
  const before = await rolesOf(target)
  const archive = buildArchive({ slug: target, roles: [clerk, { ...clerk, name: 'editor' }], stages: [{}] })
  const answer = await sendArchive(wharf.root, archive, { query: '?dryRun=true' })
  expect(answer.json).toMatchObject({ dryRun: true, projects: [{ targetSlug: target, roles: 2 }] })
  expect(await rolesOf(target)).toEqual(before)
})

test('roles come along with the rows, or not at all', async () => {
  const broken = buildArchive(
    { slug: target, roles: [clerk], stages: [{}] },
    {
      slug: 'shop',
      stages: [{ tables: [{ name: 't', columns: [{ name: 'n', type: 'integer', nullable: true }], rows: [['x']] }] }],
    },
  )
  const before = await readState(wharf.database)
  expect(await sendArchive(wharf.root, broken)).toMatchObject({ status: 400 })
  expect(await readState(wharf.database)).toEqual(before)
})

test('an archive without the system section leaves the roles as they are', async () => {
  const before = await rolesOf(target)
  expect(await sendArchive(wharf.root, content, { query: `?targetSlug=${target}` })).toMatchObject({ status: 200 })
  expect(await rolesOf(target)).toEqual(before)
  expect(comparableLines(await exportOf(wharf.root, target))).toEqual(comparableLines(content))
})
