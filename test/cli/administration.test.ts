import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliOptions, type CliResult, runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const COMMANDS = new URL('../../docs/command-line.md', import.meta.url)

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
})
afterAll(() => wharf?.close())

/** The DSN of a project on the test's server. */
/** An administration command on the test's server. */
const administer = (args: readonly string[], options?: CliOptions): Promise<CliResult> =>
  runCommand([...args, '--server', dsnOf(wharf)], options)

const createProject = async (slug: string, ...stages: string[]): Promise<void> => {
  const { code, stderr } = await administer(['project:create', slug, ...stages.flatMap((stage) => ['--stage', stage])])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
}

test('a project is created with its stages, listed and shown', async () => {
  await createProject('books', 'live', 'draft')
  const list = await administer(['project:list'])
  expect(list.stdout).toMatch(/^project +stages +created\nbooks +live, draft +2\d{3}-/)
  const shown = await administer(['project:show', 'books', '--json'])
  expect(JSON.parse(shown.stdout)).toMatchObject({
    slug: 'books',
    stages: [{ slug: 'live' }, { slug: 'draft' }],
    roles: [{ name: 'admin' }, { name: 'content_admin' }, { name: 'editor' }, { name: 'viewer' }],
  })
  const people = await administer(['project:show', 'books'])
  expect(people.stdout).toMatch(/^books\n {2}created {2}2.*\n {2}stages {3}live, draft\n\nrole .*\nadmin .*/)
})

test('a project is created in a database of its own, shown, given a stage and deleted', async () => {
  const made = await administer(['project:create', 'alone', '--own-database'])
  expect(made.stdout).toBe('created project alone in a database of its own, stages: live\n')
  expect((await administer(['project:show', 'alone'])).stdout).toMatch(/\n {2}database {2}its own\n/)
  expect(await runCommand(['stage:create', 'draft', dsnOf(wharf, 'alone')])).toMatchObject({ code: 0 })
  expect(await runCommand(['stage:delete', 'draft', dsnOf(wharf, 'alone'), '--yes'])).toMatchObject({ code: 0 })
  expect(await administer(['project:delete', 'alone', '--yes'])).toMatchObject({ code: 0 })
})

test('what is kept of event logs is said, shown, and left to the server again', async () => {
  await createProject('logged')
  const said = await administer(['project:log', 'logged', '--keep-days', '90', '--keep-events', '0'])
  expect(said.stdout).toBe('logged\n  events kept       90 days\n  events per stage  any number\n')
  expect((await administer(['project:show', 'logged'])).stdout).toMatch(/\n {2}events kept {7}90 days\n/)
  const again = await administer([
    'project:log',
    'logged',
    '--keep-days',
    'default',
    '--keep-events',
    'default',
    '--json',
  ])
  expect(JSON.parse(again.stdout)).toMatchObject({ eventLog: { keepDays: null, keepEvents: null } })
  const wrong = await administer(['project:log', 'logged', '--keep-days', 'many'])
  expect(wrong).toMatchObject({ code: 2, stderr: 'error: --keep-days must be a whole number, or "default"\n' })
})

test('what the server refuses is said in its words', async () => {
  await createProject('twice')
  expect(await administer(['project:create', 'twice'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'error: there is a project "twice" already (CONFLICT)\n',
  })
  const { code, stderr } = await administer(['project:create', 'Not a slug'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/\n {2}slug: must be a lower-case letter/)
  expect((await administer(['project:show', 'nowhere'])).code).toBe(1)
})

test('deleting says what is lost, and is done only after a yes', async () => {
  await createProject('films', 'live', 'draft')
  const loss = 'this deletes project films on wharf://127.0.0.1:'
  for (const input of ['n\n', '\n', 'yep\n', '']) {
    const { code, stderr } = await administer(['project:delete', 'films'], { terminal: true, input })
    expect({ input, code, stderr }).toEqual({ input, code: 1, stderr: expect.stringContaining(loss) })
    expect(stderr).toContain('(live, draft)')
  }
  expect((await administer(['project:show', 'films'])).code).toBe(0)

  const done = await administer(['project:delete', 'films'], { terminal: true, input: 'y\n' })
  expect(done).toMatchObject({ code: 0, stdout: 'deleted project films\n' })
  expect((await administer(['project:show', 'films'])).code).toBe(1)
})

test('without a terminal, confirmation comes from --yes or not at all', async () => {
  await createProject('games')
  const refused = await administer(['project:delete', 'games'], { input: 'y\n' })
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('confirm with --yes') })
  const done = await administer(['project:delete', 'games', '--yes', '--json'])
  expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('this deletes project games') })
  expect(JSON.parse(done.stdout)).toEqual({ deleted: { project: 'games', stages: ['live'] } })
})

test('a stage is made empty, listed, and deleted after a yes that names it', async () => {
  await createProject('radio')
  const made = await runCommand(['stage:create', 'draft', dsnOf(wharf, 'radio')])
  expect(made).toMatchObject({ code: 0, stdout: 'created stage radio/draft\n', stderr: '' })
  const list = await runCommand(['stage:list', dsnOf(wharf, 'radio')])
  expect(list.stdout).toMatch(/^stage +created\nlive +2\d{3}-.*\ndraft +2/)
  const stages = async (): Promise<unknown> =>
    JSON.parse((await runCommand(['stage:list', dsnOf(wharf, 'radio'), '--json'])).stdout)
  expect(await stages()).toMatchObject({ project: 'radio', stages: [{ slug: 'live' }, { slug: 'draft' }] })

  const refused = await runCommand(['stage:delete', 'draft', dsnOf(wharf, 'radio')], { terminal: true, input: 'n\n' })
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/^this deletes stage radio\/draft on wharf:.* with all its tables and rows/)
  expect(await runCommand(['stage:delete', 'draft', dsnOf(wharf, 'radio')], { input: 'y\n' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('confirm with --yes'),
  })
  expect(await stages()).toMatchObject({ stages: [{ slug: 'live' }, { slug: 'draft' }] })

  const deleted = await runCommand(['stage:delete', 'draft', dsnOf(wharf, 'radio'), '--yes', '--json'])
  expect(JSON.parse(deleted.stdout)).toEqual({ deleted: { project: 'radio', stage: 'draft' } })
  expect(await stages()).toMatchObject({ stages: [{ slug: 'live' }] })
})

test.each([
  [['stage:create', 'live'], 1, 'error: project "tv" has a stage "live" already (CONFLICT)\n'],
  [['stage:create', 'Not a slug'], 2, expect.stringContaining('slug: must be a lower-case letter')],
  [['stage:delete', 'draft', '--yes'], 1, 'error: there is no stage "draft" in project "tv" (NOT_FOUND)\n'],
])('%j fails, in words', async ([command = '', slug = '', ...options], code, stderr) => {
  if ((await administer(['project:show', 'tv'])).code !== 0) await createProject('tv')
  expect(await runCommand([command, slug, dsnOf(wharf, 'tv'), ...options])).toMatchObject({ code, stdout: '', stderr })
})

test('a role gets exactly what is named', async () => {
  await createProject('music')
  const set = (...args: string[]) => administer(['role:set', 'backup', '--project', 'music', ...args])
  expect((await set('--content', 'read,export', '--system', 'export')).stdout).toMatch(/backup +read,export +export\n/)
  expect((await set('--content', 'export')).stdout).toMatch(/backup +export +-\n/)
  expect((await set('--content', '')).stdout).toMatch(/backup +- +-\n/)
  expect(await set()).toMatchObject({ code: 2, stderr: expect.stringContaining('say what the role may do') })
  expect(await set('--content', 'all')).toMatchObject({ code: 2, stderr: expect.stringContaining('"all"') })

  const list = await runCommand(['role:list', '--server', dsnOf(wharf, 'music'), '--json'])
  expect(JSON.parse(list.stdout).roles.map(({ name }: { name: string }) => name)).toContain('backup')
  expect((await administer(['role:delete', 'backup', '--project', 'music', '--yes'])).code).toBe(0)
  expect((await administer(['role:list', '--project', 'music'])).stdout).not.toContain('backup')
})

test('on another server, a project that nobody names is not guessed', async () => {
  expect(await administer(['role:list'])).toMatchObject({
    code: 2,
    stderr: 'error: no project is named: name it with --project\n',
  })
})

test('a token is printed alone, works, is listed without itself, and ends when it is revoked', async () => {
  await createProject('plays')
  await createProject('poems')
  const pairs = ['--project', 'plays', '--role', 'viewer', '--project', 'poems', '--role', 'editor']
  const created = await administer(['token:create', ...pairs, '--name', 'nightly', '--expires', '30d'])
  expect(created).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^wharf_[\w-]{43}\n$/) })
  const token = created.stdout.trim()
  const asMember = () => runCommand(['project:list', '--server', dsnOf(wharf, '', token), '--json'])
  expect(JSON.parse((await asMember()).stdout).projects).toMatchObject([{ slug: 'plays' }, { slug: 'poems' }])

  const list = await administer(['token:list', '--project', 'plays'])
  expect(list.stdout).toMatch(/nightly +viewer of plays, editor of poems .* usable\n/)
  expect(list.stdout).not.toContain(token)
  const id = /^([0-9a-f-]{36}) +nightly/m.exec(list.stdout)?.[1] ?? ''

  expect((await administer(['token:revoke', id])).code).toBe(2)
  const revoked = await administer(['token:revoke', id, '--yes'])
  expect(revoked).toMatchObject({ code: 0, stdout: `revoked token ${id}\n` })
  expect(revoked.stderr).toContain('this ends token "nightly" (viewer of plays, editor of poems)')
  const refused = await asMember()
  expect(refused.code).toBe(1)
  expect(refused.stderr).not.toContain(token)
  expect((await administer(['token:list'])).stdout).toMatch(/nightly .* revoked\n/)
})

test('who revokes what is no token learns what is expected, or that there is none', async () => {
  const revoke = (id: string) => administer(['token:revoke', id, '--yes'])
  expect(await revoke('nosuch')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^error: this is not the id of a token: expected one as "token:list" shows it/),
  })
  const id = '0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11'
  expect(await revoke(id)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `error: there is no token "${id}" (NOT_FOUND)\n`,
  })
  const [malformed, unknown] = await Promise.all(['nosuch', id].map((name) => wharf.root.delete(`/tokens/${name}`)))
  expect(malformed).toMatchObject({ status: 400, text: expect.stringContaining('must be an id, like 0f8b8a52') })
  expect(unknown).toMatchObject({ status: 404, text: expect.stringContaining('there is no token') })
})

test.each([
  [['--role', 'viewer', '--role', 'editor', '--project', 'x'], 'there are 1 projects and 2 roles'],
  [['--project', 'x'], "required option '--role <role>' not specified"],
  [['--project', 'x', '--role', 'viewer', '--expires', 'soon'], '--expires "soon" is not understood'],
])('token:create %j is wrong use', async (args, message) => {
  const { code, stderr } = await administer(['token:create', '--name', 'x', ...args])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
})

test('a list is whole, however many pages it has', async () => {
  await createProject('crowd')
  const json = { name: 'one of many', memberships: [{ project: 'crowd', role: 'viewer' }] }
  for (let count = 0; count < 201; count++) await wharf.root.post('/tokens', { json })
  const { stdout } = await administer(['token:list', '--project', 'crowd', '--json'])
  const ids = new Set(JSON.parse(stdout).tokens.map(({ id }: { id: string }) => id))
  expect(ids.size).toBe(201)
})

test('a structure is applied whole or not at all, and what is in it can be exported', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'shop.sql')
  await createProject('shop')

  await writeFile(file, 'CREATE TABLE song (id integer PRIMARY KEY);\n\nCREATE TABEL typo ();\n')
  const refused = await runCommand(['schema:apply', file, dsnOf(wharf, 'shop')])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/^error: nothing was changed: line 3: syntax error at or near "TABEL"/)

  await writeFile(
    file,
    "CREATE TABLE song (id integer PRIMARY KEY, name text); INSERT INTO song VALUES (1, 'é'), (2, NULL);",
  )
  expect(await runCommand(['schema:apply', file, dsnOf(wharf, 'shop')])).toMatchObject({
    code: 0,
    stdout: `applied ${file} to shop/live, which now has 1 table\n`,
  })
  const piped = await runCommand(['schema:apply', '-', dsnOf(wharf, 'shop'), '--json'], {
    input: 'CREATE TABLE singer ()',
  })
  expect(JSON.parse(piped.stdout)).toMatchObject({ project: 'shop', stage: 'live', tables: 2 })

  const exported = await runCommand([
    'data:export',
    dsnOf(wharf, 'shop'),
    '--output',
    join(folder, 'out'),
    '--json',
    '--include-system',
  ])
  expect(exported).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(exported.stdout)).toMatchObject({ stages: ['live'], tables: 2, rows: 2, system: { roles: 4 } })
})

test.each([
  ['missing.sql', 'there is no file'],
  ['.', 'is a folder'],
  ['empty.sql', 'is empty'],
])('schema:apply %s is wrong use', async (name, message) => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'empty.sql'), '')
  const { code, stderr } = await runCommand(['schema:apply', join(folder, name), dsnOf(wharf, 'shop')])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
})

test.each([
  [['project:create', 'Draft Shop'], 'slug: must be a lower-case letter'],
  [['job:list', '--status', 'foo'], 'status: invalid option'],
  [['schedule:create', '--name', 'n', '--cron', 'often', '--project', 'books'], 'no cron expression'],
  [['job:show', 'the-last'], 'id: must be an id'],
])('%j, which the server refuses, is wrong use, in words of the command', async (args, said) => {
  const { code, stderr } = await administer(args)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(said) })
  expect(stderr).not.toMatch(/\/slug|parameter|body/)
})

test('a stage whose slug the server refuses is wrong use, too', async () => {
  const { code, stderr } = await runCommand(['stage:create', 'Draft Stage', dsnOf(wharf, 'tv')])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('slug: must be a lower-case letter') })
})

test('an error is JSON with --json, with the code that the documentation has', async () => {
  const unknown = await administer(['project:show', 'nowhere', '--json'])
  expect({ ...unknown, stderr: JSON.parse(unknown.stderr) }).toMatchObject({
    code: 1,
    stdout: '',
    stderr: { error: { code: 'NOT_FOUND', detail: 'there is no project "nowhere"', errors: [] } },
  })
  const wrong = await administer(['project:create', 'Draft Shop', '--json'])
  expect(JSON.parse(wrong.stderr)).toMatchObject({
    error: { code: 'INVALID_REQUEST', errors: [{ pointer: '/slug', detail: expect.any(String) }] },
  })
})

test.each([
  [['job:list', '--json', '--statis', 'failed'], "unknown option '--statis' (Did you mean --status?)"],
  [['job:show', '--json'], "missing required argument 'id'"],
  [['job:show', 'one', 'two', '--json'], 'too many arguments for'],

  [['job:list', '--json', '--status'], "option '--status <status>' argument missing"],
  [['job:lst', '--json'], "unknown command 'job:lst'"],
])('%j, which no command takes, is an error in JSON with --json, and wrong use', async (args, said) => {
  const { code, stdout, stderr } = await runCommand(args)
  expect({ code, stdout, stderr: JSON.parse(stderr) }).toEqual({
    code: 2,
    stdout: '',
    stderr: { error: { code: 'WRONG_USE', detail: expect.stringContaining(said), errors: [] } },
  })
})

test('a token among arguments that no command takes is masked in the error in JSON', async () => {
  const { stderr } = await runCommand(['job:list', '--json', '--sever=wharf://:SECRETTOKEN@host'])
  expect(stderr).toContain('unknown option')
  expect(stderr).not.toContain('SECRETTOKEN')
})

test.each([
  ['stage:create', ['draft']],
  ['stage:delete', ['live', '--yes']],
])('the administrator of a project may not %s, as docs/command-line.md says', async (command, args) => {
  const slug = command.replace(':', '-')
  await createProject(slug)
  const token = (await administer(['token:create', '--project', slug, '--role', 'admin', '--name', 'n'])).stdout.trim()
  const [name = '', ...options] = args
  const { code, stderr } = await runCommand([command, name, dsnOf(wharf, slug, token), ...options])
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('only the root token may do this') })
  const [row] = /^\| `stage:create .*/m.exec(await readFile(COMMANDS, 'utf8')) ?? []
  expect(row).toContain("needs the server's root token")
  expect(row).toContain(command)
})

test('a role that allows nothing for want of another permission is warned of', async () => {
  await createProject('half')
  const role = await administer(['role:set', 'backup', '--system', 'export', '--project', 'half'])
  expect(role).toMatchObject({ code: 0, stderr: 'warning: system.export allows nothing without content.export\n' })
  const whole = await administer([
    'role:set',
    'backup',
    '--system',
    'export',
    '--content',
    'export',
    '--project',
    'half',
  ])
  expect(whole).toMatchObject({ code: 0, stderr: '' })
})
