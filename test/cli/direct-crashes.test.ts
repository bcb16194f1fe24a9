import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { query } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const programs = installedPrograms()

describe.skipIf(programs === undefined)('a database whose server dies while it is read', () => {
  let cluster: OwnCluster
  let source: ExternalDatabase
  let target: ExternalDatabase
  let wharf: TestWharf
  beforeAll(async () => {
    cluster = await startOwnCluster(programs ?? '')
    source = await createExternalDatabase(
      `CREATE TABLE item (n int PRIMARY KEY, t text);
       INSERT INTO item SELECT n, string_agg(md5(n::text || m), '') FROM generate_series(1, 60000) n, generate_series(1, 16) m GROUP BY n`,
      cluster.createDatabase,
    )
    target = await createExternalDatabase('CREATE TABLE item (n int PRIMARY KEY, t text); INSERT INTO item VALUES (-1)')
    wharf = await startWharf()
    await createProject(wharf, 'copy', 'CREATE TABLE item (n int PRIMARY KEY, t text); INSERT INTO item VALUES (-1)')
  }, 60_000)
  afterAll(async () => {
    await wharf?.close()
    await target?.drop()
    await cluster?.remove()
  })

  /** Runs a command, and ends the server like a crash once the command reads rows. */
  async function whileItDies(args: readonly string[], cwd: string) {
    // At this rate the rows take half a minute, in which the server has some that the command has not taken yet.
    const { child, ended } = spawnWharf([...args, '--max-rate', '1M'], { cwd })
    const reading = () =>
      query(
        cluster.superuserUrl,
        `SELECT FROM pg_stat_activity WHERE application_name LIKE 'wharf export %' AND wait_event = 'ClientWrite'`,
      )
    await eventually(reading).not.toEqual([])
    child.kill('SIGSTOP')
    await cluster.crash()
    child.kill('SIGCONT')
    const result = await ended
    await cluster.start()
    return result
  }

  test('leaves no file of an export', async () => {
    const folder = await temporaryFolder()
    const result = await whileItDies(
      ['data:export', source.owner.href, '--output', join(folder, 'item.jsonl.gz')],
      folder,
    )
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: the connection to postgres:.* was lost \(\w+\)\n$/m),
    })
    expect(await readdir(folder)).toEqual([])
    expect(result.stderr).not.toContain(source.password)
  })

  test('leaves the target of a transfer as it was, be it a project or a database', async () => {
    const folder = await temporaryFolder()
    const schemas = () => query(target.owner.href, 'SELECT nspname FROM pg_namespace ORDER BY 1')
    const before = await schemas()
    for (const to of [dsnOf(wharf, 'copy'), target.owner.href]) {
      const result = await whileItDies(['data:transfer', source.owner.href, to, '--yes'], folder)
      expect(result, to).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^error: source: the connection to postgres:.* was lost \(\w+\)\n$/m),
      })
      expect(result.stderr).toContain(`connection to postgres://${source.owner.username}@`)
      expect(result.stderr).not.toContain(source.password)
    }
    expect((await wharf.root.get('/content/copy/live/item')).json).toEqual([{ n: -1, t: null }])
    expect(await query(target.owner.href, 'SELECT n FROM item')).toEqual([{ n: -1 }])
    await eventually(schemas).toEqual(before)
  })
})
