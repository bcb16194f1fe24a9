import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { comparableLines } from '../support/archives/import.ts'
import { openTerminal, readBlocks, readCommands } from '../support/cli/guide.ts'
import { createMigratedDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { startServerOfMany } from '../support/servers/server-of-many.ts'
import { query } from '../support/servers/sessions.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service/service-process.ts'
import { ROOT_TOKEN } from '../support/service/wharf.ts'

/*
 * All guides name the same logins, so they follow each other here.
 */

const run = promisify(execFile)
const bin = installedPrograms() ?? ''
const installed = inject('installed')
const superuserUrl = installed?.superuserUrl ?? ''
const port = installed === null ? '' : new URL(superuserUrl).port

const CHINOOK = fileURLToPath(new URL('../../../shared/data/chinook/chinook.sql', import.meta.url))
const SMALL = `
  CREATE TABLE artist (id serial PRIMARY KEY, name text);
  CREATE TABLE song (id int, artist_id int REFERENCES artist, at date) PARTITION BY RANGE (at);
  CREATE TABLE song_all PARTITION OF song DEFAULT;
  CREATE VIEW first AS SELECT * FROM artist WHERE id = 1;
  INSERT INTO artist (name) SELECT n FROM generate_series(1, 50) n;
  INSERT INTO song SELECT n, n, date '2026-01-01' + n FROM generate_series(1, 50) n`

const addressOf = (name: string): string => `postgres://app@127.0.0.1:${port}/${name}`

/** Databases of the login `app`, and the login `reader`, on the installed server, for the test that runs. */
async function makeDatabases(...names: readonly string[]): Promise<void> {
  const logins = ['app', 'reader']
  for (const login of logins) await query(superuserUrl, `CREATE ROLE ${login} LOGIN`)
  for (const name of names) await query(superuserUrl, `CREATE DATABASE ${name} OWNER app TEMPLATE template0`)
  onTestFinished(async () => {
    for (const name of names) await query(superuserUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    for (const login of logins) await query(superuserUrl, `DROP ROLE ${login}`)
  })
}

/** Fills a database as its owner does, by psql. */
async function fill(name: string): Promise<void> {
  const input = existsSync(CHINOOK) ? ['-f', CHINOOK] : ['-c', SMALL]
  const psql = existsSync(join(bin, 'psql')) ? join(bin, 'psql') : 'psql'
  await run(psql, ['-q', '-v', 'ON_ERROR_STOP=1', addressOf(name), ...input])
}

const typed = new Set<string>()

/** A terminal, and the service that it finds. @param variables of the environment in which commands are typed. */
async function openBoth(variables: Readonly<Record<string, string>> = {}) {
  const dataDir = await temporaryFolder()
  const terminal = await openTerminal({
    ...{ WHARF_DATA_DIR: dataDir, WHARF_ROOT_TOKEN: ROOT_TOKEN },
    ...{ PGPORT: port, PGPASSWORD: 'not asked for', ...variables },
  })
  const begin = async (): Promise<ServiceProcess> => {
    const database = await createMigratedDatabase()
    onTestFinished(database.drop)
    const service = await startServiceProcess({ databaseUrl: database.url, dataDir })
    onTestFinished(async () => void (await service.kill('SIGTERM')))
    return service
  }
  const type = (text: string): Promise<string> => {
    typed.add(text)
    return terminal.type(text)
  }
  return { ...terminal, type, begin }
}

async function dump(name: string): Promise<string> {
  const { stdout } = await run(join(bin, 'pg_dump'), ['--no-acl', '--schema=public', addressOf(name)], {
    maxBuffer: 2 ** 28,
  })
  return stdout.replace(/^\\(un)?restrict .*$/gm, '')
}

describe.skipIf(bin === '' || installed === null)('the guide', () => {
  test('to a backup leads to an archive by two commands, and to a proven one every night by three', async () => {
    await makeDatabases('chinook')
    await fill('chinook')
    const { type, folder, begin } = await openBoth()
    const commands = await readCommands('guides/back-up-a-database.md')
    const [toArchive = '', toLook = '', toSchedule = '', toList = '', toRestore = '', toImport = ''] = commands
    expect(toArchive.trim().split('\n')).toHaveLength(2)
    expect(toSchedule.trim().split('\n')).toHaveLength(2)

    expect(await type(toArchive)).toContain('exported chinook to chinook.jsonl.gz')
    // What every database has is nothing that an archive lacks.
    expect(await type('npm run wharf data:verify chinook.jsonl.gz -- --json')).toContain('"complete":true')
    expect(await readdir(folder)).toEqual(['chinook.jsonl.gz'])
    expect(await type(toLook)).toContain('{"archive":')

    const service = await begin()
    await type(toSchedule)
    const [{ id }] = JSON.parse((await service.root.get('/schedules')).text).items
    expect((await service.root.post(`/schedules/${id}/run`)).status).toBe(202)
    await eventually(async () => (await service.root.get(`/schedules/${id}`)).text).toMatch(/"lastProven":\{/)
    expect(await type(toList)).toContain('nightly')
    expect(await type(toRestore)).toContain('imported')
    expect(await type(toImport)).toContain('imported')
  })

  test('to all databases of a server leads to one archive of them, from which each comes back', async () => {
    const many = await startServerOfMany(bin)
    onTestFinished(many.remove)
    const rows =
      'CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item SELECT n, n FROM generate_series(1, 99) n'
    const [toRead] = (await readBlocks('guides/back-up-every-database.md')).filter(({ language }) => language === 'sql')
    await many.run('DROP ROLE backup')
    await many.run(toRead?.text.replace('...', many.password) ?? '')
    typed.add(toRead?.text ?? '')
    await many.run(`CREATE ROLE app LOGIN PASSWORD '${many.password}'`)
    for (const name of ['crm', 'shop', 'scratch_1']) await many.makeDatabase(name, `SET ROLE app; ${rows}`, 'app')
    await many.makeDatabase('restored', '', 'app')
    const { type, begin } = await openBoth({ PGPORT: many.address.port, PGPASSWORD: many.password })
    const { root } = await begin()
    const [toSchedule = '', toList = '', toRestore = ''] = await readCommands('guides/back-up-every-database.md')
    expect(await type(toSchedule)).toMatch(/\nshop +main-shop +attached live \(schema public\)/)
    const [{ id }] = JSON.parse((await root.get('/schedules')).text).items
    const runIt = async (): Promise<string> => {
      const { id: jobId } = JSON.parse((await root.post(`/schedules/${id}/run`)).text)
      await eventually(async () => (await root.get(`/jobs/${jobId}`)).json, 120_000).toMatchObject({
        status: 'succeeded',
      })
      return jobId
    }
    await runIt()
    await many.makeDatabase('made_today', `SET ROLE app; ${rows}`, 'app')
    await type(`npm run wharf job:download ${await runIt()} -- --output nightly.jsonl.gz`)
    expect(await type(`npm run wharf schedule:show ${id}`)).toContain('new: main-made_today')
    expect(await type(toList)).toContain('export of main-*')
    expect(await type(toRestore)).toContain('imported')
    expect(await many.dump('restored')).toBe(await many.dump('shop'))
  })

  test('to staging leads to a copy of production, which pg_dump says is the same, and again over itself', async () => {
    await makeDatabases('shop', 'staging')
    await fill('shop')
    await query(addressOf('shop'), 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader')
    await query(addressOf('shop'), 'GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader')
    const { type, begin } = await openBoth()
    const service = await begin()
    const [toSchedule = ''] = await readCommands('guides/staging-every-night.md')
    expect(toSchedule.trim().split('\n')).toHaveLength(3)
    await type(toSchedule)
    const [{ id }] = JSON.parse((await service.root.get('/schedules')).text).items
    for (const _ of ['first', 'again']) {
      const answer = await service.root.post(`/schedules/${id}/run`)
      expect(answer.status, answer.text).toBe(202)
      const path = `/jobs/${JSON.parse(answer.text).id}`
      await eventually(async () => (await service.root.get(path)).json, 60_000).toMatchObject({ status: 'succeeded' })
      expect(await dump('staging')).toBe(await dump('shop'))
    }
  })

  test('to another host leads to a database that is the same by pg_dump and by its archive, and again', async () => {
    await makeDatabases('shop', 'moved')
    await fill('shop')
    const { type, folder } = await openBoth()
    const [toMove = '', toCompare = ''] = await readCommands('guides/move-to-another-host.md')
    const linesOf = async (file: string) => comparableLines(await readFile(join(folder, file), 'utf8'))
    for (const _ of ['first', 'again']) {
      expect(await type(toMove)).toContain('transferred shop to moved')
      expect(await dump('moved')).toBe(await dump('shop'))
      await type(toCompare)
      expect(await linesOf('new.jsonl')).toEqual(await linesOf('old.jsonl'))
    }
    const schemas = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'wharf%'"
    expect(await query(addressOf('moved'), schemas)).toEqual([])
  })

  test('has no command that none of these tests runs', async () => {
    const folder = fileURLToPath(new URL('../../docs/guides', import.meta.url))
    const blocks = (await Promise.all((await readdir(folder)).map((page) => readBlocks(`guides/${page}`)))).flat()
    const others = blocks.filter(({ text }) => !typed.has(text))
    // Tests start the service themselves.
    expect(others).toEqual(others.map(() => ({ language: 'sh service', text: 'npm start\n' })))
  })
})
