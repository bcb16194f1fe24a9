import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliOptions, runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let host: string
let home: string

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  host = new URL(wharf.url).host
  await createProject(wharf, 'shop', 'CREATE TABLE item AS SELECT 1 AS n')
  await createProject(wharf, 'copy')
  home = await mkdtemp(join(tmpdir(), 'wharf-test-home-'))
})
afterAll(async () => {
  await wharf.close()
  await rm(home, { recursive: true })
})

const file = (): string => join(home, '.config', 'wharf', 'profiles.json')
const run = (args: readonly string[], options: CliOptions = {}) =>
  runCommand(args, { variables: { HOME: home }, ...options })

test('a profile stands for a DSN, and for another project of its server, wherever one is expected', async () => {
  const added = await run(['profile:add', 'here', dsnOf(wharf, 'shop')])
  expect(added).toMatchObject({ code: 0, stdout: `@here is wharf://shop@${host}, with its token in ${file()}\n` })
  expect((await run(['stage:list', '@here'])).stdout).toContain('live')
  expect((await run(['project:list', '--server', '@here'])).stdout).toContain('copy')
  const moved = await run(['data:transfer', '@here', '@here/copy', '--yes', '--quiet'])
  expect(moved, moved.stderr).toMatchObject({ code: 0 })
  const path = join(home, 'copy.jsonl')
  expect(await run(['data:export', '@here/copy', '--no-gzip', '--quiet', '--output', path])).toMatchObject({ code: 0 })
  expect(await readFile(path, 'utf8')).toContain('{"table":{"name":"item"')
})

test('the token is asked for where the DSN has none, and is in no list', async () => {
  const added = await run(['profile:add', 'asked', `wharf://shop@${host}`], {
    terminal: true,
    input: `${ROOT_TOKEN}\n`,
  })
  expect(added, added.stderr).toMatchObject({ code: 0 })
  expect(added.stdout + added.stderr).not.toContain(ROOT_TOKEN)
  expect((await run(['stage:list', '@asked'])).code).toBe(0)
  const listed = await run(['profile:list', '--json'])
  expect(JSON.parse(listed.stdout).profiles).toContainEqual({ profile: 'asked', address: `wharf://shop@${host}` })
  expect(listed.stdout).not.toContain(ROOT_TOKEN)
})

test('without a terminal, the token is that of WHARF_TOKEN, or what to do is said', async () => {
  const args = ['profile:add', 'scripted', `wharf://shop@${host}`]
  expect(await run(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('set WHARF_TOKEN to it') })
  expect(await run(args, { variables: { HOME: home, WHARF_TOKEN: ROOT_TOKEN } })).toMatchObject({ code: 0 })
  expect((await run(['stage:list', '@scripted'])).code).toBe(0)
})

test('a DSN without a project serves commands that name one themselves', async () => {
  expect((await run(['profile:add', 'server', `wharf://:${ROOT_TOKEN}@${host}`])).code).toBe(0)
  expect((await run(['project:show', 'shop', '--server', '@server'])).stdout).toContain('shop')
  expect((await run(['stage:list', '@server/shop'])).code).toBe(0)
  expect(await run(['stage:list', '@server'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('names no project'),
  })
})

test('the file is for its owner alone, and is not read where others can', async () => {
  expect((await stat(file())).mode & 0o777).toBe(0o600)
  await chmod(file(), 0o644)
  expect(await run(['stage:list', '@here'])).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') })
  await chmod(file(), 0o600)
})

test.each([
  ['@nobody', 'there are @here, @asked, @scripted, @server'],
  ['@', 'there is no such profile'],
  ['@constructor', 'there is no such profile'],
  ['@here/No', 'not the slug of a project'],
])('%s is refused', async (target, reason) => {
  expect(await run(['stage:list', target])).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) })
})

test('what is no project is left as it is', async () => {
  const path = join(home, '@here')
  expect(await run(['data:verify', path])).toMatchObject({ code: 2, stderr: expect.stringContaining('@here') })
  expect(
    await run(['schedule:create', '--server', '@here', '--project', 'shop', '--name', 'n', '--cron', '@daily']),
  ).toMatchObject({ code: 0 })
})

test('a profile that was removed is gone', async () => {
  expect((await run(['profile:remove', 'asked'])).code).toBe(0)
  expect(await run(['profile:remove', 'asked'])).toMatchObject({ code: 1 })
  expect((await run(['profile:list'])).stdout).not.toContain('asked')
})
