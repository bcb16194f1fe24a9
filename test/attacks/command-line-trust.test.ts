import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { rememberFolder, whyUnknown } from '../../src/data-folder/known-folders.ts'
import { foreignOwnerAmong, listenerOwners } from '../../src/data-folder/listener-owners.ts'
import { distrustOfFolder, readOwnFile } from '../../src/data-folder/own-files.ts'
import { readTrustedAddress, toLocalUrl, writeServiceAddress } from '../../src/data-folder/service-address.ts'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { createLogger } from '../../src/logger.ts'
import { runCommand, spawnWharf } from '../support/cli/cli.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { asOrdinaryUser } from '../support/processes/ordinary-user.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { query } from '../support/servers/sessions.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})

afterAll(() => wharf.close())

afterEach(async () => {
  await chmod(wharf.dataDir, 0o755)
})

const STARTED = new Date().toISOString()

const leaveAddress = (dataDir: string, url: string): Promise<void> =>
  writeServiceAddress(dataDir, { url, pid: process.pid, startedAt: STARTED })

const listProjects = (dataDir: string) =>
  runCommand(['project:list', '--json'], {
    variables: { WHARF_DATA_DIR: dataDir, WHARF_ROOT_TOKEN: ROOT_TOKEN },
  })

/** A server that answers as a healthy Wharf would, as far as it can. */
const serveThief = () =>
  serveHttp((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"status":"ok","items":[],"next":null}')
  })

test('a command still finds the running service of its data folder', async () => {
  await leaveAddress(wharf.dataDir, wharf.url)
  expect(await listProjects(wharf.dataDir)).toMatchObject({ code: 0, stderr: '' })
})

test('gets the root token by a service file in the current folder', async () => {
  const thief = await serveThief()
  const dataDir = await temporaryFolder()
  await leaveAddress(dataDir, thief.url)
  await listProjects(dataDir)
  expect(thief.requests.map(({ headers }) => headers.authorization)).not.toContain(`Bearer ${ROOT_TOKEN}`)
})

test('gets the root token on the port of a service that has ended, not knowing its secret', async () => {
  const thief = await serveThief()
  const dataDir = await temporaryFolder()
  await copyFile(join(wharf.dataDir, 'proof-secret'), join(dataDir, 'proof-secret'))
  await chmod(join(dataDir, 'proof-secret'), 0o600)
  await leaveAddress(dataDir, thief.url)
  await listProjects(dataDir)
  expect(thief.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([['/healthz', undefined]])
})

test('gets the root token by passing the question on to the real service', async () => {
  const relay = await serveHttp((incoming, response) => {
    const { port } = new URL(wharf.url)
    request({ port, path: incoming.url, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    }).end()
  })
  await leaveAddress(wharf.dataDir, relay.url)
  await listProjects(wharf.dataDir)
  expect(relay.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([['/healthz', undefined]])
})

test('gets the root token by a service file in a folder that everybody may write', async () => {
  await leaveAddress(wharf.dataDir, wharf.url)
  await chmod(wharf.dataDir, 0o777)
  expect(await listProjects(wharf.dataDir)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/"the data folder \S+ is not used: \S+ can be written by others: run chmod go-w/),
  })
})

test.each([
  'http://192.0.2.1:4000',
  'http://localhost:4000',
  'https://127.0.0.1:4000',
  'http://127.0.0.1.example.org:4000',
  'http://user@127.0.0.1:4000',
  'http://0.0.0.0:4000',
  'http://[::ffff:127.0.0.1]:4000',
])('a service file that names %s is not used', async (url) => {
  const dataDir = await temporaryFolder()
  await leaveAddress(dataDir, url)
  expect(await readTrustedAddress(dataDir)).toMatchObject({
    kind: 'distrusted',
    reason: expect.stringContaining('not on loopback'),
  })
})

test('a service that listens on every address is found on loopback', () => {
  expect(toLocalUrl('http://0.0.0.0:4000')).toBe('http://127.0.0.1:4000')
  expect(toLocalUrl('http://[::]:4000')).toBe('http://[::1]:4000')
  expect(toLocalUrl('http://192.0.2.1:4000')).toBe('http://192.0.2.1:4000')
})

test('a service file counts only with a secret that nobody else can read', async () => {
  const dataDir = await temporaryFolder()
  await leaveAddress(dataDir, 'http://127.0.0.1:4000')
  expect(await readTrustedAddress(dataDir)).toMatchObject({ reason: expect.stringMatching(/proof-secret is missing/) })
  await writeFile(join(dataDir, 'proof-secret'), 'secret', { mode: 0o644 })
  expect(await readTrustedAddress(dataDir)).toMatchObject({ reason: expect.stringMatching(/is open to others/) })
  await chmod(join(dataDir, 'proof-secret'), 0o600)
  expect(await readTrustedAddress(dataDir)).toMatchObject({ kind: 'found' })
  await rm(join(dataDir, 'service.json'))
  await symlink(join(wharf.dataDir, 'service.json'), join(dataDir, 'service.json'))
  expect(await readTrustedAddress(dataDir)).toMatchObject({ reason: expect.stringMatching(/is a symbolic link/) })
})

test('what belongs to another user is not read', async () => {
  await asOrdinaryUser(async () => {
    expect(await distrustOfFolder('/etc')).toMatch(/^\/etc belongs to the user with the id 0, .* run it as the owner$/)
    expect(await readOwnFile('/etc/passwd', 'public')).toMatchObject({ kind: 'distrusted' })
  })
})

test('it is known whose process listens on a port', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  try {
    await expect.poll(() => server.listening).toBe(true)
    const { port } = server.address() as AddressInfo
    expect(await listenerOwners(port)).toEqual(new Set([process.geteuid?.()]))
  } finally {
    server.close()
  }
})

test('sends a token elsewhere by an .env in the current folder', async () => {
  const cwd = await temporaryFolder()
  const thief = await serveThief()
  await writeFile(join(cwd, '.env'), 'WHARF_TOKEN=planted\nWHARF_PORT=wrong\n')
  const listed = await spawnWharf(['project:list', '--server', `wharf://127.0.0.1:${thief.port}`], { cwd }).ended
  expect(listed).toMatchObject({ code: 2, stderr: expect.stringMatching(/carries no token: .*; \.env is read by/) })
  expect(thief.requests).toEqual([])
})

test('the service reads .env of the folder where it is started', async () => {
  const cwd = await temporaryFolder()
  await writeFile(join(cwd, '.env'), 'WHARF_PORT=wrong\n')
  for (const part of ['start', 'api', 'worker']) {
    const started = await spawnWharf([part], { cwd }).ended
    expect(started).toMatchObject({ code: 2, stderr: expect.stringContaining('WHARF_PORT must be a whole number') })
  }
})

test("a port that root listens on is another user's, but for root", () => {
  expect(foreignOwnerAmong(new Set([1000, 0]), 1000)).toBe(0)
  expect(foreignOwnerAmong(new Set([0]), 0)).toBeUndefined()
  expect(foreignOwnerAmong(new Set([1001]), 0)).toBe(1001)
})

const run = promisify(execFile)

/** A folder that every user may write, since PostgreSQL may run as another one. */
async function openFolder(): Promise<string> {
  const folder = await temporaryFolder()
  await chmod(folder, 0o777)
  return folder
}

/** Puts a program into the tables of a data folder, to be run at the next login, and leaves it as an archive would. */
async function plantInTables(dataDir: string, trace: string): Promise<void> {
  const postgres = await startEmbeddedPostgres({ dataDir, logger: createLogger('silent') })
  try {
    await query(
      postgres.superuserUrl,
      `CREATE FUNCTION planted() RETURNS event_trigger LANGUAGE plpgsql
         AS $$ BEGIN COPY (SELECT 1) TO PROGRAM 'cat > ${trace}'; END $$;
       ALTER FUNCTION planted() SECURITY DEFINER;
       CREATE EVENT TRIGGER planted ON login EXECUTE FUNCTION planted()`,
    )
  } finally {
    await postgres.stop()
  }
}

test('runs code by a data folder that was unpacked', async () => {
  const [cwd, traces] = [await temporaryFolder(), await openFolder()]
  const dataDir = join(cwd, '.wharf')
  await mkdir(dataDir)
  await plantInTables(dataDir, join(traces, 'ran'))
  const before = (await readdir(dataDir)).toSorted()
  const listed = await spawnWharf(['project:list'], { cwd }).ended
  expect(await readdir(traces)).toEqual([])
  expect(listed).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^error: the database of the data folder \S+ is not started: this user has neither made/,
    ),
  })
  expect(listed.stderr).toContain('run "wharf start" here')
  expect((await readdir(dataDir)).toSorted()).toEqual(before)
})

test('runs code by the configuration of a data folder that was unpacked', async () => {
  const [dataDir, traces, elsewhere] = [await temporaryFolder(), await openFolder(), await openFolder()]
  const logger = createLogger('silent')
  await (await startEmbeddedPostgres({ dataDir, logger })).stop()
  const trace = join(traces, 'ran')
  const planted = {
    ...{ shared_preload_libraries: trace, session_preload_libraries: trace, local_preload_libraries: trace },
    ...{ dynamic_library_path: traces, extension_control_path: traces, oauth_validator_libraries: trace },
    ...{ ssl: 'on', ssl_passphrase_command: `touch ${trace}`, jit_provider: trace },
    ...{ archive_command: `touch ${trace}`, restore_command: `touch ${trace}`, recovery_end_command: `touch ${trace}` },
    ...{ archive_cleanup_command: `touch ${trace}`, external_pid_file: trace, data_directory: elsewhere },
    ...{ logging_collector: 'on', log_directory: traces, hba_file: join(elsewhere, 'hba'), work_mem: '7MB' },
  }
  const lines = Object.entries(planted).map(([name, value]) => `${name} = '${value}'\n`)
  await writeFile(join(dataDir, 'postgres', 'postgresql.auto.conf'), lines.join(''))
  const postgres = await startEmbeddedPostgres({ dataDir, logger })
  try {
    const rows = await query(
      postgres.superuserUrl,
      "SELECT name FROM pg_settings WHERE name = ANY ($1) AND source LIKE '%file%'",
      [Object.keys(planted)],
    )
    // Nothing is logged to that folder while the collector is off.
    expect(rows).toEqual([{ name: 'log_directory' }, { name: 'work_mem' }])
    expect(await readdir(traces)).toEqual([])
  } finally {
    await postgres.stop()
  }
})

test('a data folder is known where this user has made or started it, and nowhere else', async () => {
  const [cwd, home] = [await temporaryFolder(), await temporaryFolder()]
  const variables = { HOME: home, WHARF_PORT: '0', WHARF_LOG_LEVEL: 'error' }
  const list = async (folder: string) => (await spawnWharf(['project:list'], { cwd: folder, variables }).ended).code
  const dataDir = join(cwd, '.wharf')
  const stateDir = join(home, '.local', 'state')
  expect(await list(cwd)).toBe(0)
  expect(await list(cwd)).toBe(0)

  const copy = await temporaryFolder()
  await run('cp', ['-a', dataDir, copy])
  expect(await list(copy)).toBe(2)

  await run('cp', ['-a', dataDir, join(cwd, 'restored')])
  await rename(dataDir, join(cwd, 'old'))
  await rename(join(cwd, 'restored'), dataDir)
  expect(await whyUnknown(stateDir, dataDir)).toMatch(/^it is another folder than the one/)

  const service = spawnWharf(['start'], { cwd, variables })
  await expect.poll(() => readdir(dataDir), { timeout: 30_000 }).toContain('service.json')
  service.child.kill('SIGINT')
  expect(await service.ended).toMatchObject({ code: 0 })
  expect(await list(cwd)).toBe(0)
})

test('marks a data folder by a folder of marks that everybody may write', async () => {
  const [dataDir, stateDir] = [await temporaryFolder(), await temporaryFolder()]
  expect(await rememberFolder(stateDir, dataDir)).toBeUndefined()
  expect(await whyUnknown(stateDir, dataDir)).toBeUndefined()
  await chmod(join(stateDir, 'wharf', 'data-folders'), 0o777)
  expect(await whyUnknown(stateDir, dataDir)).toMatch(/can be written by others: run chmod go-w/)
  expect(await rememberFolder(stateDir, dataDir)).toMatch(/can be written by others: run chmod go-w/)
})

test('puts a folder of its own in the place of a known one', async () => {
  const [cwd, stateDir] = [await temporaryFolder(), await temporaryFolder()]
  const dataDir = join(cwd, '.wharf')
  await mkdir(dataDir)
  await rememberFolder(stateDir, dataDir)
  await writeFile(join(dataDir, 'folder-id'), 'of the attacker', { mode: 0o600 })
  expect(await whyUnknown(stateDir, dataDir)).toMatch(/^it is another folder/)
})

test('marks and ids are readable by nobody else', async () => {
  const [dataDir, home] = [await temporaryFolder(), await temporaryFolder()]
  await rememberFolder(join(home, 'state'), dataDir)
  const { stdout } = await run('find', [home, dataDir, '-mindepth', '1', '-printf', '%y%m\n'])
  expect(stdout.trim().split('\n').toSorted()).toEqual(['d700', 'd700', 'd700', 'f600', 'f600'])
})

const HOMES = [
  ['a home that cannot be made', { HOME: '/proc/nowhere' }, /\/proc\/nowhere\/\S+ cannot be/],
  ['no home', {}, /neither HOME nor XDG_STATE_HOME/],
] as const

test.each(isThorough ? HOMES : HOMES.slice(-1))(
  'with %s, a service is started, and a command says what to do',
  async (_, home, reason) => {
    const cwd = await temporaryFolder()
    const variables = { HOME: '', WHARF_PORT: '0', WHARF_LOG_LEVEL: 'info', ...home }
    const service = spawnWharf(['start'], { cwd, variables })
    await expect.poll(() => readdir(join(cwd, '.wharf')).catch(() => []), { timeout: 30_000 }).toContain('service.json')
    expect(await spawnWharf(['project:list'], { cwd, variables }).ended).toMatchObject({ code: 0, stderr: '' })
    service.child.kill('SIGINT')
    const { code, stdout, stderr } = await service.ended
    expect({ code, said: stdout + stderr }).toEqual({ code: 0, said: expect.stringMatching(reason) })
    expect(await spawnWharf(['project:list'], { cwd, variables }).ended).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is not started: .* run "wharf start" here, and the command again while that runs/),
    })
  },
)
