import { hostname } from 'node:os'
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
import { MAY_ATTACH } from '../support/service/attached-location.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import type { PlacedProject } from '../support/service/location.ts'
import { SHARED_LOCATION, someLocations } from '../support/service/locations.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE item (id integer PRIMARY KEY, n pausing);`
const OLD = 'INSERT INTO item VALUES (1, 1), (2, 2)'
const NEW = 'INSERT INTO item SELECT n, n FROM generate_series(3, 100) n'

describe.each(BACKENDS_OF_FAULTS)('with the queue on %s', (backend) => {
  let wharf: TestWharf
  let redis: RedisServer | undefined
  let environment: Readonly<Record<string, string>>

  beforeAll(async () => {
    const { environment: queue, ...started } = await startBackend(backend)
    redis = started.redis
    environment = { ...queue, ...MAY_ATTACH }
    wharf = await startWharf({ environment })
  })

  afterAll(async () => {
    await wharf?.close()
    await redis?.kill()
  })

  // Unless tests are thorough, test/jobs/attached-kills.test.ts kills workers that import into attached databases.
  describe.each(isThorough ? someLocations(2) : [SHARED_LOCATION])('$name', (location) => {
    let archive: string
    const made: PlacedProject[] = []

    beforeAll(async () => {
      await prepared('source', NEW)
      archive = await exportOf(wharf.root, 'source')
    })

    afterAll(async () => {
      for (const project of made) await project.remove()
    })

    /** To be called before sessions are paused, so that the rows get in. */
    async function prepared(slug: string, rows = OLD): Promise<PlacedProject> {
      const project = await location.createProject(wharf, slug, { script: `${STRUCTURE} ${rows}` })
      made.push(project)
      return project
    }

    test('an import whose worker is killed leaves the old rows, and the next worker does it', async () => {
      const worker = await startWorkerProcess(wharf, environment)
      const killed = await prepared('killed')
      const asked = await withPausePoint(killed, async (pausePoint) => {
        const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=killed'))
        await pausePoint.reached()
        await worker.kill('SIGKILL')
        // What is loaded in place is locked meanwhile.
        if (location.isOwned) expect(await count(killed)).toEqual({ n: 2 })
        return job
      })
      await startWorkerProcess(wharf, environment)
      const ended = await untilEnded(wharf.root, asked)
      expect(ended).toMatchObject({ status: 'succeeded', attempt: AGAIN })
      expect(ended.attempts).toMatchObject([
        { number: 1, outcome: 'lost', error: { code: 'WORKER_LOST' }, worker: `${hostname()}:${worker.pid}` },
        ...Array.from({ length: ended.attempt - 2 }, () => ({ outcome: expect.any(String) })),
        { number: ended.attempt, outcome: 'succeeded', error: null },
      ])
      expect(await count(killed)).toEqual({ n: 98 })
      expect(await loadingIn(killed)).toEqual([])
    })

    test('a worker that was stopped for longer than its lease commits nothing when it goes on', async () => {
      const first = await startWorkerProcess(wharf, environment, { ...NO_LEASE, sweepMs: 600_000 })
      const stopped = await prepared('stopped')
      const asked = await withPausePoint(stopped, async (pausePoint) => {
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
      const { database, schema } = stopped
      await database.query(`UPDATE "${schema}".item SET n = 0 WHERE id = 3`)
      const state = `SELECT generation FROM system.stage_state JOIN control.stage ON stage.id = stage_id
                       JOIN control.project ON project.id = project_id WHERE project.slug = 'stopped' ORDER BY stage.slug`
      const before = await wharf.database.query(state)
      process.kill(first.pid, 'SIGCONT')
      first.say('stop')
      expect(await first.nextLine()).toBe('stopped')
      expect(await wharf.database.query(state)).toEqual(before)
      expect(await database.query(`SELECT n FROM "${schema}".item WHERE id = 3`)).toEqual([{ n: 0 }])
      expect(await showJob(wharf.root, asked.id)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
    })

    test('a worker that is told to stop gives long work back, which uses no attempt up', async () => {
      const worker = await startWorkerProcess(wharf, environment)
      const handed = await prepared('handed')
      const asked = await withPausePoint(handed, async (pausePoint) => {
        const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=handed'))
        await pausePoint.reached()
        worker.say('stop')
        expect(await worker.nextLine()).toBe('stopped')
        const given = await showJob(wharf.root, job.id)
        expect(given).toMatchObject({ status: 'queued', attempts: [{ outcome: 'stopped', error: null }] })
        return job
      })
      expect(await loadingIn(handed)).toEqual([])
      const [row] = await wharf.database.query<{ left: number }>(
        'SELECT max_attempts - attempt AS left FROM control.job WHERE id = $1',
        [asked.id],
      )
      expect(row).toEqual({ left: 3 })
      await startWorkerProcess(wharf, environment)
      expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded' })
      expect(await count(handed)).toEqual({ n: 98 })
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
})

const count = async ({ database, schema }: PlacedProject): Promise<unknown> =>
  (await database.query(`SELECT count(*)::int AS n FROM "${schema}".item`))[0]

/** The schemas into which imports load, in the database of a project. */
const loadingIn = ({ database, slug }: PlacedProject): Promise<unknown[]> =>
  database.query(
    `SELECT nspname FROM pg_namespace WHERE nspname LIKE '${slug}.live.new-%' OR nspname LIKE 'wharf_new_%'`,
  )

describe.each(isThorough ? someLocations(0) : [SHARED_LOCATION])(
  'with one worker in a process of its own, $name',
  (location) => {
    let wharf: TestWharf
    let archive: string
    let source: PlacedProject

    beforeAll(async () => {
      wharf = await startWharf({ environment: MAY_ATTACH })
      source = await location.createProject(wharf, 'source', { script: `${STRUCTURE} ${NEW}` })
      archive = await exportOf(wharf.root, 'source')
    })

    afterAll(async () => {
      await source?.remove()
      await wharf?.close()
    })

    test('a job whose workers all die has failed when its attempts are used up', async () => {
      const hopeless = await location.createProject(wharf, 'hopeless', { script: `${STRUCTURE} ${OLD}` })
      const worker = await startWorkerProcess(wharf, MAY_ATTACH)
      const asked = await withPausePoint(hopeless, async (pausePoint) => {
        const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=hopeless'))
        await pausePoint.reached()
        await wharf.database.query('UPDATE control.job SET max_attempts = 1 WHERE id = $1', [job.id])
        await worker.kill('SIGKILL')
        return job
      })
      await startWorkerProcess(wharf, MAY_ATTACH)
      expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'failed', error: { code: 'WORKER_LOST' } })
      expect(await count(hopeless)).toEqual({ n: 2 })
      await nothingIsLeft(wharf)
      await eventually(() => loadingIn(hopeless)).toEqual([])
      await hopeless.remove()
    })
  },
)

test.each(someLocations(1))(
  'a token that is revoked while its import runs gets nothing done, $name',
  async (location) => {
    const wharf = await startWharf({ worker: true, environment: MAY_ATTACH })
    const source = await location.createProject(wharf, 'source', { script: `${STRUCTURE} ${NEW}` })
    const target = await location.createProject(wharf, 'target', { script: `${STRUCTURE} ${OLD}` })
    const archive = await exportOf(wharf.root, 'source')
    const member = await wharf.member('target', 'admin')
    const asked = await withPausePoint(target, async (pausePoint) => {
      const job = jobOf(await askImport(member, archive, '?targetSlug=target'))
      await pausePoint.reached()
      await wharf.database.query('UPDATE control.token SET revoked_at = now()')
      return untilStatus(wharf.root, job.id, 'failed')
    })
    expect(asked).toMatchObject({ error: { code: 'AUTHORIZATION_REVOKED' } })
    expect(await count(target)).toEqual({ n: 2 })
    await source.remove()
    await target.remove()
    await wharf.close()
  },
)

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
