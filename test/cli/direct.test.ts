import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { type CliOptions, runCommand, spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedCluster } from '../support/servers/installed-cluster.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { hasPgBouncer, startPgBouncer } from '../support/servers/pgbouncer.ts'
import { openSession, query } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** With values that are stored out of line, an extension beside the tables, and schemas of several kinds of names. */
const SHOP = `
  CREATE EXTENSION citext;
  CREATE TABLE item (id int PRIMARY KEY, name citext UNIQUE, note text);
  ALTER TABLE item ALTER note SET STORAGE EXTERNAL;
  INSERT INTO item SELECT n, 'item ' || n, repeat(n || 'ü', CASE WHEN n % 7 = 0 THEN 20000 ELSE 3 END)
    FROM generate_series(1, 400) n;
  CREATE VIEW short AS SELECT id, name FROM item WHERE name = 'ITEM 1';
  CREATE SCHEMA sales; CREATE TABLE sales.deal (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, paid money);
  INSERT INTO sales.deal (paid) VALUES (12.5), (NULL);
  CREATE SCHEMA "Odd"; CREATE TABLE "Odd".thing (a int)`

let external: ExternalDatabase
let wharf: TestWharf

beforeAll(async () => {
  external = await createExternalDatabase(SHOP, installedCluster()?.createDatabase)
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

type Login = 'owner' | 'reader'

const addressOf = (login: Login = 'owner', query = ''): string =>
  `${Object.assign(new URL(external[login]), { password: '' }).href}${query}`

/** Exports with the password of the environment. */
const exported = (address: string, args: readonly string[] = [], options: CliOptions = {}) =>
  runCommand(['data:export', address, ...args], { variables: { PGPASSWORD: external.password }, ...options })

/** The archive of a database, as it goes to standard output. */
async function archiveOf(address: string, ...args: readonly string[]): Promise<string> {
  const { code, stderr, bytes } = await exported(address, ['--output', '-', '--quiet', ...args])
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('error') })
  return gunzipSync(bytes).toString()
}

const linesOf = (archive: string, kind: string): readonly string[] =>
  archive.split('\n').filter((line) => line.startsWith(`{"${kind}":`))

/** The locks by the names of schemas that living imports load into. */
const LOCKED_SQL = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (
  SELECT oid FROM pg_database WHERE datname = current_database())`

const sessionsOf = async (login: Login): Promise<number> => {
  const sql = `SELECT FROM pg_stat_activity WHERE usename = '${external[login].username}'`
  return (await external.database.query(sql)).length
}

test.each(['owner', 'reader'] as const)(
  'the %s of a database exports it, and no session stays there',
  async (login) => {
    const folder = await temporaryFolder()
    const output = join(folder, 'shop.jsonl.gz')
    const { code, stdout, stderr } = await exported(addressOf(login), ['--output', output, '--json'])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const database = external.owner.pathname.slice(1)
    expect(JSON.parse(stdout)).toMatchObject({
      project: database,
      file: output,
      stages: ['live'],
      tables: 1,
      rows: 400,
    })
    expect(await readdir(folder)).toEqual(['shop.jsonl.gz'])
    const archive = gunzipSync(await readFile(output)).toString()
    expect(linesOf(archive, 'row')).toHaveLength(400)
    expect((await runCommand(['data:verify', output])).code).toBe(0)
    await eventually(() => sessionsOf(login)).toBe(0)
    expect(stdout + stderr + archive).not.toContain(external.password)
  },
)

test('the archive is that of the attached database', async () => {
  const { username } = external.reader
  await external.run(`GRANT USAGE ON SCHEMA sales TO ${username};
    GRANT SELECT ON ALL TABLES IN SCHEMA sales TO ${username};
    GRANT SELECT ON ALL SEQUENCES IN SCHEMA sales TO ${username}`)
  const slug = external.owner.pathname.slice(1)
  const stages = ['public', 'sales'].map((schema) => ({ slug: schema, schema }))
  const made = await wharf.root.post('/projects', { json: { slug, attach: { address: external.reader.href, stages } } })
  expect(made.status, made.text).toBe(201)
  const direct = await archiveOf(addressOf('reader', '?schema=public&schema=sales'))
  expect(comparableLines(direct)).toEqual(comparableLines(await exportOf(wharf.root, slug)))
  expect((await wharf.root.delete(`/projects/${slug}/attachment`)).status).toBe(204)
})

test('a database is transferred into a project of a server, which says what it replaces before', async () => {
  await createProject(wharf, 'copy')
  const target = dsnOf(wharf, 'copy')
  const transferred = (args: readonly string[], options: CliOptions = {}) =>
    runCommand(['data:transfer', addressOf('reader'), target, ...args], {
      variables: { PGPASSWORD: external.password },
      ...options,
    })
  const refused = await transferred([], { terminal: true, input: 'no\n' })
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(
    /replaces all rows in copy on wharf.*, stages live, with those of postgres:\/\/reader_/,
  )
  expect(refused.stderr).toContain('the target has the stages live')
  const { code, stdout, stderr } = await transferred(['--yes', '--json'])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(JSON.parse(stdout)).toMatchObject({ target: 'copy', stages: ['live'], tables: 1, rows: 400 })
  const copied = (await exportOf(wharf.root, 'copy')).split('\n').filter((line) => line.startsWith('{"row'))
  expect(copied).toEqual((await archiveOf(addressOf())).split('\n').filter((line) => line.startsWith('{"row')))
  expect(stdout + stderr + refused.stderr).not.toContain(external.password)
  const unknown = await transferred(['--yes', '--stage', 'draft'])
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('no stage "draft"') })
})

test('a target that refuses a transfer ends the export, and nothing stays open', async () => {
  const target = dsnOf(wharf, 'nowhere')
  const { code, stderr } = await runCommand(['data:transfer', addressOf('reader'), target, '--yes'], {
    variables: { PGPASSWORD: external.password },
  })
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error: target: .*nowhere/) })
  await eventually(() => sessionsOf('reader')).toBe(0)
})

test('a project of a server is transferred into a database, and that into another, each the same by its archive', async () => {
  await createProject(
    wharf,
    'origin',
    'CREATE TABLE note (id int PRIMARY KEY, text text); INSERT INTO note VALUES (1, $$one$$)',
  )
  const [first, second] = [
    await createExternalDatabase('', installedCluster()?.createDatabase),
    await createExternalDatabase('CREATE TABLE note (id int PRIMARY KEY, text text); INSERT INTO note VALUES (7)'),
  ]
  onTestFinished(first.drop)
  onTestFinished(second.drop)
  const transfer = (source: string, target: string, ...args: readonly string[]) =>
    runCommand(['data:transfer', source, target, ...args])
  const schemas = () => second.database.query('SELECT nspname FROM pg_namespace ORDER BY 1')
  const before = await schemas()
  const built = await transfer(dsnOf(wharf, 'origin'), first.owner.href, '--yes')
  expect({ code: built.code, stderr: built.stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('error') })
  const asked = await runCommand(['data:transfer', first.owner.href, second.owner.href], {
    terminal: true,
    input: 'no\n',
  })
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringMatching(/replaces all rows in postgres:\/\/owner_/) })
  const replaced = await transfer(first.owner.href, second.owner.href, '--yes', '--json')
  expect({ code: replaced.code, stderr: replaced.stderr }).toMatchObject({ code: 0 })
  expect(await query(second.owner.href, 'SELECT * FROM note')).toEqual([{ id: 1, text: 'one' }])
  expect(await schemas()).toEqual(before)
  const withSystem = await transfer(dsnOf(wharf, 'origin'), second.owner.href, '--yes', '--include-system')
  expect(withSystem).toMatchObject({ code: 2, stderr: expect.stringContaining('--include-system') })
  expect(built.stderr + asked.stderr + replaced.stdout + withSystem.stderr).not.toContain(second.password)
})

test('a transfer of a schema into itself is refused before anything is read, however it is named', async () => {
  const itself = await createExternalDatabase(
    'CREATE TABLE note (id int); INSERT INTO note VALUES (1); CREATE SCHEMA beside; CREATE TABLE beside.note (id int)',
    installedCluster()?.createDatabase,
  )
  onTestFinished(itself.drop)
  const { owner, reader } = itself
  const other = Object.assign(new URL(reader), {
    hostname: reader.hostname === 'localhost' ? '127.0.0.1' : 'localhost',
  })
  const attach = { address: owner.href, stages: [{ slug: 'live', schema: 'public' }] }
  expect((await wharf.root.post('/projects', { json: { slug: 'itself', attach } })).status).toBe(201)
  for (const [from, to] of [
    [other.href, owner.href],
    [dsnOf(wharf, 'itself'), owner.href],
    [other.href, dsnOf(wharf, 'itself')],
  ] as const) {
    const { code, stderr } = await runCommand(['data:transfer', from, to, '--yes'])
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: source and target are the same: the schema "public" of postgres:.*\n$/),
    })
    expect(stderr).not.toContain(itself.password)
  }
  const beside = await runCommand(['data:transfer', owner.href, `${owner.href}?schema=beside`, '--yes'])
  expect(beside.code, beside.stderr).toBe(0)
  expect(await query(owner.href, 'SELECT id FROM beside.note')).toEqual([{ id: 1 }])
  expect((await wharf.root.delete('/projects/itself/attachment')).status).toBe(204)
})

test('a file is imported over a database, which is asked for before, and then as the file says', async () => {
  const target = await createExternalDatabase(
    'CREATE TABLE note (id int PRIMARY KEY)',
    installedCluster()?.createDatabase,
  )
  onTestFinished(target.drop)
  const folder = await temporaryFolder()
  const file = join(folder, 'note.jsonl.gz')
  await target.run('INSERT INTO note VALUES (1), (2)')
  const address = target.owner.href
  expect((await runCommand(['data:export', address, '--output', file])).code).toBe(0)
  await target.run('INSERT INTO note VALUES (3)')
  const notes = () => query(address, 'SELECT id FROM note ORDER BY id')
  const schemas = () => target.database.query('SELECT nspname FROM pg_namespace ORDER BY 1')
  const before = await schemas()
  const dry = await runCommand(['data:import', file, address, '--dry-run', '--json'])
  expect(dry).toMatchObject({ code: 0 })
  const [stage] = JSON.parse(dry.stdout).projects[0].stages
  expect(stage).toMatchObject({ slug: 'live', tables: [{ name: 'note', rowsNow: 3, rowsAfter: 2 }] })
  const refused = await runCommand(['data:import', file, address], { terminal: true, input: 'no\n' })
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('this replaces all rows of') })
  expect((await runCommand(['data:import', file, address])).code).toBe(2)
  expect(await notes()).toHaveLength(3)
  const imported = await runCommand(['data:import', file, address, '--yes', '--json'])
  expect({ code: imported.code, stderr: imported.stderr }).toMatchObject({ code: 0 })
  expect(JSON.parse(imported.stdout).projects[0].stages).toMatchObject([{ slug: 'live', tables: 1, rows: 2 }])
  expect(await notes()).toEqual([{ id: 1 }, { id: 2 }])
  expect(await schemas()).toEqual(before)
  for (const { stdout, stderr } of [dry, refused, imported]) expect(stdout + stderr).not.toContain(target.password)
  const reader = await runCommand(['data:import', file, target.reader.href, '--yes'])
  expect(reader).toMatchObject({ code: 1, stdout: '' })
  expect(await readdir(folder)).toEqual(['note.jsonl.gz'])
})

test.each([
  ['CREATE SCHEMA', /: no schema could be made to load into: not here \(SQLSTATE P0001\) \(CONFLICT\)\n$/],
  [
    'ALTER TABLE',
    /an event trigger fails in the function operator\.refuse\(\), perhaps on a row \(SQLSTATE P0001\) \(CONFLICT\)\n$/,
  ],
])('where an event trigger refuses %s, an import says so', async (tag, message) => {
  const target = await createExternalDatabase('CREATE TABLE note (id int PRIMARY KEY)')
  onTestFinished(() => target.drop())
  const file = join(await temporaryFolder(), 'note.jsonl.gz')
  expect((await runCommand(['data:export', target.owner.href, '--output', file])).code).toBe(0)
  await query(
    target.database.superuserUrl,
    `CREATE SCHEMA operator; GRANT USAGE ON SCHEMA operator TO PUBLIC;
     CREATE FUNCTION operator.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not here'; END $$;
     CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('${tag}') EXECUTE FUNCTION operator.refuse()`,
  )
  const { code, stderr } = await runCommand(['data:import', file, target.owner.href, '--yes', '--quiet'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) })
})

test('where an event trigger forbids to drop what an import has loaded, the schema that stays is named, and how it goes', async () => {
  const target = await createExternalDatabase('CREATE TABLE note (id int PRIMARY KEY); INSERT INTO note VALUES (1)')
  onTestFinished(() => target.drop())
  const file = join(await temporaryFolder(), 'note.jsonl.gz')
  expect((await runCommand(['data:export', target.owner.href, '--output', file])).code).toBe(0)
  await query(
    target.database.superuserUrl,
    `CREATE SCHEMA operator; GRANT USAGE ON SCHEMA operator TO PUBLIC;
     CREATE FUNCTION operator.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'drop nothing'; END $$;
     CREATE EVENT TRIGGER refuse ON sql_drop EXECUTE FUNCTION operator.refuse()`,
  )
  const { code, stderr } = await runCommand(['data:import', file, target.owner.href, '--yes', '--quiet'])
  expect(code).toBe(1)
  const [, statement] =
    /^warning: the schema wharf_direct_.* drop nothing; .*: (DROP SCHEMA "\w+" CASCADE)$/m.exec(stderr) ?? []
  expect(statement, stderr).toBeDefined()
  await query(target.database.superuserUrl, `DROP EVENT TRIGGER refuse; ${statement}`)
  expect(await query(target.owner.href, 'SELECT id FROM note')).toEqual([{ id: 1 }])
})

test('what a login that only reads cannot take along is named in a line for each kind, however many things it is', async () => {
  const target = await createExternalDatabase(
    Array.from({ length: 10 }, (_, n) => `CREATE TABLE t${n} (n int)`).join('; '),
  )
  onTestFinished(() => target.drop())
  const { stderr } = await runCommand(['data:export', target.reader.href, '--output', '-', '--quiet'])
  const { username: reader } = target.reader
  expect(stderr.split('\n')).toEqual([
    expect.stringContaining('warning: the archive lacks things that no archive can hold'),
    `  live: grant t0, t1, t2, t3, t4, t5, t6, t7 and 2 more (SELECT to ${reader})`,
    `  live: grant the stage's schema (USAGE to ${reader})`,
    `  live: owner t0, t1, t2, t3, t4, t5, t6, t7 and 2 more (belongs to ${target.owner.username})`,
    '',
  ])
})

test('what an import left whose process was killed is dropped by the next one, and what one that lives loads into is not', async () => {
  const target = await createExternalDatabase('CREATE TABLE note (id int); INSERT INTO note VALUES (1), (2)')
  onTestFinished(() => target.drop())
  const folder = await temporaryFolder()
  const file = join(folder, 'note.jsonl.gz')
  const address = target.owner.href
  expect((await runCommand(['data:export', address, '--output', file])).code).toBe(0)
  const locked = () => query(address, LOCKED_SQL)
  const begun = () =>
    target.database.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'wharf\\_%' ORDER BY 1`)
  const session = await openSession(address)
  onTestFinished(() => session.end())
  await session.query('BEGIN; SELECT FROM note')
  // Each keeps rows in a folder there.
  const variables = { TMPDIR: await temporaryFolder() }
  const kept = async () => (await readdir(variables.TMPDIR)).toSorted()
  const begin = () => spawnWharf(['data:import', file, address, '--yes'], { cwd: folder, variables })
  const killed = begin()
  await eventually(kept).toHaveLength(1)
  const left = await kept()
  const living = begin()
  await eventually(locked).toHaveLength(2)
  await eventually(begun).toHaveLength(2)
  killed.child.kill('SIGKILL')
  await killed.ended
  await eventually(locked).toHaveLength(1)
  expect(await begun()).toHaveLength(2)
  const third = begin()
  // It loads, too, once it has dropped what nobody has locked.
  await eventually(locked).toHaveLength(2)
  await eventually(begun).toHaveLength(2)
  expect(await kept()).toEqual([expect.not.stringContaining(left.join()), expect.not.stringContaining(left.join())])
  await session.end()
  const ended = await Promise.all([living.ended, third.ended])
  // Who comes second finds that another has changed what is there.
  expect(ended.map((each) => each.code).toSorted()).toEqual([0, 1])
  expect(await begun()).toEqual([])
  expect(await kept()).toEqual([])
  expect(await query(address, 'SELECT id FROM note ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }])
})

test('several schemas are several stages, of which some can be chosen', async () => {
  const both = '?schema=public&schema=sales'
  const stages = linesOf(await archiveOf(addressOf('owner', both)), 'stage')
  expect(stages.map((line) => JSON.parse(line).stage.slug)).toEqual(['public', 'sales'])
  const one = await archiveOf(addressOf('owner', both), '--stage', 'sales')
  expect(linesOf(one, 'stage')).toHaveLength(1)
  expect(linesOf(one, 'row')).toEqual(['{"row":[1, "$12.50"]}', '{"row":[2, null]}'])
  const alone = linesOf(await archiveOf(addressOf('owner', '?schema=Odd')), 'stage')
  expect(alone).toEqual([expect.stringContaining('"slug":"live"')])
})

test('tables are left out, rights taken along, and rows not compressed, as for a project', async () => {
  const folder = await temporaryFolder()
  const output = join(folder, 'plain.jsonl')
  const args = ['--exclude-table', 'item', '--no-gzip', '--output', output, '--grants', '--allow-incomplete']
  const { code, stderr } = await exported(addressOf(), args)
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const archive = await readFile(output, 'utf8')
  expect(linesOf(archive, 'table')).toEqual([])
  expect(linesOf(archive, 'stage')).toEqual([expect.stringContaining('"grants":true')])
  expect((await exported(addressOf(), ['--exclude-table', 'none', '--output', output])).stderr).toMatch(
    /no table "none"/,
  )
  expect(await readFile(output, 'utf8')).toBe(archive)
})

test.each<[what: string, query: string, args: readonly string[], code: number, message: RegExp]>([
  ['a schema that is not there', '?schema=none', [], 1, /has no schema "none" .*it has .*"public"/],
  ['a stage that the address does not give', '', ['--stage', 'sales'], 1, /gives live \(schema public\)/],
  ['a schema that gives no name', '?schema=public&schema=Odd', [], 2, /"Odd" cannot give its stage its name/],
  ['the system section', '', ['--include-system'], 2, /no roles and no event log/],
  ['a job', '', ['--async'], 2, /leave --async out/],
  ['no session at all', '', ['--jobs', '0'], 2, /--jobs must be a whole number from 1 to 32/],
  ['a parameter that libpq does not know', '?unknown=1', [], 2, /none that libpq knows/],
])('%s is refused, and leaves no file', async (_what, query, args, code, message) => {
  const folder = await temporaryFolder()
  const result = await exported(addressOf('owner', query), ['--output', join(folder, 'a.gz'), ...args])
  expect({ code: result.code, stderr: result.stderr }).toEqual({ code, stderr: expect.stringMatching(message) })
  expect(await readdir(folder)).toEqual([])
  expect(result.stderr).not.toContain(external.password)
})

test('four sessions read the same archive as one', async () => {
  const [one = '', four] = [await archiveOf(addressOf(), '--jobs', '1'), await archiveOf(addressOf(), '--jobs', '4')]
  expect(comparableLines(four)).toEqual(comparableLines(one))
})

test('a wrong password is refused, and one that is nowhere is asked for, or missed where there is no terminal', async () => {
  const newest = await createExternalDatabase('CREATE TABLE item AS SELECT 1 AS id')
  onTestFinished(newest.drop)
  const { username, host, pathname } = newest.owner
  const name = `postgres://${username}@${host}${pathname}`
  const asked = (variables: Record<string, string>, options: CliOptions = {}) =>
    runCommand(['data:export', name, '--output', '-', '--quiet'], { variables, ...options })
  const wrong = await asked({ PGPASSWORD: 'not-the-one' })
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('password authentication failed') })
  expect(wrong.stderr).not.toContain('not-the-one')
  expect(await asked({})).toMatchObject({ code: 2, stderr: expect.stringMatching(/asks for a password.*PGPASSWORD/) })
  const typed = await asked({}, { terminal: true, input: `${newest.password}\n` })
  expect(typed).toMatchObject({ code: 0, stderr: expect.stringContaining(`password for ${name}: \n`) })
})

test('what the login may not read is named, with the statement that allows it', async () => {
  const { username } = external.reader
  await external.run('CREATE TABLE closed (n int)')
  const { code, stderr } = await exported(addressOf('reader'), ['--output', '-', '--quiet'])
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(`may not read all .*\n  GRANT SELECT ON TABLE "public"."closed" TO "${username}"\n`),
  })
  expect(await archiveOf(addressOf('reader'), '--exclude-table', 'closed')).toContain('"end"')
  await external.run('DROP TABLE closed')
})

test.each([
  [`INSERT INTO note VALUES (E'\\xff')`, 'a row of table "note" has text that PostgreSQL cannot give as UTF-8'],
  [
    `DO $$ BEGIN EXECUTE E'CREATE TABLE "n\\xff" ()'; END $$`,
    'a name, or something else .* that PostgreSQL cannot give as UTF-8',
  ],
])('of a database without an encoding, text that is not UTF-8 is named: %s', async (statement, message) => {
  const address = new URL(external.owner)
  address.pathname = `${address.pathname}_bytes`
  const name = address.pathname.slice(1)
  await query(
    external.database.superuserUrl,
    `CREATE DATABASE ${name} OWNER ${address.username} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'`,
  )
  try {
    await query(
      address.href,
      `CREATE SCHEMA bytes; SET search_path = bytes; CREATE TABLE early AS SELECT 'all of it ASCII' AS t; CREATE TABLE note (t text); ${statement}`,
    )
    address.password = ''
    const { code, stderr } = await exported(`${address.href}?schema=bytes`, ['--output', '-', '--quiet'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) })
  } finally {
    await query(external.database.superuserUrl, `DROP DATABASE ${name}`)
  }
})

test.skipIf(!hasPgBouncer)('PgBouncer in transaction mode is refused and named', async () => {
  const pooler = await startPgBouncer(external.owner.href, 'transaction')
  try {
    const { code, stderr } = await exported(pooler.url, ['--output', '-', '--quiet'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('PgBouncer') })
  } finally {
    await pooler.end()
  }
})

test('Ctrl-C ends the sessions and leaves no file, also where a lock keeps the export waiting', async () => {
  const other = await openSession(external.owner.href)
  const folder = await temporaryFolder()
  try {
    await other.query('BEGIN; LOCK TABLE item')
    const variables = { PGPASSWORD: external.password }
    const exporting = spawnWharf(['data:export', addressOf('reader')], { cwd: folder, variables })
    const sql = `SELECT FROM pg_stat_activity WHERE usename = '${external.reader.username}' AND wait_event_type = 'Lock'`
    await eventually(() => query(external.database.superuserUrl, sql)).toHaveLength(1)
    exporting.child.kill('SIGINT')
    expect(await exporting.ended).toMatchObject({ code: 130, stderr: 'interrupted\n' })
    await eventually(() => sessionsOf('reader')).toBe(0)
    expect(await readdir(folder)).toEqual([])
  } finally {
    await other.end()
  }
})

const bin = installedPrograms()

test.skipIf(bin === undefined)('pg_dump says the same before an export and after it', async () => {
  const dump = async (): Promise<string> =>
    (
      await promisify(execFile)(join(bin ?? '', 'pg_dump'), [external.database.superuserUrl], { maxBuffer: 2 ** 30 })
    ).stdout.replace(/^\\(un)?restrict .*$/gm, '')
  const before = await dump()
  await archiveOf(addressOf('owner', '?schema=public&schema=sales'), '--grants')
  expect(await dump()).toBe(before)
})
