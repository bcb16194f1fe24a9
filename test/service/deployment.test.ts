import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { VARIABLES } from '../../src/config.ts'
import { isInstalled } from '../support/processes/is-installed.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const units = join(root, 'docs', 'systemd')
const names = await readdir(units)

test.skipIf(!isInstalled('systemd-analyze')).each(names)('systemd takes the unit %s', async (name) => {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-unit-'))
  try {
    const unit = join(folder, name.replace('@', '@1'))
    await cp(join(units, name), unit)
    const { stdout, stderr } = await run('systemd-analyze', ['verify', unit])
    expect(stdout + stderr).not.toContain(name.replace('@', '@1'))
  } finally {
    await rm(folder, { recursive: true })
  }
})

test.each(names)('the unit %s runs a command that there is, with variables that Wharf reads', async (name) => {
  const unit = await readFile(join(units, name), 'utf8')
  const [, command = ''] = /^ExecStart=\S+ dist\/main\.js (\w+)$/m.exec(unit) ?? []
  expect(['api', 'worker']).toContain(command)
  const variables = [...unit.matchAll(/(WHARF_\w+)=/g)].map(([, variable]) => variable)
  expect(variables).not.toEqual([])
  for (const variable of variables) expect(VARIABLES).toContain(variable)
})

test('variables that the guide names are those that Wharf reads', async () => {
  const guide = await readFile(join(root, 'docs', 'deploying.md'), 'utf8')
  const variables = [...guide.matchAll(/\bWHARF_[A-Z_]+/g)].map(([variable]) => variable)
  expect(variables).toContain('WHARF_SECRET_KEY')
  for (const variable of variables) expect(VARIABLES).toContain(variable)
})

/** Compose 1.29 knows all of the specification that the file needs, but for the name of the project. */
test.skipIf(!isInstalled('docker-compose'))(
  'Compose takes the file, and gives each service what it needs',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wharf-compose-'))
    try {
      const file = await readFile(join(root, 'docker-compose.yml'), 'utf8')
      const path = join(folder, 'docker-compose.yml')
      await writeFile(path, file.replace(/^name: .*$/m, ''))
      const secrets = {
        POSTGRES_PASSWORD: 'a',
        WHARF_DATABASE_PASSWORD: 'b',
        WHARF_ROOT_TOKEN: 'c',
        WHARF_SECRET_KEY: 'd',
      }
      const env = { ...process.env, ...secrets }
      const { stdout } = await run('docker-compose', ['-f', path, 'config'], { env })
      for (const service of ['postgres', 'redis', 'api', 'worker-1', 'worker-2'])
        expect(stdout).toContain(`  ${service}:`)
      expect(stdout.match(/WHARF_METRICS_PORT/g)).toHaveLength(2)
      await expect(
        run('docker-compose', ['-f', path, 'config'], { env: { ...env, WHARF_SECRET_KEY: '' } }),
      ).rejects.toThrow('WHARF_SECRET_KEY')
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)
