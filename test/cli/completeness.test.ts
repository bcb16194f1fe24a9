import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliResult, runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
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
    stdout: expect.stringContaining('is as it was written, and lacks rows that no archive can hold\n'),
    stderr: expect.stringMatching(MISSING),
  })
  expect(stdout).not.toMatch(SAYS_ALL_IS_THERE)
  expectWarned(await runCommand(['data:verify', file, '--allow-incomplete']))
  const older = join(folder, 'older.jsonl')
  await writeFile(older, (await readFile(file, 'utf8')).replaceAll(/,"rows":true|,"complete":false/g, ''))
  expect(await runCommand(['data:verify', older])).toMatchObject({ code: 3, stderr: expect.stringMatching(MISSING) })
})

test('job:watch exits with 3 for a job that failed since rows would be missing', async () => {
  const job = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'tour' }])))
  const { code, stdout } = await runCommand(['job:watch', job.id, '--server', dsnOf(wharf, 'tour')])
  expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining('live: table concert') })
  expect(stdout).not.toMatch(SAYS_ALL_IS_THERE)
})
