import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { connectRemoteServer } from '../../src/transfer/remote/remote-server.ts'
import { type CliResult, runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { LACKS_ROWS, SAYS_ALL_IS_THERE } from '../support/service/lacks-rows.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let folder: string
/** An archive that lacks rows. */
let file: string

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
  await createProject(wharf, 'tour', LACKS_ROWS)
  for (const slug of ['target', 'moved']) await createProject(wharf, slug)
  const json = { projects: [{ slug: 'tour' }], allowIncomplete: true }
  file = join(folder, 'incomplete.jsonl')
  await writeFile(file, (await wharf.root.post('/export', { json })).bytes)
})
afterAll(async () => {
  await wharf?.close()
  await rm(folder, { recursive: true, force: true })
})

const MISSING = /warning: .* lacks rows .*:\n {2}live: table concert \(needs type/

/** What a command said that did not do it, since rows are missing. */
function expectRefused(result: CliResult): void {
  expect(result).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(/error: .*rows are missing.*--allow-incomplete.*--exclude-table/),
  })
  expect(result.stderr).toContain('live: table concert')
  expect(result.stderr).not.toMatch(SAYS_ALL_IS_THERE)
  expect(result.stderr).not.toContain('go on?')
}

/** What a command said that did it nevertheless. */
function expectWarned(result: CliResult): void {
  expect(result).toMatchObject({ code: 0, stderr: expect.stringMatching(MISSING) })
  expect(result.stdout).not.toMatch(SAYS_ALL_IS_THERE)
  // Of what is no table, that is true.
  const others = /; no rows are missing with them:\n {2}live: enum date .*/
  expect(result.stderr.replace(others, '')).not.toMatch(SAYS_ALL_IS_THERE)
}

const exists = async (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

test.each([
  ['streamed', []],
  ['as a job', ['--async']],
])('an export, %s, exits with 3 and makes no file', async (_, how) => {
  const output = join(folder, `tour${how.join('')}.jsonl.gz`)
  const args = ['data:export', dsnOf(wharf, 'tour'), ...how, '--output', output]
  expectRefused(await runCommand(args))
  expect(await exists(output)).toBe(false)
  expectWarned(await runCommand([...args, '--allow-incomplete']))
  expect(await exists(output)).toBe(true)
  expect(await runCommand([...args, '--exclude-table', 'concert'])).toMatchObject({ code: 0 })
})

test('a file that lacks rows is not imported, nor is its dry run a yes', async () => {
  const args = ['data:import', file, dsnOf(wharf, 'target')]
  expectRefused(await runCommand([...args, '--dry-run']))
  expectRefused(await runCommand([...args, '--yes']))
  expectRefused(await runCommand(args, { terminal: true, input: 'y\n' }))
  expectWarned(await runCommand([...args, '--dry-run', '--allow-incomplete']))
  expectWarned(await runCommand([...args, '--yes', '--allow-incomplete']))
})

test('an import names what is missing before it asks', async () => {
  const args = ['data:import', file, dsnOf(wharf, 'target'), '--allow-incomplete']
  const { code, stderr } = await runCommand(args, { terminal: true, input: 'n\n' })
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(MISSING) })
  expect(stderr.search(MISSING)).toBeLessThan(stderr.indexOf('go on?'))
})

test.each([
  ['by one token', async () => dsnOf(wharf, 'tour')],
  ['by two tokens', async () => dsnOf(wharf, 'tour', (await createToken(wharf, 'admin', 'tour')).token)],
])('a transfer %s exits with 3 before it asks, and names what is missing before it asks', async (_, source) => {
  const args = ['data:transfer', await source(), dsnOf(wharf, 'moved')]
  expectRefused(await runCommand([...args, '--yes']))
  expectRefused(await runCommand(args, { terminal: true, input: 'y\n' }))
  const refused = await runCommand([...args, '--allow-incomplete'], { terminal: true, input: 'n\n' })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(MISSING) })
  expect(refused.stderr.search(MISSING)).toBeLessThan(refused.stderr.indexOf('go on?'))
  expectWarned(await runCommand([...args, '--yes', '--allow-incomplete']))
})

test('data:verify exits with 3 for a file that lacks rows, and says so first', async () => {
  const { code, stdout, stderr } = await runCommand(['data:verify', file])
  expect({ code, stdout, stderr }).toEqual({
    code: 3,
    stdout: expect.stringContaining('are as they were written; it lacks rows that no archive can hold\n'),
    stderr: expect.stringMatching(MISSING),
  })
  expect(stdout).not.toMatch(SAYS_ALL_IS_THERE)
  expectWarned(await runCommand(['data:verify', file, '--allow-incomplete']))
  const older = join(folder, 'older.jsonl')
  await writeFile(older, asBefore(await readFile(file, 'utf8')))
  expect(await runCommand(['data:verify', older])).toMatchObject({ code: 3, stderr: expect.stringMatching(MISSING) })
})

test('job:watch exits with 3 for a job that failed since rows would be missing', async () => {
  const job = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'tour' }])))
  const { code, stdout } = await runCommand(['job:watch', job.id, '--server', dsnOf(wharf, 'tour')])
  expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining('live: table concert') })
  expect(stdout).not.toMatch(SAYS_ALL_IS_THERE)
})

/** As versions before `rows` and `complete` wrote it. */
const asBefore = (text: string): string => text.replaceAll(/,"rows":true|,"complete":(true|false)/g, '')

const refuse = (response: ServerResponse, status: number, problem: object): void => {
  response.writeHead(status, { 'content-type': 'application/problem+json' })
  response.end(JSON.stringify({ title: 'Refused', status, instance: 'urn:wharf:request:1', ...problem }))
}

/** A server of an earlier version, which knows no `allowIncomplete`, and sends what it has. */
async function serveOlder() {
  const archive = asBefore(await readFile(file, 'utf8'))
  const server = await serveHttp((request, response) => {
    const { body = '' } = server.requests.at(-1) ?? {}
    if (request.method === 'GET') {
      const createdAt = '2026-11-20T21:00:00.000Z'
      return void response.end(JSON.stringify({ slug: 'tour', createdAt, stages: [{ slug: 'live', createdAt }] }))
    }
    if (request.url !== '/export') {
      const detail = `there is no path "${request.url}"`
      return refuse(response, 404, { type: 'urn:wharf:error:not-found', detail })
    }
    if (body.includes('allowIncomplete')) {
      const errors = [{ pointer: '/allowIncomplete', detail: 'is not a known field' }]
      const detail = 'the body does not have the expected form'
      return refuse(response, 400, { type: 'urn:wharf:error:invalid-request', detail, errors })
    }
    const gzip = request.headers['accept-encoding']?.includes('gzip')
    response.writeHead(200, {
      'content-type': 'application/x-ndjson',
      ...(gzip && { 'content-encoding': 'gzip' }),
    })
    response.end(gzip ? gzipSync(archive) : archive)
  })
  return server
}

test('a server of an earlier version refuses nothing, so the command does', async () => {
  const older = await serveOlder()
  const output = join(folder, 'from-older.jsonl.gz')
  const args = ['data:export', dsnOf(older, 'tour'), '--output', output]
  expectRefused(await runCommand(args))
  expect(await exists(output)).toBe(false)
  expectWarned(await runCommand([...args, '--allow-incomplete']))
  expect(await exists(output)).toBe(true)
})

test('before a transfer from a server of an earlier version, it is not known what is missing', async () => {
  const older = await serveOlder()
  const args = ['data:transfer', dsnOf(older, 'tour'), dsnOf(wharf, 'moved')]
  const asked = await runCommand(args, { terminal: true, input: 'n\n' })
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('warning: the target may lack something') })
  expectRefused(await runCommand([...args, '--yes']))
  expectWarned(await runCommand([...args, '--yes', '--allow-incomplete']))
})

test('a server asks one of an earlier version again, without a field that it does not know', async () => {
  const older = await serveOlder()
  const { origin, host } = new URL(older.url)
  const server = connectRemoteServer({ origin, token: 'T', allowed: [host], signal: AbortSignal.timeout(20_000) })
  onTestFinished(() => server.close())
  const bytes = await server.openExport({ slug: 'tour', system: false }, { allowIncomplete: true })
  expect(gunzipSync(await buffer(bytes)).toString()).toContain('"notExported"')
})
