import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { dsnOf } from '../support/cli/dsn.ts'
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
import { withSession } from '../support/servers/sessions.ts'
import { startTcpRelay, type TcpRelay } from '../support/servers/tcp-relay.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const MB = 1024 * 1024
/** Has the project `far`. */
let source: TestWharf
/** Has no worker in this process. */
let target: TestWharf
let relay: TcpRelay
const line = { ...SOUND_LINE }

beforeAll(async () => {
  source = await startWharf({ worker: true })
  await createProject(source, 'far', `${SONG_TABLE}; INSERT INTO song ${songs(15_000)}`)
  relay = await startTcpRelay(source.url, (_breakOff, end) => {
    let bytes = 0
    let isArchive = false
    let hasEnded = false
    return {
      asks(chunk) {
        isArchive = /^GET \S+\/file /.test(chunk.toString('latin1'))
        if (!line.isDown) return true
        line.refused += 1
        end()
        return false
      },
      answers(chunk) {
        if (line.isDown || hasEnded) return false
        if (!isArchive) return true
        line.sent += chunk.length
        bytes += chunk.length
        if (bytes > line.endsAfter && line.ends > 0) {
          line.ends -= 1
          hasEnded = true
          line.isDown = line.staysDown
          // After this chunk has been passed on.
          setImmediate(end)
        }
        return true
      },
    }
  })
  target = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: '127.0.0.1' } })
})

afterAll(async () => {
  await target?.close()
  await relay?.cut()
  await source?.close()
})

beforeEach(() => void Object.assign(line, SOUND_LINE))

const allowing = ({ url }: { readonly url: string }) => ({ WHARF_TRANSFER_HOSTS: new URL(url).host })

/** Saves each piece as it comes; gives a source's worker as long as it takes. */
const startWorker = () =>
  startWorkerProcess(target, allowing(relay), { ...NO_LEASE, saveMs: 0, remoteQueueMs: 600_000 })

async function askFor(project: string, from: { readonly url: string } = relay): Promise<SeenJob> {
  await createProject(target, project, SONG_TABLE)
  const json = { source: { dsn: dsnOf(from, 'far') }, target: { project } }
  return jobOf(await target.root.post('/transfer', { json }))
}

const arrived = async (project: string) => expect(await songsOf(target, project)).toEqual(await songsOf(source, 'far'))

/** The exports that the source knows of. */
const exportsOf = ({ database }: TestWharf): Promise<{ status: string }[]> =>
  database.query('SELECT status FROM control.job')

/** How many bytes of an archive a job has kept. */
async function keptBy({ id }: SeenJob): Promise<number> {
  const [row] = await target.database.query<{ bytes: number }>(
    `SELECT coalesce(sum(bytes), 0)::int AS bytes FROM control.artifact WHERE job_id = $1 AND state = 'ready'`,
    [id],
  )
  return row?.bytes ?? 0
}

/** How large the archive is that the source has made. */
async function archiveBytes({ id }: SeenJob): Promise<number> {
  const [row] = await target.database.query<{ bytes: number }>(
    `SELECT (request->'archive'->>'bytes')::int AS bytes FROM control.job WHERE id = $1`,
    [id],
  )
  return row?.bytes ?? 0
}

/** Runs a transfer over a network that goes down after 4 MB, and kills the worker there. */
async function killInTheMiddle(project: string): Promise<SeenJob> {
  Object.assign(line, { endsAfter: 4 * MB, ends: 1, staysDown: true })
  const job = await askFor(project)
  const worker = await startWorker()
  // Who asks again has kept all that has come.
  await eventually(() => line.refused).toBeGreaterThan(0)
  expect(await keptBy(job)).toBeGreaterThan(3.8 * MB)
  await worker.kill('SIGKILL')
  await takeFromLostWorkers(target)
  line.isDown = false
  return job
}

test('a transfer goes on where the connection was lost, and asks for nothing that it has', async () => {
  Object.assign(line, { endsAfter: 4 * MB, ends: 2 })
  const job = await askFor('lost')
  await startWorker()
  const ended = await untilEnded(target.root, job)

  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded', attempt: 1 })
  expect(line.ends).toBe(0)
  await arrived('lost')
  expect(line.sent).toBeGreaterThan(12 * MB)
  expect(line.sent).toBeLessThan(1.02 * (await archiveBytes(job)))
  await eventually(() => exportsOf(source)).toEqual([])
})

test('a transfer whose worker was killed goes on with what that had received', async () => {
  const job = await killInTheMiddle('killed')
  await startWorker()
  const ended = await untilEnded(target.root, job)

  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded', attempt: 2 })
  await arrived('killed')
  expect(line.sent).toBeLessThan(1.02 * (await archiveBytes(job)))
  await eventually(() => exportsOf(source)).toEqual([])
})

test('where the source has lost the archive meanwhile, it makes another, and nothing of the first is taken', async () => {
  const job = await killInTheMiddle('again')
  const before = await target.database.query('SELECT request FROM control.job WHERE id = $1', [job.id])
  await source.database.query('DELETE FROM control.job')
  await source.database.query(`UPDATE "far.live".song SET words = 'other words' WHERE id = 17`)
  await startWorker()
  const ended = await untilEnded(target.root, job)

  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded' })
  await arrived('again')
  expect(await target.database.query('SELECT request FROM control.job WHERE id = $1', [job.id])).not.toEqual(before)
})

test('where nothing of the archive can be kept, the transfer goes on without', async () => {
  const folder = join(await temporaryFolder(), 'artifacts')
  await startWorkerProcess(target, { ...allowing(relay), WHARF_ARTIFACTS: folder }, NO_LEASE)
  await rm(folder, { recursive: true })
  const job = await askFor('unkept')
  const ended = await untilEnded(target.root, job)

  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded' })
  await arrived('unkept')
  await expect(access(folder)).rejects.toMatchObject({ code: 'ENOENT' })
  await eventually(() => exportsOf(source)).toEqual([])
})

test('a transfer that is cancelled ends the export that it has asked for', async () => {
  await withSession(source.database.url, async (blocker) => {
    await blocker.query('BEGIN; LOCK TABLE "far.live".song IN ACCESS EXCLUSIVE MODE')
    const job = await askFor('cancelled')
    await startWorker()
    await eventually(() => exportsOf(source)).toEqual([{ status: 'running' }])
    await target.root.post(`/jobs/${job.id}/cancel`)
    await untilStatus(target.root, job.id, 'cancelled')
    // Its record is removed as well, where it has ended by then.
    await eventually(async () => (await exportsOf(source)).filter(({ status }) => status !== 'cancelled')).toEqual([])
  })
  await source.database.query('DELETE FROM control.job')
})

test('a source without a worker streams the export', async () => {
  const idle = await startWharf()
  try {
    await createProject(idle, 'far', `${SONG_TABLE}; INSERT INTO song VALUES (1, 'a'), (2, 'b')`)
    const job = await askFor('streamed', idle)
    await startWorkerProcess(target, allowing(idle), { ...NO_LEASE, remoteQueueMs: 100 })
    const ended = await untilEnded(target.root, job)

    expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded' })
    expect(await songsOf(target, 'streamed')).toEqual(await songsOf(idle, 'far'))
    expect(await exportsOf(idle)).toEqual([])
  } finally {
    await idle.close()
  }
})
