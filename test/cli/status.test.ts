import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../support/cli/cli.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { makeSchedule } from '../support/jobs/schedules.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let id: string

beforeAll(async () => {
  wharf = await startWharf()
  // As if a worker ran, and touched nothing.
  await wharf.database.query(
    `INSERT INTO control.process (parts, host, pid, version, seen_at) VALUES ('{worker}', 'other', 1, '1.2.3', 'infinity')`,
  )
  await createProject(wharf, 'shop')
  id = (await makeSchedule(wharf.root, 'shop', { name: 'nightly' })).id
})
afterAll(() => wharf?.close())

const status = (args: readonly string[] = [], others: Readonly<Record<string, string>> = {}) =>
  runCommand(['status', ...args], {
    variables: { DATABASE_URL: wharf.database.url, WHARF_DATA_DIR: wharf.dataDir, ...others },
  })

/** Changes records, and puts them back after `look`. */
async function having(sql: string, undo: string, look: () => Promise<void>): Promise<void> {
  await wharf.database.query(sql)
  await look().finally(() => wharf.database.query(undo))
}

test('one screen says how an installation does in which all is well', async () => {
  const { code, stdout } = await status()
  expect(stdout).toMatch(/^ {2}projects +1$/m)
  expect(stdout).toMatch(/^ {2}jobs +0 waiting, 0 running, 0 failed in the last 24 hours$/m)
  expect(stdout).toMatch(/^nightly +- +- +- +\d{4}-/m)
  expect(stdout).toMatch(/\n\nall is well\n$/)
  expect(code).toBe(0)
})

test('programs get the same as JSON', async () => {
  const { stdout } = await status(['--json'])
  expect(JSON.parse(stdout)).toMatchObject({
    version: '1.2.3',
    database: { projects: 1 },
    processes: expect.arrayContaining([
      expect.objectContaining({ parts: ['api'], pid: process.pid }),
      expect.objectContaining({ parts: ['worker'], host: 'other', pid: 1, version: '1.2.3' }),
    ]),
    queue: { kind: 'postgresql', fault: null },
    jobs: { waiting: 0, oldestWaitingSeconds: 0, running: 0, failed: 0 },
    schedules: [{ id, name: 'nightly', enabled: true, last: null, lastSuccessAt: null, lastProvenAt: null }],
    storage: { archives: 0, bytes: 0, damaged: 0 },
    backup: { enabled: false, lastAt: null },
    problems: [],
  })
})

test('a service without a worker is a problem, and so is one whose worker was not heard of for a minute', async () => {
  const api = await startWharf()
  const variables = { DATABASE_URL: api.database.url, WHARF_DATA_DIR: api.dataDir }
  const problem =
    '- no worker has been heard of for 60 seconds, so no job is done: start one (wharf start, or wharf worker), or see'
  expect((await status([], variables)).stdout).toContain(problem)
  await api.database.query(
    `INSERT INTO control.process (parts, host, pid, version, seen_at)
     VALUES ('{worker}', 'gone', 1, '1.2.3', now() - interval '2 minutes')`,
  )
  expect((await status([], variables)).stdout).toContain(problem)
  await api.database.query('UPDATE control.process SET seen_at = now()')
  const { code, stdout } = await status([], variables)
  expect(stdout).toMatch(/^ {2}processes +api \S+ \(.+, \d+\), worker 1\.2\.3 \(gone, 1\)$/m)
  expect(code).toBe(0)
  await api.close()
})

test('a job that waits for long is a problem', () =>
  having(
    `INSERT INTO control.job (id, kind, request, project_ids, max_attempts, created_at)
     VALUES (gen_random_uuid(), 'export', '{}', '{}', 1, now() - interval '20 minutes')`,
    'DELETE FROM control.job',
    async () => {
      const { code, stdout } = await status()
      expect(stdout).toMatch(/\n1 problem\n- a job has waited for 20 minutes: see that workers run\n$/)
      expect(code).toBe(1)
    },
  ))

test('a schedule whose last run failed is a problem', () =>
  having(
    `INSERT INTO control.schedule_run (schedule_id, due_at, outcome, finished_at)
     SELECT id, now(), 'failed', now() FROM control.schedule`,
    'DELETE FROM control.schedule_run',
    async () => {
      const { code, stdout } = await status(['--json'])
      expect(JSON.parse(stdout).problems).toEqual([
        'the last run of "nightly" failed: schedule:show and the console say why',
      ])
      expect(code).toBe(1)
    },
  ))

test('a project that cannot be used is a problem, and so is a recovery that has not ended', async () => {
  await having(
    `UPDATE control.project SET login = login || '_gone'`,
    `UPDATE control.project SET login = replace(login, '_gone', '')`,
    async () => {
      const { code, stdout } = await status(['--json'])
      expect(JSON.parse(stdout).problems).toEqual([
        expect.stringMatching(/^projects cannot be used: \S+; wharf doctor/),
      ])
      expect(code).toBe(1)
    },
  )
  await having(
    `UPDATE control.installation SET recovered_from = 'backup-of-yesterday'`,
    'UPDATE control.installation SET recovered_from = NULL',
    async () => {
      const { code, stdout } = await status([])
      expect(stdout).toContain(
        '- a recovery has not ended: run "wharf recover" again, with --backup backup-of-yesterday',
      )
      expect(code).toBe(1)
    },
  )
})

test('a secret key that opens none of the stored secrets is a problem', async () => {
  const { code, stdout } = await status([], { WHARF_SECRET_KEY: 'another-secret-key-with-more-than-32-characters' })
  expect(stdout).toMatch(/WHARF_SECRET_KEY does not open 1 of 1 stored secret: .+ \(CONFIG_INVALID\)$/m)
  expect(stdout).not.toMatch(/all is well/)
  expect(code).toBe(1)
})

test('a backup that is to be written and never was is a problem', async () => {
  const { code, stdout } = await status([], { WHARF_BACKUP_KEY: 'a key of the operator of the tests' })
  expect(stdout).toContain('- there is no backup of Wharf itself yet')
  expect(code).toBe(1)
})

test('a queue that cannot be used is a problem, and the rest is said', async () => {
  const { code, stdout } = await status(['--json'], { REDIS_URL: 'redis://127.0.0.1:1' })
  expect(JSON.parse(stdout)).toMatchObject({
    queue: { kind: 'redis', fault: expect.any(String) },
    database: { projects: 1 },
  })
  expect(code).toBe(1)
})

test('a database on which Wharf was not started is refused', async () => {
  const database = await createTestDatabase()
  const { code, stderr } = await status([], { DATABASE_URL: database.url })
  await database.drop()
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('start it first') })
})
