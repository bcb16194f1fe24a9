import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type CliResult, runCommand, spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(
    'CREATE TABLE item (id int PRIMARY KEY); CREATE SCHEMA sales; CREATE SCHEMA "Odd"',
  )
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

/** A command on the test's server, in an environment with the password. */
const administer = (...args: readonly string[]): Promise<CliResult> =>
  runCommand([...args, '--server', dsnOf(wharf)], {
    variables: { PGPASSWORD: external.password, PGSSLMODE: 'disable' },
  })

const withoutPassword = (): string => Object.assign(new URL(external.owner), { password: '' }).href

const nameOf = ({ username, host, pathname }: URL): string => `postgres://${username}@${host}${pathname}`

test('a database is attached with the password of the environment, listed, shown, and detached', async () => {
  const name = nameOf(external.owner)
  const attached = await administer('project:attach', 'shop', withoutPassword())
  expect(attached).toMatchObject({
    code: 0,
    stdout: `attached ${name} as project shop, stages: live (schema public)\n`,
    stderr: '',
  })
  await administer('project:create', 'hosted')
  const list = await administer('project:list')
  expect(list.stdout).toMatch(/^project +stages +created +attached\nhosted .* no\nshop +live .* yes\n$/)
  const shown = await administer('project:show', 'shop')
  expect(shown.stdout).toContain(`database    ${name}\n  login       ${external.owner.username}\n`)
  const asJson = JSON.parse((await administer('project:show', 'shop', '--json')).stdout)
  expect(asJson).toMatchObject({ attached: true, attachment: { name, isSuperuser: false }, roles: { length: 4 } })

  const changed = await administer('project:attach', 'shop', external.reader.href, '--change', '--json')
  expect(JSON.parse(changed.stdout)).toMatchObject({ slug: 'shop', database: nameOf(external.reader) })
  expect(await administer('project:delete', 'shop', '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('detach it (project:detach)'),
  })
  expect(await administer('project:detach', 'hosted', '--yes')).toMatchObject({
    code: 1,
    stderr: 'error: project "hosted" is not attached; project:delete deletes it with its data (CONFLICT)\n',
  })
  expect(await administer('project:detach', 'shop', '--yes')).toMatchObject({
    code: 0,
    stdout: 'detached project shop\n',
    stderr: expect.stringContaining('what imports have left beside it, are removed, and all else stays where it is'),
  })
  for (const { stdout, stderr } of [attached, list, shown, changed]) {
    expect(stdout + stderr).not.toContain(external.password)
  }
})

test('several schemas are stages of their names, or of those that are given', async () => {
  const byName = await administer('project:attach', 'two', `${withoutPassword()}?schema=public`, '--schema', 'sales')
  expect(byName.stdout).toContain('stages: public (schema public), sales (schema sales)')
  const target = dsnOf(wharf, 'two')
  expect((await runCommand(['stage:delete', 'sales', target, '--yes'])).stderr).toContain('detach it (stage:detach)')
  expect((await runCommand(['stage:detach', 'sales', target, '--yes'])).stdout).toBe('detached stage two/sales\n')
  expect(await runCommand(['stage:attach', 'odd', target, '--schema', 'Odd'])).toMatchObject({
    code: 0,
    stdout: 'attached schema Odd as stage two/odd\n',
  })
  expect(await runCommand(['stage:create', 'draft', target])).toMatchObject({ code: 1 })
  await administer('project:detach', 'two', '--yes')
})

test.each<[what: string, args: readonly string[], message: RegExp]>([
  ['no address', ['shop'], /expected postgres:\/\//],
  ['a Unix socket', ['postgres:///app?host=/tmp'], /not by a Unix socket: name a host/],
  [
    'fewer stages than schemas',
    ['ADDRESS', '--schema', 'a', '--schema', 'b', '--stage', 'c'],
    /2 schemas and 1 stages/,
  ],
  ['a schema that gives no name', ['ADDRESS', '--schema', 'public', '--schema', 'Odd'], /name stages by --stage/],
])('%s is wrong use, and nothing of it is quoted', async (_what, args, message) => {
  const given = args.map((arg) => (arg === 'ADDRESS' ? external.owner.href : arg))
  const { code, stderr } = await administer('project:attach', 'wrong', ...given)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  expect(stderr).not.toContain(external.password)
})

test('a password that is nowhere is asked for on the terminal, or missed where there is none', async () => {
  const args = ['project:attach', 'asked', withoutPassword(), '--server', dsnOf(wharf)]
  const { code, stderr } = await runCommand(args, { terminal: true, input: `${external.password}\n` })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^password for postgres:.*: \n$/) })
  expect((await runCommand([...args.slice(0, 1), 'other', ...args.slice(2)])).stderr).toMatch(/PGPASSWORD/)
  await administer('project:detach', 'asked', '--yes')
})

test('an event log is kept from the start, no longer, and again', async () => {
  const attached = await administer('project:attach', 'logged', withoutPassword(), '--log-events')
  expect(attached.stdout).toMatch(
    /stages: live \(schema public\)\ntheir event log is kept there, in the schema wharf_log\n$/,
  )
  expect((await administer('project:show', 'logged')).stdout).toMatch(/\nlive +public +yes +\S.* +kept\n/)
  const off = await runCommand(['stage:log', 'live', dsnOf(wharf, 'logged'), '--off'])
  expect(off).toMatchObject({ code: 0, stdout: expect.stringContaining('what was there of it is removed') })
  expect((await administer('project:show', 'logged')).stdout).toMatch(/\nlive +public +yes +\S.* +no\n/)
  const again = await runCommand(['stage:log', 'live', dsnOf(wharf, 'logged')])
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('in the schema wharf_log') })
  await administer('project:detach', 'logged', '--yes')
})

test('what a login may do is shown with what is missing', async () => {
  await administer('project:attach', 'read', external.reader.href)
  const { stdout } = await administer('project:show', 'read')
  expect(stdout).toMatch(/\nstage +schema +export +import +event log\nlive +public +yes +no +no\n/)
  expect(stdout).toMatch(/live: what would allow more, for the owner of the database to run:\n {2}\S/)
  await external.run('CREATE TABLE closed (n int)')
  expect((await administer('project:show', 'read')).stdout).toMatch(
    /\nlive +public +no +no +no\n[\s\S]*GRANT SELECT ON .*closed/,
  )
  await administer('project:detach', 'read', '--yes')
  const again = await administer('project:attach', 'read', external.reader.href)
  expect(again.stdout).toMatch(
    /^attached .*\nthe login may not read all of stage live: wharf project:show read says why, and which GRANT is missing\n$/,
  )
  await external.run('DROP TABLE closed')
  const closed = await administer('project:attach', 'shut', external.reader.href, '--schema', 'sales')
  expect(closed.stderr).toMatch(/may not use every schema that is named[\s\S]*GRANT USAGE ON SCHEMA "?sales"? TO /)
  await administer('project:detach', 'read', '--yes')
})

test("the operator's own command line names any host", async () => {
  const folder = await temporaryFolder()
  const own = await startWharf()
  onTestFinished(own.close)
  const variables = { DATABASE_URL: own.database.url, WHARF_DATA_DIR: folder, PGPASSWORD: external.password }
  const { ended } = spawnWharf(['project:attach', 'shop', withoutPassword()], { cwd: folder, variables })
  expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining('as project shop') })
})
