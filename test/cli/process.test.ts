import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { welcome } from '../../src/welcome.ts'
import { spawnWharf } from '../support/cli/cli.ts'
import { createMigratedDatabase, createTestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { isInstalled } from '../support/processes/is-installed.ts'
import { PROCESS_FLAGS } from '../support/processes/node-flags.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const COMMANDS = [
  ...['start', 'api', 'worker', 'doctor'],
  ...['data:export', 'data:import', 'data:transfer', 'data:verify', 'data:undo', 'schema:apply'],
  ...['project:create', 'project:list', 'project:show', 'project:delete'],
  ...['stage:create', 'stage:list', 'stage:delete'],
  ...['role:list', 'role:set', 'role:delete', 'token:create', 'token:list', 'token:revoke'],
  ...['profile:add', 'profile:list', 'profile:remove'],
  ...['job:list', 'job:show', 'job:watch', 'job:cancel', 'job:download'],
  ...['schedule:create', 'schedule:list', 'schedule:pause', 'schedule:resume', 'schedule:run', 'schedule:delete'],
]

/** A server whose exports begin and never end. */
const serveEndlessArchive = () =>
  serveHttp((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.write('{"archive":{"version":1,"createdAt":"2026-11-20T21:00:00Z",')
  })

test('help and version need no configuration that is right', async () => {
  const cwd = await temporaryFolder()
  const variables = { WHARF_PORT: 'wrong' }
  const help = await spawnWharf(['--help'], { cwd, variables }).ended
  expect(help).toMatchObject({ code: 0, stderr: '' })
  for (const command of COMMANDS) expect(help.stdout).toContain(`\n  ${command} `)
  expect(await spawnWharf(['--version'], { cwd, variables }).ended).toMatchObject({ code: 0, stderr: '' })
  expect(await spawnWharf(['project:list'], { cwd, variables }).ended).toMatchObject({
    code: 2,
    stderr:
      'error: the configuration is not usable (CONFIG_INVALID)\n  WHARF_PORT must be a whole number from 0 to 65535\n',
  })
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s ends an export without a trace of it', async (signal) => {
  const cwd = await temporaryFolder()
  await writeFile(join(cwd, 'shop.jsonl'), 'the archive of yesterday')
  const { port } = await serveEndlessArchive()
  const { child, ended } = spawnWharf(['data:export', `wharf://shop:T@127.0.0.1:${port}`, '--no-gzip'], { cwd })
  await expect.poll(() => readdir(cwd)).toContain('shop.jsonl.part')
  child.kill(signal)
  expect(await ended).toMatchObject({ code: 130, stdout: '', stderr: 'interrupted\n' })
  expect(await readdir(cwd)).toEqual(['shop.jsonl'])
  expect(await readFile(join(cwd, 'shop.jsonl'), 'utf8')).toBe('the archive of yesterday')
})

test.runIf(process.platform === 'linux')('the list of processes shows neither tokens nor passwords', async () => {
  const cwd = await temporaryFolder()
  const { port } = await serveEndlessArchive()
  const dsn = `wharf://shop:hidden-token@127.0.0.1:${port}`
  const address = 'postgres://app:hidden-password@db/app?sslpassword=hidden-password'
  const { child } = spawnWharf(['data:export', dsn, '--no-gzip', '--exclude-table', address], { cwd })
  await expect.poll(() => readdir(cwd)).toContain('shop.jsonl.part')
  const shown = await readFile(`/proc/${child.pid}/cmdline`, 'utf8')
  expect(shown).toContain('wharf://shop:***@127.0.0.1')
  expect(shown).toContain('postgres://app:***@db/app?sslpassword=***')
  expect(shown).not.toContain('hidden')
})

test.runIf(process.platform === 'linux').each([
  ['webhook:create', '--url', 'https://example.org/hidden'],
  ['webhook:create', '--url=https://example.org/hidden'],
  ['schedule:create', '--cron', '@daily', '--project', 'shop', '--ping', 'https://example.org/hidden'],
])('the list of processes does not show the URL of %s %s %s', async (...args) => {
  const { port } = await serveHttp(() => undefined)
  const server = ['--name', 'x', '--server', `wharf://:hidden@127.0.0.1:${port}`]
  const { child } = spawnWharf([...args.filter((arg) => arg !== undefined), ...server], {
    cwd: await temporaryFolder(),
  })
  const shown = () => readFile(`/proc/${child.pid}/cmdline`, 'utf8')
  await expect.poll(shown).toMatch(/--(url|ping)[ =]\*\*\*/)
  expect(await shown()).not.toContain('hidden')
})

test('a reader that goes away ends an export in good order', async () => {
  const cwd = await temporaryFolder()
  const { port } = await serveHttp((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.write('{"archive":{"version":1,')
    const timer = setInterval(() => response.write(' '.repeat(65_536)), 5)
    response.on('close', () => clearInterval(timer))
  })
  const dsn = `wharf://shop:T@127.0.0.1:${port}`
  const { child, ended } = spawnWharf(['data:export', dsn, '--no-gzip', '--output', '-'], { cwd })
  await once(child.stdout ?? child, 'data')
  child.stdout?.destroy()
  expect(await ended).toMatchObject({
    code: 1,
    stderr: 'error: standard output was closed before the archive was complete (EXPORT_INTERRUPTED)\n',
  })
})

test('variables that are meant for another PostgreSQL do not reach the embedded one', async () => {
  const cwd = await temporaryFolder()
  const elsewhere = {
    PGHOST: 'db.example.org',
    PGPORT: '1',
    PGUSER: 'somebody',
    PGPASSWORD: 'else',
    PGDATABASE: 'other',
  }
  const strange = {
    PGOPTIONS: '-c nonsense=1',
    PGSSLMODE: 'require',
    PGSERVICE: 'none',
    PGAPPNAME: 'app',
    PGDATA: '/no',
  }
  const listed = await spawnWharf(['project:list'], { cwd, variables: { ...elsewhere, ...strange } }).ended
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('demo'), stderr: '' })
})

test('commands start the service inside themselves where none runs, and use the one that does', async () => {
  const cwd = await temporaryFolder()
  const variables = { WHARF_PORT: '0', WHARF_LOG_LEVEL: 'error' }
  const alone = await spawnWharf(['data:export', '--quiet', '--json'], { cwd, variables }).ended
  expect(alone).toMatchObject({ code: 0, stderr: '' })
  expect(await readdir(cwd)).toEqual(['.wharf', 'demo.jsonl.gz'])
  expect(await readdir(join(cwd, '.wharf'))).not.toContain('service.json')
  const archive = gunzipSync(await readFile(join(cwd, 'demo.jsonl.gz'))).toString()
  const [, sample = ''] = /```\n(\{"rows"[^`]*)```/.exec(await readFile(join(ROOT, 'README.md'), 'utf8')) ?? []
  expect(sample).not.toBe('')
  for (const line of sample.split('\n')) expect(archive).toContain(line)
  const back = await spawnWharf(['data:import', 'demo.jsonl.gz', '--yes', '--json'], { cwd, variables }).ended
  expect(back).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(back.stdout)).toMatchObject({ projects: [{ targetSlug: 'demo' }] })

  const service = spawnWharf(['start'], { cwd, variables })
  await expect.poll(() => readdir(join(cwd, '.wharf')), { timeout: 30_000 }).toContain('service.json')
  const [first, second] = await Promise.all([
    spawnWharf(['data:export', '--quiet', '--json', '--output', 'again.jsonl.gz'], { cwd, variables }).ended,
    spawnWharf(['project:show', 'demo', '--json'], { cwd, variables }).ended,
  ])
  expect([first, second]).toMatchObject([
    { code: 0, stderr: '' },
    { code: 0, stderr: '' },
  ])
  expect(JSON.parse(first.stdout)).toMatchObject({ rows: JSON.parse(alone.stdout).rows })
  const [, psql = ''] =
    /```sh\n(PGPASSWORD=[^`]*)```/.exec(await readFile(join(ROOT, 'docs/operations.md'), 'utf8')) ?? []
  if (isInstalled('psql')) {
    const asked = spawnSync('sh', { cwd, input: `${psql.trim()} -c 'TABLE control.project'`, encoding: 'utf8' })
    expect(asked).toMatchObject({ status: 0, stdout: expect.stringContaining('demo') })
  }
  service.child.kill('SIGINT')
  expect(await service.ended).toMatchObject({ code: 0 })
})

/** Says so where, look by look, nothing but timers keeps the program up. */
const LOOKS_FOR_TIMERS = `data:text/javascript,${encodeURIComponent(`
  let looks = 0
  setInterval(() => {
    const kept = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap')
    looks = kept.length > 0 && kept.every((name) => name === 'Timeout') ? looks + 1 : 0
    if (looks === 5) process.stderr.write('nothing but timers is left')
  }, 100).unref()`)}`

test('a command on a database of its own leaves no timer that would keep it up after its work', async () => {
  const cwd = await temporaryFolder()
  const database = await createTestDatabase()
  const variables = { DATABASE_URL: database.url, WHARF_LOG_LEVEL: 'error' }
  const flags = [...PROCESS_FLAGS, '--import', LOOKS_FOR_TIMERS]
  const listed = await spawnWharf(['project:list'], { cwd, variables, flags }).ended
  expect(listed).toMatchObject({ code: 0, stderr: '' })
})

test('the root token is printed where the start made it, and later on only where it stands', async () => {
  const cwd = await temporaryFolder()
  const { url } = await createMigratedDatabase()
  const variables = { DATABASE_URL: url, WHARF_PORT: '0', WHARF_LOG_LEVEL: 'error' }
  const tokenFile = join(cwd, '.wharf', 'root-token')
  const start = async (): Promise<string> => {
    const service = spawnWharf(['start'], { cwd, variables })
    await once(service.child.stdout ?? service.child, 'data')
    service.child.kill('SIGTERM')
    return (await service.ended).stdout
  }
  const first = await start()
  const token = (await readFile(tokenFile, 'utf8')).trim()
  expect(JSON.parse(first)).toMatchObject({ rootToken: token, rootTokenFile: tokenFile })
  const second = await start()
  expect(JSON.parse(second)).toMatchObject({ rootTokenFile: tokenFile })
  expect(second).not.toContain(token)
})

test('a start on a port that is taken says so in one line, before it sets anything up', async () => {
  const cwd = await temporaryFolder()
  const { port } = await serveEndlessArchive()
  const { code, stderr } = await spawnWharf(['start'], { cwd, variables: { WHARF_PORT: String(port) } }).ended
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `error: cannot listen on 127.0.0.1:${port}: another program listens there; stop it, or set WHARF_PORT to another port (CONFIG_INVALID)\n`,
  })
  expect(await readdir(join(cwd, '.wharf'))).toEqual(['folder-id'])
})

test('a signal that comes again later ends the service at once, and its PostgreSQL with it', async () => {
  const cwd = await temporaryFolder()
  const service = spawnWharf(['start'], { cwd, variables: { WHARF_PORT: '0' } })
  const [welcomed] = await once(service.child.stdout ?? service.child, 'data')
  const { url, rootToken } = JSON.parse(String(welcomed))
  // It would wait ten seconds for this request.
  const upload = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  const head = ['POST /import HTTP/1.1', 'Host: wharf', `Authorization: Bearer ${rootToken}`, 'Content-Length: 9']
  upload.write(`${head.join('\r\n')}\r\n\r\n{`)
  const serverFile = join(cwd, '.wharf/postgres/postmaster.pid')
  expect(existsSync(serverFile)).toBe(true)
  const again = setInterval(() => service.child.kill('SIGTERM'), 100)
  const { code } = await service.ended.finally(() => clearInterval(again))
  upload.destroy()
  expect(code).toBe(130)
  await expect.poll(() => existsSync(serverFile)).toBe(false)
})

test('all that a service says without a terminal is lines of JSON, warnings of Node.js and of the S3 client too', async () => {
  const cwd = await temporaryFolder()
  const { url } = await createMigratedDatabase()
  const flags = [
    ...PROCESS_FLAGS,
    '--import',
    'data:text/javascript,process.on("SIGUSR2",()=>process.emitWarning("old"))',
  ]
  const bucket = {
    ...{ WHARF_ARTIFACTS: 's3://bucket/wharf', AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_REGION: 'us-east-1' },
    ...{ AWS_ACCESS_KEY_ID: 'none', AWS_SECRET_ACCESS_KEY: 'none' },
  }
  const service = spawnWharf(['start'], { cwd, variables: { DATABASE_URL: url, WHARF_PORT: '0', ...bucket }, flags })
  let logged = ''
  service.child.stderr.on('data', (chunk: Buffer) => (logged += chunk.toString()))
  await once(service.child.stdout ?? service.child, 'data')
  service.child.kill('SIGUSR2')
  await eventually(async () => logged).toContain('"old"')
  service.child.kill('SIGINT')
  const { stdout, stderr } = await service.ended
  const lines = (stdout + stderr)
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'old', warning: 'Warning' }))
})

test.each([
  [
    'shows it on a terminal',
    true,
    '/srv/wharf/root-token',
    'Root token: the-token\n',
    '"Authorization: Bearer the-token"',
  ],
  ['names its file', false, '/srv/wharf/root-token', 'Root token: in /srv/', "Bearer $(cat '/srv/wharf/root-token')\""],
  [
    'names its variable',
    false,
    undefined,
    'Root token: the one of WHARF_ROOT_TOKEN',
    '"Authorization: Bearer $WHARF_ROOT',
  ],
])('the welcome says what the root token is, or where: it %s', (_, showToken, tokenFile, said, inShell) => {
  const text = welcome({ url: 'http://127.0.0.1:4000', rootToken: 'the-token', tokenFile, showToken, hasDemo: true })
  expect(text).toContain(said)
  expect(text).toContain(inShell)
  expect(text.includes('the-token')).toBe(showToken)
})

test('the welcome names the demo project only where there is one', () => {
  const [withDemo, without] = [true, false].map((hasDemo) =>
    welcome({ url: 'http://127.0.0.1:4000', rootToken: 'token', tokenFile: undefined, showToken: false, hasDemo }),
  )
  expect(withDemo).toContain('project:show demo')
  expect(without).not.toContain('demo')
})

test('commands that come at the same moment to a machine without a service all get through', async () => {
  const cwd = await temporaryFolder()
  const run = () => spawnWharf(['project:list', '--json'], { cwd }).ended
  const results = await Promise.all([run(), run()])
  expect(results).toMatchObject([
    { code: 0, stderr: '' },
    { code: 0, stderr: '' },
  ])
})
