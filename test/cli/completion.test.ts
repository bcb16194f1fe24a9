import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '../support/cli/cli.ts'
import { isInstalled } from '../support/processes/is-installed.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout } = await runCommand(['completion', shell])
  expect(code).toBe(0)
  const file = join(await temporaryFolder(), 'completion')
  await writeFile(file, stdout)
  return file
}

/** What bash offers for a line, which is typed up to its end. */
async function offered(line: string): Promise<readonly string[]> {
  const run = `source '${await scriptFor('bash')}'; COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; _wharf; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', run], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

test('bash completes the names of commands', async () => {
  expect(await offered('wharf do')).toEqual(['doctor'])
})

test('bash completes what follows a colon, as it splits words there', async () => {
  expect(await offered('wharf data:ex')).toEqual(['export'])
})

test('bash completes the options of a command', async () => {
  expect(await offered('wharf data:export shop --out')).toEqual(['--output'])
})

test('bash offers no command after a command', async () => {
  expect(await offered('wharf doctor do')).toEqual([])
})

test.each(['zsh', 'fish'].filter(isInstalled))('%s takes its script', async (shell) => {
  expect(spawnSync(shell, ['-n', await scriptFor(shell)], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  })
})

test.each(['bash', 'zsh', 'fish'])('the script for %s has every command', async (shell) => {
  const { stdout: help } = await runCommand(['--help'])
  const commands = [...help.matchAll(/^ {2}([a-z]+(?::[a-z]+)?) {2,}/gm)].map(([, name = '']) => name)
  const { stdout } = await runCommand(['completion', shell])
  const script = stdout.replaceAll('\\:', ':')
  expect(commands.length).toBeGreaterThan(40)
  expect(commands.filter((name) => name !== 'help' && !script.includes(name))).toEqual([])
})

test('another shell is wrong use', async () => {
  expect((await runCommand(['completion', 'tcsh'])).code).toBe(2)
})

test('help has the commands in groups, the variables that count, and examples', async () => {
  const { stdout } = await runCommand(['--help'])
  const groups = [...stdout.matchAll(/^([A-Z][a-z ]+):$/gm)].map(([, group]) => group)
  expect(groups).toEqual([
    'Options',
    'Service',
    'Data',
    'Projects and stages',
    'Access',
    'Jobs and schedules',
    'Help',
    'Variables',
  ])
  expect((await runCommand(['recover', '--help'])).stdout).toMatch(
    /\nExamples:\n {2}WHARF_ARTIFACTS=\S+ wharf recover /,
  )
})

test('the help of a command names variables that are read, and gives examples with options that it has', async () => {
  const { stdout: help } = await runCommand(['--help'])
  const commands = [...help.matchAll(/^ {2}([a-z]+(?::[a-z]+)?) {2,}/gm)].map(([, name = '']) => name)
  const known = await readFile(new URL('../../.env.example', import.meta.url), 'utf8')
  let examples = 0
  for (const command of commands.filter((name) => name !== 'help')) {
    const { stdout } = await runCommand([command, '--help'])
    const [, variables = ''] = /\nVariables:\n((?: {2}.*\n)+)/.exec(stdout) ?? []
    for (const [, name = ''] of variables.matchAll(/^ {2}(WHARF_\w+|DATABASE_URL|REDIS_URL)/gm))
      expect(known).toContain(`\n${name}=`)
    for (const [line] of stdout.matchAll(new RegExp(`^ {2}.*wharf ${command} .*$`, 'gm'))) {
      examples += 1
      for (const [option] of line.matchAll(/--[a-z-]+/g))
        expect(stdout, line).toMatch(new RegExp(`^ {2}${option}\\b`, 'm'))
    }
  }
  expect(examples).toBeGreaterThan(20)
  expect((await runCommand(['data:export', '--help'])).stdout).toMatch(/ {2}WHARF_TOKEN +the token/)
  expect((await runCommand(['backup', '--help'])).stdout).toMatch(/ {2}WHARF_BACKUP_KEY +the passphrase/)
})
