import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../support/cli/cli.ts'
import { dsnOf } from '../../support/cli/dsn.ts'
import { showJob } from '../../support/jobs/jobs.ts'
import { makeSchedule, runWhenDue, showSchedule } from '../../support/jobs/schedules.ts'
import { LACKS_ROWS, SAYS_ALL_IS_THERE } from '../../support/service/lacks-rows.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(wharf, 'tour', LACKS_ROWS)
})
afterAll(() => wharf?.close())

const figure = async (name: string, { id }: { readonly id: string }): Promise<string | undefined> => {
  const { text } = await wharf.root.get('/metrics')
  return new RegExp(`^wharf_schedule_${name}{schedule="${id}"} (.*)$`, 'm').exec(text)?.[1]
}

test.each([false, true])('a run whose archive would lack rows fails, with verify %s', async (verify) => {
  const schedule = await makeSchedule(wharf.root, 'tour', { verify })
  const ran = await runWhenDue(wharf, schedule)
  expect(ran).toMatchObject({
    lastRun: { status: 'failed', error: { code: 'INCOMPLETE' }, provenAt: null },
    lastSuccess: null,
    lastProven: null,
  })
  expect(JSON.stringify(ran)).not.toMatch(SAYS_ALL_IS_THERE)
  expect(await figure('last_run_failed', schedule)).toBe('1')
  expect(await figure('last_incomplete', schedule)).toBeUndefined()
})

test('metrics name a schedule, and say when it was last proven only where it is to be', async () => {
  const plain = await makeSchedule(wharf.root, 'tour', { name: 'the "plain" one' })
  const proven = await makeSchedule(wharf.root, 'tour', { verify: true })
  expect(await figure('last_proven_timestamp_seconds', plain)).toBeUndefined()
  expect(await figure('last_proven_timestamp_seconds', proven)).toBe('0')
  expect((await wharf.root.get('/metrics')).text).toContain(
    `wharf_schedule_info{schedule="${plain.id}",name="the \\"plain\\" one",kind="export"} 1\n`,
  )
})

test('where that is allowed, its archive is made and never proven, until one lacks no rows', async () => {
  const request = { projects: [{ slug: 'tour' }], allowIncomplete: true }
  const schedule = await makeSchedule(wharf.root, 'tour', { name: 'nightly', verify: true, request })
  const ran = await runWhenDue(wharf, schedule)
  expect(ran, JSON.stringify(ran.lastRun)).toMatchObject({
    request,
    lastRun: { status: 'succeeded', provenAt: null, lacksRows: true },
    lastProven: null,
  })
  const job = await showJob(wharf.root, ran.lastRun?.jobId ?? '')
  expect(job.result).toMatchObject({ complete: false, notExported: expect.arrayContaining([concert]), lacksRows: true })
  expect(JSON.stringify([ran, job])).not.toMatch(SAYS_ALL_IS_THERE)
  expect(await figure('last_incomplete', schedule)).toBe('1')
  expect(await figure('last_proven_timestamp_seconds', schedule)).toBe('0')
  const listed = await runCommand(['schedule:list', '--server', dsnOf(wharf, 'tour')])
  expect(listed).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^warning: the last successful run of nightly lacks rows .* named by job:show/),
  })
  expect(listed.stderr + listed.stdout).not.toMatch(SAYS_ALL_IS_THERE)
  expect((await applyScript(wharf, 'tour', 'DROP TABLE concert')).status).toBe(200)
  const proven = await runWhenDue(wharf, schedule)
  expect(proven, JSON.stringify(proven.lastRun)).toMatchObject({
    lastRun: { status: 'succeeded', provenAt: expect.any(String), lacksRows: false },
    lastProven: { jobId: proven.lastRun?.jobId },
  })
  expect(await figure('last_incomplete', schedule)).toBe('0')
})

test('what an earlier version took for a proof of an archive that lacks rows does not count', async () => {
  await createProject(wharf, 'before', 'CREATE TABLE song (id integer PRIMARY KEY)')
  const schedule = await makeSchedule(wharf.root, 'before', { verify: true })
  expect(await runWhenDue(wharf, schedule)).toMatchObject({ lastProven: { provenAt: expect.any(String) } })
  const result = { notExported: [{ stage: 'live', kind: 'partitioned table', name: 'payment' }] }
  await wharf.database.query('UPDATE control.job SET result = $2 WHERE schedule_id = $1', [schedule.id, result])
  await wharf.database.query(await readFile(MIGRATION, 'utf8'))
  expect(await showSchedule(wharf.root, schedule)).toMatchObject({
    lastSuccess: { provenAt: null, notExported: 1, lacksRows: true },
    lastProven: null,
  })
  expect(await figure('last_incomplete', schedule)).toBe('1')
})

const MIGRATION = 'prisma/migrations/20261122160000_proofs_of_incomplete_archives/migration.sql'

const concert = expect.objectContaining({ kind: 'table', name: 'concert', rows: true })
