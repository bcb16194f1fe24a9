import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import {
  AGAIN,
  artifactsOf,
  askExport,
  askImport,
  jobOf,
  startWorkerProcess,
  untilEnded,
} from '../support/jobs/jobs.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const TABLE = 'CREATE TABLE item (id integer PRIMARY KEY, name text);'
const rows = (count: number): string => `INSERT INTO item SELECT n, md5(n::text) FROM generate_series(1, ${count}) n`

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'small', `${TABLE} ${rows(100)}`)
  await createProject(wharf, 'large', `${TABLE} ${rows(50_000)}`)
})

afterAll(() => wharf?.close())

/** A worker whose files may not grow beyond half a mebibyte, which is what a full disk is to it. */
const startCrampedWorker = () => startWorkerProcess(wharf, {}, {}, { fileBlocks: 1_024 })

const FULL = { status: 'failed', attempt: 1, error: { code: 'STORAGE_FULL', detail: expect.stringContaining('room') } }

test('an export for which there is no room fails at once, says so, and frees what it had written', async () => {
  const worker = await startCrampedWorker()
  const asked = jobOf(await askExport(wharf.root, [{ slug: 'large' }]))
  expect(await untilEnded(wharf.root, asked)).toMatchObject(FULL)
  await eventually(() => artifactsOf(wharf)).toEqual({ records: [], files: 0 })
  expect(await wharf.root.get(`/jobs/${asked.id}/file`)).toMatchObject({ status: 409 })

  const fits = jobOf(await askExport(wharf.root, [{ slug: 'small' }]))
  expect(await untilEnded(wharf.root, fits)).toMatchObject({ status: 'succeeded', attempt: 1 })
  expect(await artifactsOf(wharf)).toMatchObject({ files: 1 })
  await wharf.root.delete(`/jobs/${fits.id}`)
  await eventually(async () => (await artifactsOf(wharf)).files).toBe(0)
  await worker.kill('SIGKILL')
})

test('an import for whose rows there is no room fails at once, says so, and leaves nothing', async () => {
  await createProject(wharf, 'target', `${TABLE} ${rows(2)}`)
  const [large, small] = [await exportOf(wharf.root, 'large'), await exportOf(wharf.root, 'small')]
  const worker = await startCrampedWorker()
  const asked = jobOf(await askImport(wharf.root, large, '?targetSlug=target'))
  expect(await untilEnded(wharf.root, asked)).toMatchObject(FULL)
  const count = 'SELECT count(*)::int AS n FROM "target.live".item'
  expect(await wharf.database.query(count)).toEqual([{ n: 2 }])
  const spooled = async (): Promise<string[]> =>
    (await readdir(join(wharf.dataDir, 'spool'), { recursive: true })).filter((name) => name.endsWith('.rows'))
  expect(await spooled()).toEqual([])
  await eventually(() => artifactsOf(wharf)).toEqual({ records: [], files: 0 })

  const fits = jobOf(await askImport(wharf.root, small, '?targetSlug=target'))
  expect(await untilEnded(wharf.root, fits)).toMatchObject({ status: 'succeeded', attempt: 1 })
  expect(await wharf.database.query(count)).toEqual([{ n: 100 }])
  await eventually(async () => (await artifactsOf(wharf)).files).toBe(0)
  await worker.kill('SIGKILL')
})

test('an upload whose client goes away in the middle leaves neither a job nor a file', async () => {
  const archive = Buffer.from(await exportOf(wharf.root, 'large'))
  const leaving = new AbortController()
  const halfOfIt = async function* () {
    yield archive.subarray(0, archive.length / 2)
    await eventually(() => artifactsOf(wharf)).toMatchObject({ files: 1 })
    leaving.abort()
    yield archive.subarray(archive.length / 2)
  }
  const headers = { prefer: 'respond-async' }
  await expect(sendArchive(wharf.root, halfOfIt(), { headers, signal: leaving.signal })).rejects.toThrow()
  await eventually(async () => (await artifactsOf(wharf)).files).toBe(0)
  expect(await wharf.database.query(`SELECT FROM control.job WHERE status = 'queued'`)).toEqual([])
  await eventually(() =>
    wharf.database.query(`SELECT FROM control.artifact WHERE state IN ('writing', 'ready')`),
  ).toEqual([])
})

test('what a killed worker has written of an archive goes as soon as its job is taken from it', async () => {
  const worker = await startWorkerProcess(wharf)
  const asked = await withSession(wharf.database.url, async (locker) => {
    await locker.query('BEGIN; LOCK TABLE "small.live".item IN ACCESS EXCLUSIVE MODE')
    const job = jobOf(await askExport(wharf.root, [{ slug: 'small' }]))
    await eventually(() => artifactsOf(wharf)).toEqual({
      records: [{ kind: 'output', state: 'writing', n: 1 }],
      files: 1,
    })
    await eventually(async () => (await openTransactions(wharf)).some(({ waits }) => waits === 'Lock')).toBe(true)
    await worker.kill('SIGKILL')
    return job
  })
  expect(await artifactsOf(wharf)).toEqual({ records: [{ kind: 'output', state: 'writing', n: 1 }], files: 1 })
  await startWorkerProcess(wharf)
  expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
  await eventually(() => artifactsOf(wharf)).toEqual({ records: [{ kind: 'output', state: 'ready', n: 1 }], files: 1 })
})
