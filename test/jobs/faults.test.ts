import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { beginArtifact } from '../../src/jobs/job-artifacts.ts'
import { removeArtifacts } from '../../src/jobs/sweep-artifacts.ts'
import { exportOf } from '../support/archives/import.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { eventually } from '../support/eventually.ts'
import {
  AGAIN,
  askExport,
  askImport,
  BACKENDS_OF_FAULTS,
  jobOf,
  NO_LEASE,
  showJob,
  startBackend,
  startWorkerProcess,
  takeFromLostWorkers,
  untilEnded,
  untilStatus,
} from '../support/jobs/jobs.ts'
import type { RedisServer } from '../support/servers/redis.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE item (id integer PRIMARY KEY, n pausing);`
const OLD = 'INSERT INTO item VALUES (1, 1), (2, 2)'
const NEW = 'INSERT INTO item SELECT n, n FROM generate_series(3, 100) n'

describe.each(BACKENDS_OF_FAULTS)('with the queue on %s', (backend) => {
  let wharf: TestWharf
  let redis: RedisServer | undefined
  let environment: Readonly<Record<string, string>>
  let archive: string

  beforeAll(async () => {
    ;({ redis, environment } = await startBackend(backend))
    wharf = await startWharf({ environment })
    await createProject(wharf, 'source', `${STRUCTURE} ${NEW}`)
    archive = await exportOf(wharf.root, 'source')
  })

  afterAll(async () => {
    await wharf?.close()
    await redis?.kill()
  })

  const count = async (slug: string): Promise<unknown> =>
    (await wharf.database.query(`SELECT count(*)::int AS n FROM "${slug}.live".item`))[0]

  const leftovers = (slug: string): Promise<unknown[]> =>
    wharf.database.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE $1`, [`${slug}.live.new-%`])

  /** To be called before sessions are paused, so that the old rows get in. */
  async function prepared(slug: string): Promise<void> {
    await createProject(wharf, slug, `${STRUCTURE} ${OLD}`)
  }

  test('an import whose worker is killed leaves the old rows, and the next worker does it', async () => {
    const worker = await startWorkerProcess(wharf, environment)
    await prepared('killed')
    const asked = await withPausePoint(wharf, async (pausePoint) => {
      const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=killed'))
      await pausePoint.reached()
      await worker.kill('SIGKILL')
      return job
    })
    expect(await count('killed')).toEqual({ n: 2 })
    await startWorkerProcess(wharf, environment)
    expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
    expect(await count('killed')).toEqual({ n: 98 })
    expect(await leftovers('killed')).toEqual([])
  })

  test('a worker that was stopped for longer than its lease commits nothing when it goes on', async () => {
    const first = await startWorkerProcess(wharf, environment, { ...NO_LEASE, sweepMs: 600_000 })
    await prepared('stopped')
    const asked = await withPausePoint(wharf, async (pausePoint) => {
      const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=stopped'))
      await pausePoint.reached()
      process.kill(first.pid, 'SIGSTOP')
      await takeFromLostWorkers(wharf)
      await startWorkerProcess(wharf, environment, NO_LEASE)
      await eventually(async () => (await showJob(wharf.root, job.id)).attempt).toEqual(AGAIN)
      await pausePoint.reached()
      return job
    })
    expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
    await wharf.database.query(`UPDATE "stopped.live".item SET n = 0 WHERE id = 3`)
    const state = `SELECT generation FROM system.stage_state WHERE schema_name = 'stopped.live'`
    const before = await wharf.database.query(state)
    process.kill(first.pid, 'SIGCONT')
    first.say('stop')
    expect(await first.nextLine()).toBe('stopped')
    expect(await wharf.database.query(state)).toEqual(before)
    expect(await wharf.database.query(`SELECT n FROM "stopped.live".item WHERE id = 3`)).toEqual([{ n: 0 }])
    expect(await showJob(wharf.root, asked.id)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
  })

  test('a worker that is told to stop gives long work back, which uses no attempt up', async () => {
    const worker = await startWorkerProcess(wharf, environment)
    await prepared('handed')
    const asked = await withPausePoint(wharf, async (pausePoint) => {
      const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=handed'))
      await pausePoint.reached()
      worker.say('stop')
      expect(await worker.nextLine()).toBe('stopped')
      expect(await showJob(wharf.root, job.id)).toMatchObject({ status: 'queued' })
      return job
    })
    expect(await leftovers('handed')).toEqual([])
    const [row] = await wharf.database.query<{ left: number }>(
      'SELECT max_attempts - attempt AS left FROM control.job WHERE id = $1',
      [asked.id],
    )
    expect(row).toEqual({ left: 3 })
    await startWorkerProcess(wharf, environment)
    expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded' })
  })

  test('of many exports that three workers share, each is made once', async () => {
    const workers = [1, 2, 3].map(() => startWharf({ beside: wharf, environment, worker: true }))
    const started = await Promise.all(workers)
    const answers = await Promise.all(Array.from({ length: 30 }, () => askExport(wharf.root, [{ slug: 'source' }])))
    const ids = answers.map((answer) => jobOf(answer).id)
    await expect
      .poll(
        () =>
          wharf.database.query(
            'SELECT status, attempt, count(*)::int AS n FROM control.job WHERE id = ANY ($1) GROUP BY 1, 2',
            [ids],
          ),
        { timeout: 120_000 },
      )
      .toEqual([{ status: 'succeeded', attempt: 1, n: 30 }])
    const made = await wharf.database.query(
      `SELECT job_id FROM control.artifact WHERE kind = 'output' AND state = 'ready' AND job_id = ANY ($1)`,
      [ids],
    )
    expect(made).toHaveLength(30)
    for (const other of started) await other.close()
  }, 150_000)
})

describe('with one worker in a process of its own', () => {
  let wharf: TestWharf
  let archive: string

  beforeAll(async () => {
    wharf = await startWharf()
    await createProject(wharf, 'source', `${STRUCTURE} ${NEW}`)
    archive = await exportOf(wharf.root, 'source')
  })

  afterAll(() => wharf?.close())

  test('a job whose workers all die has failed when its attempts are used up', async () => {
    await createProject(wharf, 'hopeless', `${STRUCTURE} ${OLD}`)
    const worker = await startWorkerProcess(wharf)
    const asked = await withPausePoint(wharf, async (pausePoint) => {
      const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=hopeless'))
      await pausePoint.reached()
      await wharf.database.query('UPDATE control.job SET max_attempts = 1 WHERE id = $1', [job.id])
      await worker.kill('SIGKILL')
      return job
    })
    await startWorkerProcess(wharf)
    expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'failed', error: { code: 'WORKER_LOST' } })
    await nothingIsLeft(wharf)
  })
})

test('a token that is revoked while its import runs gets nothing done', async () => {
  const wharf = await startWharf({ worker: true })
  await createProject(wharf, 'source', `${STRUCTURE} ${NEW}`)
  await createProject(wharf, 'target', `${STRUCTURE} ${OLD}`)
  const archive = await exportOf(wharf.root, 'source')
  const member = await wharf.member('target', 'admin')
  const asked = await withPausePoint(wharf, async (pausePoint) => {
    const job = jobOf(await askImport(member, archive, '?targetSlug=target'))
    await pausePoint.reached()
    await wharf.database.query('UPDATE control.token SET revoked_at = now()')
    return untilStatus(wharf.root, job.id, 'failed')
  })
  expect(asked).toMatchObject({ error: { code: 'AUTHORIZATION_REVOKED' } })
  expect(await wharf.database.query('SELECT count(*)::int AS n FROM "target.live".item')).toEqual([{ n: 2 }])
  await wharf.close()
})

test('a file that comes after its attempt was given up, and the file removed, does not stay', async () => {
  const wharf = await startWharf()
  await createProject(wharf, 'source', STRUCTURE)
  const { id: jobId } = jobOf(await askExport(wharf.root, [{ slug: 'source' }]))
  const artifact = await beginArtifact(wharf.container, { kind: 'output', jobId })
  await wharf.database.query(`UPDATE control.artifact SET state = 'removed'`)
  await artifact.writer.commit()
  await artifact.discard()
  await removeArtifacts(wharf.container)
  expect(await wharf.container.artifacts.size(artifact.id)).toBeUndefined()
  await wharf.close()
})
