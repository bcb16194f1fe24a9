import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { readState } from '../support/database/database-state.ts'
import { withPausePoint } from '../support/database/pause-point.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import {
  AGAIN,
  askExport,
  askImport,
  BACKENDS_OF_LAST_STEPS,
  jobOf,
  NO_LEASE,
  type SeenJob,
  startBackend,
  startWorkerProcess,
  takeFromLostWorkers,
  untilEnded,
} from '../support/jobs/jobs.ts'
import type { RedisServer } from '../support/servers/redis.ts'
import { withSession } from '../support/servers/sessions.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { pauseLastSteps } from './last-steps.ts'

const ITEMS = 'CREATE TABLE item (id integer PRIMARY KEY, n integer);'
const OLD = 'INSERT INTO item VALUES (1, 1), (2, 2)'
const NEW = 'INSERT INTO item SELECT n, n FROM generate_series(3, 100) n'

/** The steps at which jobs are held, by their statements. */
const STEPS = {
  reading: /^LOCK TABLE/,
  swapping: /FROM system\.stage_state/,
  last: /SET status = 'succeeded'/,
  commit: /^COMMIT/,
}

describe.each(BACKENDS_OF_LAST_STEPS)('with the queue on %s', { timeout: 180_000 }, (backend) => {
  let wharf: TestWharf
  let redis: RedisServer | undefined
  let environment: Readonly<Record<string, string>>
  let archive: string

  beforeAll(async () => {
    ;({ redis, environment } = await startBackend(backend))
    wharf = await startWharf({ environment })
    await pauseLastSteps(wharf.database)
    await createProject(wharf, 'source', `${ITEMS} ${NEW}`)
    await createProject(wharf, 'locked', `${ITEMS} ${NEW}`)
    archive = await exportOf(wharf.root, 'source')
  })

  afterAll(async () => {
    await wharf?.close()
    await redis?.kill()
  })

  const prepare = async (slugs: readonly string[]): Promise<void> => {
    for (const slug of slugs) await createProject(wharf, slug, `${ITEMS} ${OLD}`)
  }

  const askTransfer = (source: string, target: string) =>
    wharf.root.post('/transfer', { json: { source: { project: source }, target: { project: target } } })

  /** Asks for an export, an import and a transfer that stop where their names say. */
  const askAll = async (step: string): Promise<readonly SeenJob[]> => [
    jobOf(await askExport(wharf.root, [{ slug: 'source', targetSlug: `export-${step}` }])),
    jobOf(await askImport(wharf.root, archive, `?targetSlug=import-${step}`)),
    jobOf(await askTransfer('source', `transfer-${step}`)),
  ]

  /**
   * How many jobs stand at each step at which they are held, whatever else of theirs waits for a lock. In all would not do: on its way
   * to the commit, a job may wait a moment at another step, for the row of its own job.
   */
  async function held(): Promise<Readonly<Record<string, number>>> {
    const waiting = (await openTransactions(wharf)).filter(({ waits }) => waits === 'Lock')
    const count = (step: RegExp): number => waiting.filter(({ query }) => step.test(query)).length
    return Object.fromEntries(Object.entries(STEPS).map(([name, step]) => [name, count(step)]))
  }

  /** The result of each kind is right, and there once. */
  async function expectResults(slugs: readonly string[], exports: readonly SeenJob[]): Promise<void> {
    const expected = comparableLines(archive)
    for (const slug of slugs) expect(comparableLines(await exportOf(wharf.root, slug)), slug).toEqual(expected)
    const schemas = slugs.map((slug) => `${slug}.live`)
    const imports = await wharf.database.query(
      `SELECT schema_name AS schema, count(*)::int AS n FROM system.event JOIN system.stage_state USING (stage_id)
        WHERE kind = 'import' AND schema_name = ANY ($1) GROUP BY 1 ORDER BY 1`,
      [schemas],
    )
    expect(imports).toEqual(schemas.toSorted().map((schema) => ({ schema, n: 1 })))
    for (const { id } of exports) {
      const file = await wharf.root.get(`/jobs/${id}/file`)
      expect(comparableLines(gunzipSync(file.bytes).toString())).toEqual(expected)
      const artifacts = await wharf.database.query(
        `SELECT state FROM control.artifact WHERE job_id = $1 AND state NOT IN ('deleted', 'removed')`,
        [id],
      )
      expect(artifacts).toEqual([{ state: 'ready' }])
    }
  }

  test('workers that are killed, at whichever step of whatever kind of job, leave each to be done once', async () => {
    const targets = ['import-swap', 'import-last', 'import-commit']
    targets.push('transfer-reading', 'transfer-swap', 'transfer-last', 'transfer-commit')
    await prepare(targets)
    const doomed = await Promise.all([1, 2].map(() => startWorkerProcess(wharf, environment, NO_LEASE)))
    const [undone, done] = await withPausePoint(wharf, () =>
      withSession(wharf.database.url, async (blocker) => {
        await blocker.query(`BEGIN; LOCK TABLE "locked.live".item IN ACCESS EXCLUSIVE MODE`)
        await blocker.query(`SELECT FROM system.stage_state WHERE schema_name LIKE '%-swap.live' FOR NO KEY UPDATE`)
        const early = [
          jobOf(await askExport(wharf.root, [{ slug: 'locked' }])),
          jobOf(await askTransfer('locked', 'transfer-reading')),
          jobOf(await askImport(wharf.root, archive, '?targetSlug=import-swap')),
          jobOf(await askTransfer('source', 'transfer-swap')),
        ]
        const jobs = [[...early, ...(await askAll('last'))], await askAll('commit')] as const
        await eventually(held).toEqual({ reading: 2, swapping: 2, last: 3, commit: 3 })
        await Promise.all(doomed.map((worker) => worker.kill('SIGKILL')))
        return jobs
      }),
    )
    for (const job of done) expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded', attempt: 1 })
    await takeFromLostWorkers(wharf)
    await startWorkerProcess(wharf, environment, NO_LEASE)
    for (const job of undone)
      expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
    await expectResults(
      targets,
      [...undone, ...done].filter(({ kind }) => kind === 'export'),
    )
    await nothingIsLeft(wharf)
    // What has ended is delivered once more, and forgotten.
    await eventually(async () => (await redis?.keys()) ?? wharf.database.query('SELECT id FROM bullmq.job')).toEqual(
      redis ? expect.not.arrayContaining([expect.stringMatching(/[0-9a-f]{12}/)]) : [],
    )
  })

  test('a worker that was stopped just before its commits, and is replaced, commits nothing when it goes on', async () => {
    const targets = ['import-again-last', 'transfer-again-last']
    await prepare(targets)
    // One that is stopped in the middle of a sweep would keep others from it for its lease.
    const first = await startWorkerProcess(wharf, environment, { ...NO_LEASE, sweepMs: 600_000 })
    const jobs = await withPausePoint(wharf, async () => {
      const asked = await askAll('again-last')
      await eventually(held).toEqual({ reading: 0, swapping: 0, last: 3, commit: 0 })
      process.kill(first.pid, 'SIGSTOP')
      return asked
    })
    await takeFromLostWorkers(wharf)
    await startWorkerProcess(wharf, environment, NO_LEASE)
    for (const job of jobs)
      expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
    const state = async () => ({
      stages: await readState(wharf.database, `nspname LIKE '%-again-last.live'`),
      jobs: await wharf.database.query('SELECT id, status, attempt, revision FROM control.job ORDER BY id'),
    })
    const before = await state()
    process.kill(first.pid, 'SIGCONT')
    first.say('stop')
    expect(await first.nextLine()).toBe('stopped')
    expect(await state()).toEqual(before)
    await expectResults(targets, jobs.slice(0, 1))
    await nothingIsLeft(wharf)
  })
})
