import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { writeServiceAddress } from '../../src/data-folder/service-address.ts'
import { contentsOf, exportOf } from '../support/archives/import.ts'
import { runCommand, spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { startTcpRelay } from '../support/servers/tcp-relay.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const SONGS = 'CREATE TABLE song (id integer PRIMARY KEY, name text)'
const MANY_SONGS = `${SONGS}; INSERT INTO song SELECT id, md5(id::text) FROM generate_series(1, 4000) AS id`
const OLD_SONG = `${SONGS}; INSERT INTO song VALUES (7, 'old')`

/** Two servers, each with a database of its own. */
let here: TestWharf
let there: TestWharf

beforeAll(async () => {
  ;[here, there] = await Promise.all([startWharf({ worker: true }), startWharf()])
  await createProject(here, 'shop', MANY_SONGS)
})
afterAll(() => Promise.all([here?.close(), there?.close()]))

const transfer = (source: string, target: string, ...args: readonly string[]) =>
  runCommand(['data:transfer', source, target, '--yes', ...args])

const CHINOOK = new URL('../../../shared/data/chinook/chinook.sql', import.meta.url)
const DATABASES = [
  { name: 'demo', url: new URL('../../demo/harbour.sql', import.meta.url) },
  ...(existsSync(CHINOOK) ? [{ name: 'chinook', url: CHINOOK }] : []),
]

test.each(DATABASES)('$name moves to another server, and again over itself', async ({ name, url }) => {
  await createProject(here, name, readFileSync(url, 'utf8'))
  await createProject(there, name)
  const first = await transfer(dsnOf(here, name), dsnOf(there, name))
  expect(first).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(`^transferred ${name} to ${name}\n  stages  live\n`),
  })
  expect(await contentsOf(there, name)).toEqual(await contentsOf(here, name))

  const role = { content: { read: true, export: true }, system: { export: true } }
  await here.root.put(`/projects/${name}/roles/nightly`, { json: role })
  const second = await transfer(dsnOf(here, name), dsnOf(there, name), '--include-system', '--json')
  expect(second.code).toBe(0)
  expect(JSON.parse(second.stdout)).toMatchObject({
    ...{ source: name, target: name, stages: ['live'], system: { roles: 5 } },
    rows: (await contentsOf(here, name)).filter((line) => line.startsWith('{"row":')).length,
  })
  expect(await contentsOf(there, name)).toEqual(await contentsOf(here, name))
  expect((await there.root.get(`/projects/${name}/roles`)).text).toContain('nightly')
})

test('a project moves into another one of the same server', async () => {
  await createProject(here, 'copy', OLD_SONG)
  const { code, stderr } = await transfer(dsnOf(here, 'shop'), dsnOf(here, 'copy'))
  expect(code).toBe(0)
  expect(stderr).toMatch(
    /^this replaces all rows in copy on wharf:\/\/copy@\S+, stages live, with those of shop on wharf:\/\/shop@\S+\nthe target has the stages live\n$/,
  )
  expect(await contentsOf(here, 'copy')).toEqual(await contentsOf(here, 'shop'))
})

test('"." is the local project, as source and as target', async () => {
  await createProject(there, 'local', OLD_SONG)
  await createProject(here, 'from-local', OLD_SONG)
  const { dataDir } = there
  await writeServiceAddress(dataDir, { url: there.url, pid: process.pid, startedAt: new Date().toISOString() })
  const variables = { WHARF_DATA_DIR: dataDir, WHARF_PROJECT: 'local', WHARF_ROOT_TOKEN: ROOT_TOKEN }
  const run = (...args: string[]) => runCommand(['data:transfer', ...args, '--yes'], { variables })
  expect(await run(dsnOf(here, 'shop'), '.')).toMatchObject({ code: 0 })
  expect(await contentsOf(there, 'local')).toEqual(await contentsOf(here, 'shop'))
  expect(await run('.', dsnOf(here, 'from-local'))).toMatchObject({ code: 0 })
  expect(await contentsOf(here, 'from-local')).toEqual(await contentsOf(here, 'shop'))

  const same = { code: 2, stderr: 'error: source and target are the same project\n' }
  expect(await run('.', '.')).toMatchObject(same)
  expect(await run('.', dsnOf(there, 'local'))).toMatchObject(same)
  expect(await run(dsnOf(there, 'local').replace('127.0.0.1', 'localhost'), dsnOf(there, 'local'))).toMatchObject(same)
})

test('what no archive can hold is reported', async () => {
  await createProject(here, 'viewed', `${OLD_SONG}; GRANT SELECT ON song TO PUBLIC`)
  await createProject(there, 'viewed')
  const { code, stderr } = await transfer(dsnOf(here, 'viewed'), dsnOf(there, 'viewed'))
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(
      /\nwarning: the target lacks things that no archive .*:\n {2}live: grant song \(SELECT to everybody\)\n$/,
    ),
  })
})

test('rights come along where they are asked for, and roles that are not there are named', async () => {
  await createProject(here, 'granting', `${OLD_SONG}; GRANT SELECT ON song TO PUBLIC, pg_monitor`)
  await createProject(there, 'granting')
  const ends = [dsnOf(here, 'granting'), dsnOf(there, 'granting')]
  const run = () => runCommand(['data:transfer', ...ends, '--grants', '--yes', '--json'])
  expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('"leftOut":[]') })
  const rights = await there.database.query(
    `SELECT grantee::regrole::text FROM pg_class, aclexplode(relacl) WHERE oid = '"granting.live".song'::regclass
      AND grantee <> relowner ORDER BY 1`,
  )
  expect(rights).toEqual([{ grantee: '-' }, { grantee: 'pg_monitor' }])

  const exported = await exportOf(here.root, 'granting', { grants: true })
  const file = join(await temporaryFolder(), 'granting.jsonl')
  await writeFile(file, exported.replace('"pg_monitor"', '"gone"'))
  const warning =
    'granting/live does not get these rights and policies of the archive:\n  grant song (SELECT to gone: there is no such role)'
  for (const option of ['--dry-run', '--yes']) {
    const { code, stderr } = await runCommand(['data:import', file, dsnOf(there, 'granting'), option])
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(warning) })
  }
})

test('confirmation comes from a terminal or from --yes', async () => {
  await createProject(there, 'asked', OLD_SONG)
  const args = ['data:transfer', dsnOf(here, 'shop'), dsnOf(there, 'asked')]
  const unasked = await runCommand(args, { input: 'y\n' })
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('confirm with --yes') })
  const refused = await runCommand(args, { terminal: true, input: 'n\n' })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('this replaces all rows in asked') })
  expect((await contentsOf(there, 'asked')).join('')).toContain('old')
  expect(await runCommand(args, { terminal: true, input: 'y\n' })).toMatchObject({ code: 0 })
  expect(await contentsOf(there, 'asked')).toEqual(await contentsOf(here, 'shop'))
})

test.each<[what: string, source: () => string, target: () => string, message: RegExp]>([
  [
    'a source that is not there',
    () => dsnOf(here, 'nowhere'),
    () => dsnOf(there, 'kept'),
    /source: there is no project "nowhere"/,
  ],
  [
    'a target that is not there',
    () => dsnOf(here, 'shop'),
    () => dsnOf(there, 'nowhere'),
    /target: there is no project "nowhere"/,
  ],
  [
    'a wrong token of the source',
    () => dsnOf(here, 'shop', 'wrong'),
    () => dsnOf(there, 'kept'),
    /source: the token is/,
  ],
  [
    'a wrong token of the target',
    () => dsnOf(here, 'shop'),
    () => dsnOf(there, 'kept', 'wrong'),
    /target: the token is/,
  ],
  [
    'a source where nothing listens',
    () => 'wharf://shop:T@127.0.0.1:1',
    () => dsnOf(there, 'kept'),
    /source: .*nothing listens there/,
  ],
  [
    'a target of another structure',
    () => dsnOf(here, 'shop'),
    () => dsnOf(there, 'kept'),
    /target: the archive does not fit its target: .*singer.*bigint/s,
  ],
])('%s ends the transfer, and is named', async (what, source, target, message) => {
  if (what === 'a source that is not there') {
    await createProject(there, 'kept', 'CREATE TABLE song (id bigint PRIMARY KEY, name text); CREATE TABLE singer ()')
  }
  const before = await contentsOf(there, 'kept')
  const { code, stdout, stderr } = await transfer(source(), target())
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) })
  expect(await contentsOf(there, 'kept')).toEqual(before)
})

/** Serves HTTP until the test ends, without waiting for a request's body. */
async function serve(answer: RequestListener): Promise<{ readonly url: string }> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** A server that says what it is asked about its project, and does with other requests as it is told. */
const serveProject = (rest: RequestListener) =>
  serve((request, response) => {
    if (request.method !== 'GET') return rest(request, response)
    const at = '2026-11-20T21:00:00.000Z'
    response.end(JSON.stringify({ slug: 'shop', createdAt: at, stages: [{ slug: 'live', createdAt: at }] }))
  })

/** A source whose archive comes to its half; what happens then is up to the test. */
async function serveHalfArchive(then: RequestListener) {
  const archive = Buffer.from(await exportOf(here.root, 'shop', { system: false }))
  const middle = archive.length / 2
  const half = Buffer.concat([gzipSync(archive.subarray(0, 1000)), gzipSync(archive.subarray(1000, middle))])
  return serveProject((request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' })
    response.write(half, () => then(request, response))
  })
}

const spooledFiles = () => readdir(there.container.spoolFolder)

/** Until the target has begun to take something in. */
const arrival = () => expect.poll(spooledFiles).toHaveLength(1)

/** Until the target has given up what it had taken in. */
const spoolEmptied = () => expect.poll(spooledFiles).toEqual([])

test.each<[how: string, then: RequestListener, message: RegExp]>([
  ['whose connection breaks', (_, response) => response.destroy(), /source: .*the connection broke off/],
  [
    'that ends its answer as if it were whole',
    (_, response) => response.end(),
    /source: line \d+: .*the archive is incomplete/,
  ],
])('a source %s leaves the target as it was', async (how, then, message) => {
  const slug = how.includes('breaks') ? 'broken' : 'short'
  await createProject(there, slug, OLD_SONG)
  const before = await contentsOf(there, slug)
  const source = await serveHalfArchive((request, response) => void arrival().then(() => then(request, response)))
  const { code, stdout, stderr } = await transfer(dsnOf(source, 'shop'), dsnOf(there, slug))
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) })
  await spoolEmptied()
  expect(await contentsOf(there, slug)).toEqual(before)
})

test('a target that dies ends the download of a source that has nothing to say', async () => {
  await createProject(there, 'dying', OLD_SONG)
  const before = await contentsOf(there, 'dying')
  const relay = await startTcpRelay(there.url)
  onTestFinished(() => relay.cut())
  let closed: Promise<unknown> = Promise.resolve()
  const source = await serveHalfArchive((_, response) => {
    closed = once(response, 'close')
    void arrival().then(() => relay.cut())
  })
  const { code, stderr } = await transfer(dsnOf(source, 'shop'), dsnOf(relay, 'dying'))
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/target: .*the connection broke off \(REMOTE_FAILED\)\n$/),
  })
  await closed
  await spoolEmptied()
  await relay.mend()
  expect(await contentsOf(there, 'dying')).toEqual(before)
})

test('a target that refuses at once ends the download', async () => {
  const target = await serveProject((_, response) => {
    response.writeHead(403, { 'content-type': 'application/problem+json', connection: 'close' })
    response.end(JSON.stringify({ detail: 'the permission content.import is missing' }))
  })
  let closed: Promise<unknown> = Promise.resolve()
  const source = await serveHalfArchive((_, response) => {
    closed = once(response, 'close')
  })
  const { code, stderr } = await transfer(dsnOf(source, 'shop'), dsnOf(target, 'copy'))
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/error: target: the permission content.import is missing \(REMOTE_FAILED\)\n$/),
  })
  await closed
})

/** Row lines that gzip can do little about, as fast as they are taken. */
async function* endlessRows(): AsyncGenerator<Buffer, void, undefined> {
  for (;;) {
    const rows = Array.from({ length: 1000 }, (_, id) => `{"row":[${id}, "${randomBytes(200).toString('base64')}"]}\n`)
    yield await promisify(gzip)(rows.join(''))
  }
}

test('a target that does not keep pace slows the source down', async () => {
  const target = await serveProject(() => undefined)
  const archive = await exportOf(here.root, 'shop', { system: false })
  let sentBytes = 0
  async function* endlessArchive(): AsyncGenerator<Buffer, void, undefined> {
    yield gzipSync(archive.slice(0, archive.indexOf('{"row":')))
    for await (const rows of endlessRows()) {
      sentBytes += rows.length
      yield rows
    }
  }
  const source = await serveProject(async (_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' })
    // Ends with the connection, and that is an error of a response.
    await Promise.allSettled([pipeline(endlessArchive(), response)])
  })
  const cwd = await temporaryFolder()
  const { child, ended } = spawnWharf(['data:transfer', dsnOf(source, 'shop'), dsnOf(target, 'copy'), '--yes'], { cwd })
  let before = -1
  const standsStill = (): boolean => {
    const isSame = sentBytes > 0 && sentBytes === before
    before = sentBytes
    return isSame
  }
  await expect.poll(standsStill, { timeout: 30_000, interval: 1_000 }).toBe(true)
  // What the sockets and streams between hold; a second of this source alone is more.
  expect(sentBytes).toBeLessThan(32 * 1024 * 1024)
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 130 })
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends a transfer, and leaves the target as it was', async (signal) => {
  const slug = `ended-by-${signal.toLowerCase()}`
  await createProject(there, slug, OLD_SONG)
  const before = await contentsOf(there, slug)
  const source = await serveHalfArchive(() => undefined)
  const cwd = await temporaryFolder()
  const { child, ended } = spawnWharf(['data:transfer', dsnOf(source, 'shop'), dsnOf(there, slug), '--yes'], { cwd })
  await arrival()
  child.kill(signal)
  expect(await ended).toMatchObject({ code: 130, stdout: '', stderr: expect.stringMatching(/\ninterrupted\n$/) })
  await spoolEmptied()
  expect(await contentsOf(there, slug)).toEqual(before)
})
