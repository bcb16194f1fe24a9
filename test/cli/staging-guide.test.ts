import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openTerminal, readGuide } from '../support/cli/guide.ts'
import { createMigratedDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { query } from '../support/servers/sessions.ts'
import { startServiceProcess } from '../support/service/service-process.ts'
import { ROOT_TOKEN } from '../support/service/wharf.ts'

const run = promisify(execFile)
const bin = installedPrograms()
const installed = inject('installed')

const CHINOOK = fileURLToPath(new URL('../../../shared/data/chinook/chinook.sql', import.meta.url))
const SMALL = `CREATE TABLE artist (id int PRIMARY KEY, name text); INSERT INTO artist SELECT n, n FROM generate_series(1, 50) n;
  CREATE VIEW first AS SELECT * FROM artist WHERE id = 1`

/** Production with rows, and staging without, on the installed server. @returns its port. */
async function makeDatabases(superuserUrl: string): Promise<string> {
  const { port } = new URL(superuserUrl)
  for (const login of ['app', 'reader']) await query(superuserUrl, `CREATE ROLE ${login} LOGIN`)
  for (const name of ['shop', 'staging'])
    await query(superuserUrl, `CREATE DATABASE ${name} OWNER app TEMPLATE template0`)
  onTestFinished(async () => {
    for (const name of ['shop', 'staging']) await query(superuserUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    for (const login of ['app', 'reader']) await query(superuserUrl, `DROP ROLE ${login}`)
  })
  const input = existsSync(CHINOOK) ? ['-f', CHINOOK] : ['-c', SMALL]
  const psql = existsSync(join(bin ?? '', 'psql')) ? join(bin ?? '', 'psql') : 'psql'
  const shop = `postgres://app@127.0.0.1:${port}/shop`
  await run(psql, ['-q', '-v', 'ON_ERROR_STOP=1', shop, ...input])
  await query(
    shop,
    'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader',
  )
  return port
}

test.skipIf(bin === undefined || installed === null)(
  'the guide leads to a copy of production in staging, which pg_dump says is the same, and again over itself',
  async () => {
    const port = await makeDatabases(installed?.superuserUrl ?? '')
    const dataDir = await temporaryFolder()
    const terminal = await openTerminal({
      ...{ WHARF_DATA_DIR: dataDir, WHARF_ROOT_TOKEN: ROOT_TOKEN },
      ...{ PGPORT: port, PGPASSWORD: 'not asked for' },
    })
    const database = await createMigratedDatabase()
    onTestFinished(database.drop)
    const service = await startServiceProcess({ databaseUrl: database.url, dataDir })
    onTestFinished(async () => void (await service.kill('SIGTERM')))
    const [toSchedule = ''] = await readGuide('staging-every-night.md')
    expect(toSchedule.trim().split('\n')).toHaveLength(3)
    await terminal.type(toSchedule)

    const dump = async (name: string): Promise<string> => {
      const address = `postgres://app@127.0.0.1:${port}/${name}`
      const { stdout } = await run(join(bin ?? '', 'pg_dump'), ['--no-acl', '--schema=public', address], {
        maxBuffer: 2 ** 28,
      })
      return stdout.replace(/^\\(un)?restrict .*$/gm, '')
    }
    const [{ id }] = JSON.parse((await service.root.get('/schedules')).text).items
    const copy = async (): Promise<void> => {
      const answer = await service.root.post(`/schedules/${id}/run`)
      expect(answer.status, answer.text).toBe(202)
      const job = JSON.parse(answer.text).id
      await eventually(async () => (await service.root.get(`/jobs/${job}`)).json, 60_000).toMatchObject({
        status: 'succeeded',
      })
    }
    await copy()
    expect(await dump('staging')).toBe(await dump('shop'))
    await copy()
    expect(await dump('staging')).toBe(await dump('shop'))
  },
)
