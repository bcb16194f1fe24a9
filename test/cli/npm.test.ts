import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { findFreePort } from '../../src/database/embedded/free-port.ts'
import { type CliResult, runCommand } from '../support/cli/cli.ts'
import { eventually } from '../support/eventually.ts'
import { type Child, PROGRAM, spawnChild } from '../support/processes/child.ts'
import { PROCESS_FLAGS } from '../support/processes/node-flags.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

/** Runs the built program by npm itself, from a package whose script is as ours. */
async function npmRun(line: string): Promise<Pick<CliResult, 'code' | 'stderr'>> {
  const cwd = await temporaryFolder()
  const scripts = { wharf: `"${process.execPath}" "${PROGRAM}"` }
  await writeFile(join(cwd, 'package.json'), JSON.stringify({ name: 'any', version: '1.0.0', scripts }))
  await writeFile(join(cwd, '.npmrc'), 'update-notifier=false\n')
  const env = { PATH: process.env.PATH, HOME: cwd }
  const child = spawn('npm', ['run', '--silent', ...line.split(' ')], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(child, 'close')
  const stderr = await text(child.stderr)
  await closed
  return { code: child.exitCode, stderr }
}

const nowhere = 'wharf://shop:T@127.0.0.1:1'

test.each([
  ['wharf data:export --no-gzip', 'npm run wharf -- data:export ... --no-gzip'],
  [`wharf data:import a.jsonl ${nowhere} --dry-run`, 'npm run wharf -- data:import ... --dry-run'],
  [`wharf data:undo ${nowhere} --stage draft`, 'npm run wharf -- data:undo ... --stage <slug>'],
  ['wharf data:export --output=-', 'npm run wharf -- data:export ... --output <file>'],
])('npm run %s is refused, with the right way to write it', async (line, right) => {
  const { code, stderr } = await npmRun(line)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(right) })
  expect(stderr).toMatch(/^error: --[a-z-]+ was taken by npm, nothing was done/)
})

test('npm run with the options after "--" goes on', async () => {
  const { code, stderr } = await npmRun(`wharf -- data:export ${nowhere} --no-gzip --output out --quiet`)
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('nothing listens there') })
})

const byNpm = { npm_lifecycle_event: 'wharf', npm_config_user_agent: 'npm/11.19.1 node/v20.20.2 linux x64' }
const exporting = ['data:export', nowhere]
const dryRun = { npm_config_dry_run: 'true' }

test.each<[what: string, args: readonly string[], variables: Readonly<Record<string, string>>]>([
  ["an option that is one of npm's settings", ['data:undo', nowhere, '--yes'], { ...byNpm, npm_config_force: 'true' }],
  ['an option of another command', exporting, { ...byNpm, ...dryRun }],
  ['an option that is given as well', [...exporting, '--no-gzip'], { ...byNpm, npm_config_gzip: '' }],
  ['an option that is off', [...exporting], { ...byNpm, npm_config_include_system: '' }],
  ['an option of another script', exporting, { ...byNpm, npm_lifecycle_event: 'backup', npm_config_gzip: '' }],
  ['an option in the environment without npm', exporting, { npm_config_gzip: '' }],
])('%s was not taken by npm', async (_, args, variables) => {
  const { code, stderr } = await runCommand(args, { variables })
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('nothing listens there') })
})

test.each(['start', 'api', 'worker', 'wharf'])(
  'the shell of npm run %s gives way to the program, which gets its signals',
  async (script) => {
    const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(scripts[script]).toMatch(/^exec node /)
  },
)

test('Ctrl-C while the first start makes the cluster of its PostgreSQL ends it in order, as initdb gets the signal, too', async () => {
  const dataDir = await temporaryFolder()
  const service = await spawnChild(process.execPath, [...PROCESS_FLAGS, PROGRAM, 'start'], {
    env: { PATH: process.env.PATH, HOME: dataDir, WHARF_DATA_DIR: dataDir, WHARF_PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  onTestFinished(() => service.signal('SIGKILL'))
  let logged = ''
  service.process.stderr?.on('data', (chunk: Buffer) => (logged += chunk.toString()))
  const unfinished = async () => (await readdir(dataDir)).filter((name) => name.startsWith('postgres.unfinished-'))
  await eventually(async () => (await unfinished()).map((name) => existsSync(join(dataDir, name, 'cluster')))).toEqual([
    true,
  ])
  process.kill(-service.pid, 'SIGINT')
  await service.ended
  expect({ code: service.process.exitCode, logged }).toEqual({
    code: 0,
    logged: expect.stringMatching(/"signal":"SIGINT","msg":"stopping"/),
  })
  expect(logged).not.toMatch(/"level":[45]0|error/)
  expect(await unfinished()).toEqual([])
})

test.each([
  ['npm start alone', (npm: Child) => npm.signal('SIGTERM')],
  ['the process group of npm start, which npm passes on once more,', (npm: Child) => process.kill(-npm.pid, 'SIGTERM')],
])('SIGTERM to %s ends the service and its PostgreSQL in order', async (_, end) => {
  const dataDir = await temporaryFolder()
  const npm = await spawnChild('npm', ['start', '--silent'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: process.env.PATH, HOME: dataDir, WHARF_DATA_DIR: dataDir, WHARF_PORT: String(await findFreePort()) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  onTestFinished(() => npm.signal('SIGKILL'))
  let [said, logged] = ['', '']
  npm.process.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  npm.process.stderr?.on('data', (chunk: Buffer) => (logged += chunk.toString()))
  await eventually(async () => said).toContain('Wharf is at')
  const runs = (): boolean => existsSync(join(dataDir, 'postgres/postmaster.pid'))
  expect(runs()).toBe(true)
  end(npm)
  await npm.ended
  await eventually(async () => runs()).toBe(false)
  expect(logged).not.toMatch(/57P01|"level":[45]0|\n +at /)
})
