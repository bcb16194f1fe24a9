import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createMigratedDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { PROGRAM } from '../support/processes/child.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { query } from '../support/servers/sessions.ts'
import { startServiceProcess } from '../support/service/service-process.ts'
import { ROOT_TOKEN } from '../support/service/wharf.ts'

const run = promisify(execFile)
const guide = await readFile(new URL('../../docs/guides/back-up-a-database.md', import.meta.url), 'utf8')
const commands = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)

const CHINOOK = fileURLToPath(new URL('../../../shared/data/chinook/chinook.sql', import.meta.url))
const SMALL =
  'CREATE TABLE artist (id int PRIMARY KEY, name text); INSERT INTO artist SELECT n, n FROM generate_series(1, 50) n'

/** npm as the guide uses it, for this build: the options after `--` are the program's. */
const NPM = `#!/bin/sh
[ "$1" = ci ] && exit
shift 2
for each; do shift; [ "$each" = -- ] || set -- "$@" "$each"; done
exec "${process.execPath}" "${PROGRAM}" "$@"
`

/** A database `chinook` of the login `app` on the installed server, made by psql. @returns the server's port. */
async function makeChinook(bin: string, superuserUrl: string): Promise<string> {
  const url = new URL(superuserUrl)
  await query(superuserUrl, 'CREATE ROLE app LOGIN')
  await query(superuserUrl, 'CREATE DATABASE chinook OWNER app TEMPLATE template0')
  onTestFinished(async () => {
    await query(superuserUrl, 'DROP DATABASE chinook WITH (FORCE)')
    await query(superuserUrl, 'DROP ROLE app')
  })
  const input = existsSync(CHINOOK) ? ['-f', CHINOOK] : ['-c', SMALL]
  const psql = existsSync(join(bin, 'psql')) ? join(bin, 'psql') : 'psql'
  await run(psql, ['-q', '-v', 'ON_ERROR_STOP=1', `postgres://app@127.0.0.1:${url.port}/chinook`, ...input])
  return url.port
}

const bin = installedPrograms()
const installed = inject('installed')

test.skipIf(bin === undefined || installed === null)(
  'the guide leads to an archive by two commands, and to a proven one every night by three',
  async () => {
    const port = await makeChinook(bin ?? '', installed?.superuserUrl ?? '')
    const [folder, programs, dataDir] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()]
    await writeFile(join(programs, 'npm'), NPM, { mode: 0o755 })
    const env = {
      PATH: `${programs}${delimiter}${process.env.PATH}`,
      HOME: inject('home'),
      WHARF_DATA_DIR: dataDir,
      WHARF_ROOT_TOKEN: ROOT_TOKEN,
      PGPORT: port,
      PGPASSWORD: 'not asked for',
    }
    const type = async (text: string): Promise<string> =>
      (await run('sh', ['-e', '-c', text], { cwd: folder, env })).stdout
    const [toArchive = '', toLook = '', toSchedule = '', toList = '', toRestore = ''] = commands
    expect(toArchive.trim().split('\n')).toHaveLength(2)
    expect(toSchedule.trim().split('\n')).toHaveLength(2)

    expect(await type(toArchive)).toContain('exported chinook to chinook.jsonl.gz')
    expect(await readdir(folder)).toEqual(['chinook.jsonl.gz'])
    expect(await type(toLook)).toContain('{"archive":')

    const database = await createMigratedDatabase()
    onTestFinished(database.drop)
    const service = await startServiceProcess({ databaseUrl: database.url, dataDir })
    onTestFinished(async () => void (await service.kill('SIGTERM')))
    await type(toSchedule)
    const listed = JSON.parse((await service.root.get('/schedules')).text)
    const [{ id }] = listed.items
    expect((await service.root.post(`/schedules/${id}/run`)).status).toBe(202)
    await eventually(async () => (await service.root.get(`/schedules/${id}`)).text).toMatch(/"lastProven":\{/)
    expect(await type(toList)).toContain('nightly')
    expect(await type(toRestore)).toContain('imported')
  },
)
