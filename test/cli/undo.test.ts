import { afterAll, beforeAll, expect, test } from 'vitest'
import { contentsOf } from '../support/archives/import.ts'
import { type CliOptions, runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const STRUCTURE = 'CREATE TABLE song (id integer PRIMARY KEY, name text)'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', `${STRUCTURE}; INSERT INTO song VALUES (1, 'new'), (2, NULL)`)
})
afterAll(() => wharf?.close())

/** Makes a project whose stage was just imported over. @returns what it had before. */
async function createReplaced(slug: string): Promise<readonly string[]> {
  await createProject(wharf, slug, `${STRUCTURE}; INSERT INTO song VALUES (7, 'old')`)
  const before = await contentsOf(wharf, slug)
  const answer = await wharf.root.post('/export', { json: { projects: [{ slug: 'shop', system: false }] } })
  const headers = { 'content-type': 'application/x-ndjson' }
  const imported = await wharf.root.post(`/import?targetSlug=${slug}`, { headers, body: answer.bytes })
  expect(imported.status).toBe(200)
  return before
}

const undo = (slug: string, args: readonly string[], options?: CliOptions) =>
  runCommand(['data:undo', dsnOf(wharf, slug), ...args], options)

async function writeTo(slug: string): Promise<void> {
  const { schemaName } = await wharf.container.control.prisma.stage.findFirstOrThrow({
    where: { project: { slug }, slug: 'live' },
  })
  const url = await loginUrl(wharf, slug)
  await withSession(url.href, (session) => session.query(`INSERT INTO "${schemaName}".song VALUES (9, 'since')`))
}

test('what an import replaced comes back after a yes', async () => {
  const before = await createReplaced('asked')
  const imported = await contentsOf(wharf, 'asked')
  const refused = await undo('asked', [], { terminal: true, input: 'n\n' })
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/^this puts back what the last import or transfer into asked\/live on wharf:/)
  expect(await contentsOf(wharf, 'asked')).toEqual(imported)

  const { code, stdout } = await undo('asked', [], { terminal: true, input: 'y\n' })
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^asked\/live is back as it was until 2\S+Z\ntable +rows\nsong +1\n$/),
  })
  expect(await contentsOf(wharf, 'asked')).toEqual(before)
})

test('what was written since is given up only when that is said', async () => {
  const before = await createReplaced('written')
  await writeTo('written')
  const written = await contentsOf(wharf, 'written')
  expect(await undo('written', ['--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/written to.*--force/),
  })
  for (const input of [['y\n', 'n\n'], ['y\n']]) {
    const refused = await undo('written', [], { terminal: true, input })
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('written to since') })
  }
  expect(await contentsOf(wharf, 'written')).toEqual(written)

  const forced = await undo('written', ['--yes', '--force', '--json'])
  expect(forced.code).toBe(0)
  expect(JSON.parse(forced.stdout)).toEqual({
    project: 'written',
    stage: 'live',
    replacedAt: expect.any(String),
    tables: [{ name: 'song', rows: 1 }],
  })
  expect(await contentsOf(wharf, 'written')).toEqual(before)
})

test('who says yes twice gives up what was written since', async () => {
  const before = await createReplaced('twice')
  await writeTo('twice')
  expect(await undo('twice', [], { terminal: true, input: ['y\n', 'y\n'] })).toMatchObject({ code: 0 })
  expect(await contentsOf(wharf, 'twice')).toEqual(before)
})

test('what an import replaced is dropped when that is said, and does not come back', async () => {
  await createReplaced('dropped')
  const imported = await contentsOf(wharf, 'dropped')
  const kept = () => wharf.database.query(`SELECT FROM pg_namespace WHERE nspname LIKE 'dropped.live.old-%'`)
  expect(await kept()).toHaveLength(1)
  const refused = await undo('dropped', ['--discard'], { terminal: true, input: 'n\n' })
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('cannot be put back') })
  expect(await kept()).toHaveLength(1)
  for (const attempt of ['the first', 'another']) {
    const discarded = await undo('dropped', ['--discard', '--yes', '--json'])
    expect(JSON.parse(discarded.stdout), attempt).toEqual({ project: 'dropped', stage: 'live', discarded: true })
  }
  expect(await kept()).toEqual([])
  expect(await undo('dropped', ['--yes', '--force'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing to undo'),
  })
  expect(await contentsOf(wharf, 'dropped')).toEqual(imported)
})

test.each([
  ['--yes', 'there is nothing to undo'],
  ['--yes --stage nowhere', 'there is no stage'],
])('data:undo %s fails where there is nothing', async (args, message) => {
  const { code, stderr } = await undo('shop', args.split(' '))
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) })
})

test('without a terminal, confirmation comes from --yes or not at all', async () => {
  expect(await undo('shop', [])).toMatchObject({ code: 2, stderr: expect.stringContaining('confirm with --yes') })
})
