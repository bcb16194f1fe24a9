import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { dsnOf } from '../support/cli/dsn.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { eventually } from '../support/eventually.ts'
import {
  jobOf,
  NO_LEASE,
  type SeenJob,
  startWorkerProcess,
  takeFromLostWorkers,
  untilEnded,
  untilStatus,
} from '../support/jobs/jobs.ts'
import { SONG_TABLE, SOUND_LINE, songs, songsOf } from '../support/jobs/songs.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { startTcpRelay, type TcpRelay } from '../support/servers/tcp-relay.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const MB = 1024 * 1024
/** The same table, of which a target waits as it checks a row. */
const PAUSING = `CREATE DOMAIN pausing AS integer CHECK (${PAUSE}); CREATE TABLE song (id pausing PRIMARY KEY, words text)`

/** Has the projects, and no worker in this process. */
let source: TestWharf
let target: TestWharf
let relay: TcpRelay
const line = { ...SOUND_LINE }

beforeAll(async () => {
  target = await startWharf({ worker: true })
  relay = await startTcpRelay(target.url, (_breakOff, end, endAtServer) => {
    let [bytes, isUpload, hasEnded] = [0, false, false]
    return {
      asks(chunk) {
        if (line.isDown && !hasEnded) {
          line.refused += 1
          end()
          return false
        }
        if (hasEnded) return false
        const [, method] = /^([A-Z]+) \//.exec(chunk.subarray(0, 10).toString('latin1')) ?? []
        if (method !== undefined) isUpload = method === 'PATCH'
        if (!isUpload) return true
        line.sent += chunk.length
        bytes += chunk.length
        if (bytes <= line.endsAfter || line.ends === 0) return true
        line.ends -= 1
        hasEnded = true
        line.isDown = line.staysDown
        // After this chunk has been passed on.
        setImmediate(endAtServer)
        return true
      },
      answers: () => true,
    }
  })
  source = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: '127.0.0.1' } })
  await createProject(source, 'near', `${SONG_TABLE}; INSERT INTO song ${songs(8_000)}`)
})

afterAll(async () => {
  await source?.close()
  await relay?.cut()
  await target?.close()
})

beforeEach(() => void Object.assign(line, SOUND_LINE))

const startWorker = (to: { readonly url: string } = relay, environment: Readonly<Record<string, string>> = {}) =>
  startWorkerProcess(
    source,
    { WHARF_TRANSFER_HOSTS: new URL(to.url).host, ...environment },
    { ...NO_LEASE, remoteQueueMs: to === relay ? 600_000 : 100 },
  )

async function askFor(project: string, to: { readonly url: string } = relay, from = 'near'): Promise<SeenJob> {
  const json = { source: { project: from }, target: { dsn: dsnOf(to, project) } }
  return jobOf(await source.root.post('/transfer', { json }))
}

/** How often a project of the target was imported into. */
const importsOf = async (project: string): Promise<number> =>
  (
    await target.database.query(
      `SELECT FROM system.event JOIN system.stage_state USING (stage_id) WHERE kind = 'import' AND schema_name = '${project}.live'`,
    )
  ).length

const uploads = (): Promise<unknown[]> => target.database.query('SELECT FROM control.upload')

const keptBytes = async ({ id }: SeenJob): Promise<number> => {
  const [row] = await source.database.query<{ bytes: number }>(
    `SELECT (request->'kept'->>'bytes')::int AS bytes FROM control.job WHERE id = $1`,
    [id],
  )
  return row?.bytes ?? 0
}

test('a transfer to another server goes on where the connection was lost, and sends nothing again that is there', async () => {
  await createProject(target, 'lost', SONG_TABLE)
  Object.assign(line, { endsAfter: 2 * MB, ends: 2 })
  const job = await askFor('lost')
  await startWorker()
  const ended = await untilEnded(source.root, job)

  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded', attempt: 1 })
  expect(line.ends).toBe(0)
  expect(await songsOf(target, 'lost')).toEqual(await songsOf(source, 'near'))
  expect(line.sent).toBeGreaterThan(6 * MB)
  expect(line.sent).toBeLessThan(1.02 * (await keptBytes(job)))
  expect(await uploads()).toEqual([])
})

test('one whose worker was killed goes on with what is there, and is of the moment at which it began', async () => {
  await createProject(target, 'killed', SONG_TABLE)
  const before = await songsOf(source, 'near')
  Object.assign(line, { endsAfter: 4 * MB, ends: 1, staysDown: true })
  const job = await askFor('killed')
  const worker = await startWorker()
  await eventually(() => line.refused).toBeGreaterThan(0)
  await worker.kill('SIGKILL')
  await takeFromLostWorkers(source)
  await source.database.query(`UPDATE "near.live".song SET words = 'other words' WHERE id = 17`)
  line.isDown = false
  await startWorker()
  const ended = await untilEnded(source.root, job)

  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded', attempt: 2 })
  expect(await songsOf(target, 'killed')).toEqual(before)
  expect(line.sent).toBeLessThan(1.02 * (await keptBytes(job)))
})

test('one whose worker was killed while the target imported takes what came of that', async () => {
  await createProject(source, 'waits', `${PAUSING}; INSERT INTO song VALUES (1, 'a'), (2, 'b')`)
  await createProject(target, 'once', PAUSING)
  const job = await withPausePoint(target, async (pausePoint) => {
    const asked = await askFor('once', relay, 'waits')
    const worker = await startWorker()
    await pausePoint.reached()
    await worker.kill('SIGKILL')
    await takeFromLostWorkers(source)
    return asked
  })
  await startWorker()
  const ended = await untilEnded(source.root, job)

  expect(ended, JSON.stringify(ended)).toMatchObject({
    status: 'succeeded',
    attempt: 2,
    result: { projects: [{ slug: 'waits', targetSlug: 'once' }] },
  })
  expect(await songsOf(target, 'once')).toEqual(await songsOf(source, 'waits'))
  expect(await importsOf('once')).toBe(1)
})

test('one that is cancelled ends the import that it has asked for, and leaves no upload', async () => {
  await createProject(target, 'cancelled', PAUSING)
  await withPausePoint(target, async (pausePoint) => {
    const job = await askFor('cancelled', relay, 'waits')
    await startWorker()
    await pausePoint.reached()
    await source.root.post(`/jobs/${job.id}/cancel`)
    await untilStatus(source.root, job.id, 'cancelled')
  })
  await eventually(() =>
    target.database.query(`SELECT status FROM control.job WHERE status IN ('queued', 'running')`),
  ).toEqual([])
  expect(await importsOf('cancelled')).toBe(0)
  expect(await uploads()).toEqual([])
  await eventually(() =>
    source.database.query(`SELECT FROM control.artifact WHERE state IN ('writing', 'ready') AND kind = 'input'`),
  ).toEqual([])
})

test('where the target has no worker, or the archive cannot be kept, it is streamed', async () => {
  const idle = await startWharf()
  try {
    await createProject(idle, 'streamed', PAUSING)
    const job = await askFor('streamed', idle, 'waits')
    const worker = await startWorker(idle)
    const ended = await untilEnded(source.root, job)
    expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(await songsOf(idle, 'streamed')).toEqual(await songsOf(source, 'waits'))
    await worker.kill('SIGKILL')
  } finally {
    await idle.close()
  }
  await createProject(target, 'unkept', PAUSING)
  const folder = join(await temporaryFolder(), 'artifacts')
  const worker = await startWorker(relay, { WHARF_ARTIFACTS: folder })
  await rm(folder, { recursive: true })
  const ended = await untilEnded(source.root, await askFor('unkept', relay, 'waits'))
  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded', attempt: 1 })
  expect(await songsOf(target, 'unkept')).toEqual(await songsOf(source, 'waits'))
  await worker.kill('SIGKILL')
})

test('where the target is not there, that is said before anything is read', async () => {
  const worker = await startWorker()
  const job = await askFor('nowhere')
  const ended = await untilEnded(source.root, job)
  const error = { code: 'REMOTE_FAILED', detail: expect.stringContaining('nowhere') }
  expect(ended).toMatchObject({ status: 'failed', attempt: 1, error })
  expect(await source.database.query('SELECT FROM control.artifact WHERE job_id = $1', [job.id])).toEqual([])
  await worker.kill('SIGKILL')
})
