import { mkdir, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeServiceAddress } from '../../src/data-folder/service-address.ts'
import { contentsOf, exportOf } from '../support/archives/import.ts'
import { type CliOptions, runCommand, spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const STRUCTURE = 'CREATE TABLE song (id integer PRIMARY KEY, name text)'
const TWO_SONGS = `${STRUCTURE}; INSERT INTO song VALUES (1, 'é'), (2, NULL)`
const FIRST_ROW = '{"row":[1, "é"]}\n'
const ONE_SONG = `${STRUCTURE}; INSERT INTO song VALUES (7, 'old')`

let wharf: TestWharf
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', TWO_SONGS)
  archive = await exportOf(wharf.root, 'shop', { system: false })
})
afterAll(() => wharf?.close())

/** Writes a file that is removed after the test. */
async function fileOf(content: string | Buffer, name = 'shop.jsonl'): Promise<string> {
  const file = join(await temporaryFolder(), name)
  await writeFile(file, content)
  return file
}

const importInto = async (slug: string, args: readonly string[] = ['--yes'], options?: CliOptions) =>
  runCommand(['data:import', await fileOf(archive), dsnOf(wharf, slug), ...args], options)

/** As a server of an earlier version. */
const withoutUploads =
  (answer: (response: ServerResponse) => unknown) =>
  ({ url }: IncomingMessage, response: ServerResponse): unknown => {
    if (url !== '/uploads') return answer(response)
    response.writeHead(404, { 'content-type': 'application/problem+json' })
    const problem = { type: 'urn:wharf:error:not-found', title: 'Not found', status: 404, detail: 'no', instance: '' }
    return response.end(JSON.stringify(problem))
  }

test.each([
  ['plain', 'shop.jsonl', (text: string) => Buffer.from(text)],
  ['plain, by the name of a compressed one,', 'shop.jsonl.gz', (text: string) => Buffer.from(text)],
  ['compressed', 'shop.jsonl.gz', (text: string) => gzipSync(text)],
  ['compressed, by another name,', 'shop', (text: string) => gzipSync(text)],
])('a file, %s replaces what is there', async (what, name, encode) => {
  const slug = `t-${what.replaceAll(/\W+/g, '-')}`
  await createProject(wharf, slug, ONE_SONG)
  const file = await fileOf(encode(archive), name)
  const { code, stdout, stderr } = await runCommand(['data:import', file, dsnOf(wharf, slug), '--yes'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [heading, ...table] = stdout.trimEnd().split('\n')
  expect(table.pop()).toBe(`data:undo brings back what ${slug}/live had before`)
  expect(heading).toMatch(/^imported \S+ on wharf:\/\/t-[\w-]+@127\.0\.0\.1:\d+ in [\d.]+ s$/)
  expect(table.map((line) => line.split(/ +/))).toEqual([
    ['project', 'stage', 'tables', 'rows'],
    [slug, 'live', '1', '2'],
  ])
  expect(await contentsOf(wharf, slug)).toEqual(await contentsOf(wharf, 'shop'))
})

test('the request to a server that takes no uploads says what is sent', async () => {
  const answer = { ok: true, projects: [] }
  const server = await serveHttp(withoutUploads((response) => response.end(JSON.stringify(answer))))
  const file = await fileOf(gzipSync(archive))
  for (const slug of ['shop', '']) {
    await runCommand(['data:import', file, dsnOf(server, slug), '--yes', '--allow-edited'])
  }
  const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' }
  expect(server.requests.filter(({ path }) => path !== '/uploads')).toMatchObject([
    { method: 'POST', path: '/import?targetSlug=shop&allowEdited=true', headers },
    { method: 'POST', path: '/import?allowEdited=true', headers },
  ])
})

test('what is replaced by what is shown, and done only after a yes', async () => {
  await createProject(wharf, 'asked', ONE_SONG)
  const before = await contentsOf(wharf, 'asked')
  for (const input of ['n\n', '']) {
    const { code, stdout, stderr } = await importInto('asked', [], { terminal: true, input })
    expect({ input, code, stdout }).toEqual({ input, code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^this replaces all rows of these tables on wharf:\/\/asked@\S+ with those of \S+shop\.jsonl:\n/,
    )
    expect(stderr).toMatch(/^project +stage +table +rows now +rows in the file\nasked +live +song +1 +2\ngo on\?/m)
    expect(await contentsOf(wharf, 'asked')).toEqual(before)
  }
  const done = await importInto('asked', ['--json'], { terminal: true, input: 'y\n' })
  expect(done.code).toBe(0)
  expect(JSON.parse(done.stdout)).toEqual({
    file: expect.stringMatching(/shop\.jsonl$/),
    complete: true,
    notExported: [],
    projects: [
      {
        slug: 'shop',
        targetSlug: 'asked',
        roles: null,
        rolesLeftOut: [],
        stages: [{ slug: 'live', tables: 1, rows: 2, undoable: true, leftOut: [], notReplaced: [] }],
      },
    ],
    seconds: expect.any(Number),
  })
  expect(await contentsOf(wharf, 'asked')).toEqual(await contentsOf(wharf, 'shop'))
})

test('one project of a file of several is imported alone, into its own or another one', async () => {
  for (const slug of ['one', 'two']) await createProject(wharf, slug, ONE_SONG)
  const both = await wharf.root.post('/export', { json: { projects: [{ slug: 'two' }, { slug: 'shop' }] } })
  const file = await fileOf(both.bytes, 'both.jsonl')
  await runCommand(['data:import', await fileOf(archive), dsnOf(wharf, 'two'), '--yes'])
  const ask = (target: string) => runCommand(['data:import', file, target, '--project', 'shop', '--yes', '--json'])
  const { code, stdout, stderr } = await ask(dsnOf(wharf, 'one'))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({ projects: [{ slug: 'shop', targetSlug: 'one' }] })
  expect((await ask(dsnOf(wharf, ''))).code).toBe(0)
  expect(await contentsOf(wharf, 'one')).toEqual(await contentsOf(wharf, 'shop'))
  // What the file has of it is older.
  expect(await contentsOf(wharf, 'two')).toEqual(await contentsOf(wharf, 'shop'))
  const unknown = await runCommand(['data:import', file, dsnOf(wharf, 'one'), '--project', 'nobody', '--yes'])
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('"nobody"') })
})

test('without a terminal, confirmation comes from --yes or not at all', async () => {
  await createProject(wharf, 'unasked', ONE_SONG)
  expect(await importInto('unasked', [], { input: 'y\n' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('confirm with --yes'),
  })
  const piped = await runCommand(['data:import', '-', dsnOf(wharf, 'unasked')], { terminal: true, input: archive })
  expect(piped).toMatchObject({ code: 2, stderr: expect.stringContaining('standard input has the archive') })
  expect((await contentsOf(wharf, 'unasked')).join('')).toContain('old')
})

test('an archive can come through standard input', async () => {
  await createProject(wharf, 'piped', ONE_SONG)
  const run = (...args: string[]) =>
    runCommand(['data:import', '-', dsnOf(wharf, 'piped'), ...args], { input: gzipSync(archive) })
  expect(await run('--dry-run')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('can be imported'),
  })
  expect((await contentsOf(wharf, 'piped')).join('')).toContain('old')
  expect(await run('--yes')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('imported standard'),
  })
  expect(await contentsOf(wharf, 'piped')).toEqual(await contentsOf(wharf, 'shop'))
})

test('a dry run says what would be replaced, and replaces nothing', async () => {
  await createProject(wharf, 'dry', ONE_SONG)
  const people = await importInto('dry', ['--dry-run'])
  expect(people).toMatchObject({ code: 0, stderr: '' })
  expect(people.stdout).toMatch(/shop\.jsonl can be imported on wharf:\/\/dry@\S+; nothing was changed\n/)
  expect(people.stdout).toMatch(/\ndry +live +song +1 +2\n$/)
  const program = await importInto('dry', ['--dry-run', '--json'])
  expect(JSON.parse(program.stdout)).toMatchObject({
    dryRun: true,
    projects: [
      {
        ...{ slug: 'shop', targetSlug: 'dry' },
        stages: [{ slug: 'live', mode: 'swap', tables: [{ name: 'song', rowsNow: 1, rowsAfter: 2 }] }],
      },
    ],
  })
  await createProject(wharf, 'fresh')
  expect((await importInto('fresh', ['--dry-run'])).stdout).toMatch(/\nfresh +live +song +no table +2\n$/)
  expect((await contentsOf(wharf, 'dry')).join('')).toContain('old')
})

test('extensions that would be made, or are of another version, are named before', async () => {
  await createProject(wharf, 'extended')
  const line = (name: string) => `{"extension":{"name":"${name}","version":"0.1","schema":"extensions"}}`
  const needing = archive.replace(/^(\{"stage":.*)$/m, `$1\n${line('citext')}\n${line('hstore')}`)
  await wharf.database.query('CREATE EXTENSION hstore SCHEMA extensions')
  const dsn = dsnOf(wharf, 'extended')
  const { stdout } = await runCommand(['data:import', await fileOf(needing), dsn, '--dry-run'])
  expect(stdout).toContain('the extension citext, which extended/live needs, is made for all projects\n')
  expect(stdout).toMatch(/^the extension hstore is of version [\d.]+ here, and 0\.1 in the file$/m)
  const asked = await runCommand(['data:import', await fileOf(needing), dsn], { terminal: true, input: 'y\n' })
  expect(asked).toMatchObject({ code: 0, stderr: expect.stringContaining('the extension citext, which extended/live') })
  const verified = await runCommand(['data:verify', await fileOf(needing)])
  expect(verified.stdout).toContain('needs extensions: citext 0.1, hstore 0.1')
})

test('what cannot be undone is said before and after', async () => {
  await createProject(
    wharf,
    'kept-not',
    `${ONE_SONG}; CREATE CONVERSION odd FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8`,
  )
  const warning = 'data:undo cannot bring back what kept-not/live had before: it is not kept\n'
  expect((await importInto('kept-not', ['--dry-run'])).stdout).toContain(warning)
  expect(await importInto('kept-not', [], { terminal: true, input: 'y\n' })).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(warning),
    stdout: expect.stringContaining(warning),
  })
})

test('a dry run says where roles and the event log would be replaced', async () => {
  await createProject(wharf, 'staffed', ONE_SONG)
  const withSystem = await fileOf(await exportOf(wharf.root, 'shop', { system: true }))
  const run = (...args: string[]) =>
    runCommand(['data:import', withSystem, dsnOf(wharf, 'staffed'), '--dry-run', ...args])
  expect((await run()).stdout).toMatch(
    /\nthe roles and the event log of staffed are replaced by those in the file \(\d+ roles?\)\n$/,
  )
  expect(JSON.parse((await run('--json')).stdout).projects).toMatchObject([{ slug: 'shop', roles: expect.any(Number) }])
})

test.each([['--dry-run'], ['--yes']])('with %s, every difference of structure is reported', async (option) => {
  const slug = `other${option}`
  await createProject(wharf, slug, 'CREATE TABLE song (id bigint PRIMARY KEY, name text); CREATE TABLE singer ()')
  const before = await contentsOf(wharf, slug)
  const { code, stdout, stderr } = await importInto(slug, [option])
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^error: the archive does not fit its target: /)
  expect(stderr).toMatch(/table "singer" is in the target, but not in the archive/)
  expect(stderr).toMatch(/column "id" of table "song": type is integer in the archive, bigint in the target/)
  expect(await contentsOf(wharf, slug)).toEqual(before)
})

test('a stage that is loaded in place is reported beforehand', async () => {
  await createProject(
    wharf,
    'viewed',
    `${ONE_SONG}; CREATE CONVERSION odd FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8`,
  )
  const { code, stderr } = await importInto('viewed', [], { terminal: true, input: 'n\n' })
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('\nviewed/live is loaded where it is, and readers wait meanwhile: conversion odd'),
  })
})

/** Long enough for the server to answer while most of it is still to be sent. */
const longArchive = (): string => {
  const [before = '', after = ''] = archive.split(FIRST_ROW)
  const rows = Array.from({ length: 200_000 }, (_, id) => `{"row":[${id},"${'x'.repeat(100)}"]}\n`)
  rows[10] = '{"row":[10]}\n'
  return before + rows.join('') + after
}

test('an upload that is refused in the middle says what is wrong with the file', async () => {
  await createProject(wharf, 'refusing', ONE_SONG)
  const file = await fileOf(longArchive())
  const { code, stderr } = await runCommand(['data:import', file, dsnOf(wharf, 'refusing'), '--yes'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error: line 16: has 1 values, .*\n$/) })
  expect((await contentsOf(wharf, 'refusing')).join('')).toContain('old')
})

test('rows that were edited are taken only where that is allowed', async () => {
  await createProject(wharf, 'edited', ONE_SONG)
  const file = await fileOf(archive.replace(FIRST_ROW, FIRST_ROW.replace('é', 'e')))
  const run = (...args: string[]) => runCommand(['data:import', file, dsnOf(wharf, 'edited'), '--yes', ...args])
  expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining('has another sum') })
  expect(await run('--allow-edited')).toMatchObject({ code: 0, stderr: '' })
  expect((await contentsOf(wharf, 'edited')).join('')).toContain('"e"')
})

const targeted = (text: string, targetSlug: string): string =>
  text.replace('{"project":{"slug":"shop"', `{"project":{"slug":"shop","targetSlug":"${targetSlug}"`)

test('an import without a target goes where the file says, or else into the local project', async () => {
  for (const slug of ['local', 'named', 'second']) await createProject(wharf, slug, ONE_SONG)
  const { dataDir } = wharf
  await writeServiceAddress(dataDir, { url: wharf.url, pid: process.pid, startedAt: new Date().toISOString() })
  const variables = { WHARF_DATA_DIR: dataDir, WHARF_PROJECT: 'local', WHARF_ROOT_TOKEN: ROOT_TOKEN }
  const both = await wharf.root.post('/export', {
    json: {
      projects: [
        { slug: 'shop', system: false, targetSlug: 'named' },
        { slug: 'second', system: false },
      ],
    },
  })
  const cases: [content: string, args: string[], targets: string[]][] = [
    [archive, [], ['local']],
    [archive, ['.'], ['local']],
    [archive, [dsnOf(wharf)], ['shop']],
    [archive, [dsnOf(wharf, 'second')], ['second']],
    [targeted(archive, 'named'), [], ['named']],
    [targeted(archive, 'named'), ['.'], ['local']],
    [targeted(archive, 'named'), [dsnOf(wharf)], ['named']],
    [targeted(archive, 'named'), [dsnOf(wharf, 'second')], ['second']],
    [both.text, [], ['named', 'second']],
    [both.text, [dsnOf(wharf)], ['named', 'second']],
  ]
  for (const [content, args, targets] of cases) {
    // What comes through a pipe can be read only once, and where it goes may have to be known before it is sent.
    const source = content === both.text ? await fileOf(content) : '-'
    const command = ['data:import', source, ...args, '--yes', '--json']
    const { code, stdout, stderr } = await runCommand(command, { variables, input: content })
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' })
    expect(JSON.parse(stdout).projects.map((project: { targetSlug: string }) => project.targetSlug)).toEqual(targets)
  }
  const refused = await runCommand(['data:import', await fileOf(both.text), dsnOf(wharf, 'second'), '--yes'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('for an archive of one project') })
})

test.each([
  ['a token that nobody has', 'shop', 'wharf_nobody', longArchive, /^error: the token is .*\n$/],
  [
    'a project that is not there',
    'nowhere',
    ROOT_TOKEN,
    () => archive,
    /^error: there is no project "nowhere" \(NOT_FOUND\)\n$/,
  ],
])('%s ends the import', async (_, slug, token, content, message) => {
  const dsn = dsnOf(wharf, slug, token)
  const { code, stderr } = await runCommand(['data:import', await fileOf(content()), dsn, '--yes'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) })
})

test('a token without the permission learns which one it lacks', async () => {
  const create = ['token:create', '--server', dsnOf(wharf), '--project', 'shop', '--role', 'viewer', '--name', 'reader']
  const token = (await runCommand(create)).stdout.trim()
  const { code, stderr } = await runCommand([
    'data:import',
    await fileOf(archive),
    dsnOf(wharf, 'shop', token),
    '--yes',
  ])
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('content.import') })
})

test('a file with nothing in it is said to be empty, whatever it is sent for', async () => {
  for (const options of [['--yes'], ['--dry-run']]) {
    const refused = await runCommand(['data:import', await fileOf(''), dsnOf(wharf, 'shop'), ...options])
    expect(refused).toMatchObject({
      code: 1,
      stderr: 'error: the file is empty, there is no archive in it (ARCHIVE_INVALID)\n',
    })
  }
})

test.each<[name: string, message: string]>([
  ['missing', 'there is no file'],
  ['folder', 'is a folder'],
])('a file that is %s is wrong use', async (name, message) => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'folder'))
  const { code, stderr } = await runCommand(['data:import', join(folder, name), dsnOf(wharf, 'shop'), '--yes'])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
})

test('a connection that breaks after everything was sent leaves the outcome open, and the message says so', async () => {
  const server = await serveHttp(withoutUploads((response) => response.destroy()))
  const dsn = dsnOf(server, 'shop')
  const run = async (option: string) => runCommand(['data:import', await fileOf(archive), dsn, option])
  const imported = await run('--yes')
  expect(imported).toMatchObject({ code: 1, stderr: expect.stringContaining('may or may not have been imported') })
  const examined = await run('--dry-run')
  expect(examined).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/the connection broke off \(REMOTE_FAILED\)\n$/),
  })
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends an import', async (signal) => {
  const cwd = await temporaryFolder()
  let arrived = false
  const server = await serveHttp(() => {
    arrived = true
  })
  await writeFile(join(cwd, 'shop.jsonl'), archive)
  const dsn = dsnOf(server, 'shop')
  const { child, ended } = spawnWharf(['data:import', 'shop.jsonl', dsn, '--yes'], { cwd })
  await expect.poll(() => arrived).toBe(true)
  child.kill(signal)
  expect(await ended).toMatchObject({ code: 130, stdout: '', stderr: 'interrupted\n' })
})
