import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import {
  jobOf,
  NO_LEASE,
  type SeenJob,
  startWorkerProcess,
  takeFromLostWorkers,
  untilEnded,
} from '../support/jobs/jobs.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Enough for two sessions, in several parts. */
const ROWS = 90_000

/** So fast that a worker is in the middle of the rows for some seconds. */
const RATE = 8 * 1024 * 1024

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  const rows = (count: number) => `SELECT n, repeat(md5(n::text), 12) AS t FROM generate_series(1, ${count}) n`
  await createProject(
    wharf,
    'shop',
    `CREATE TABLE item AS ${rows(ROWS)}; CREATE TABLE small AS ${rows(10)}; CREATE TABLE other AS ${rows(ROWS / 3)}`,
  )
})
afterAll(() => wharf?.close())

const readRows = async ({ id }: SeenJob): Promise<number> =>
  ((await wharf.root.get(`/jobs/${id}`)).json as { progress: { rows?: number } | null }).progress?.rows ?? 0

/** All but the line with its date. */
const withoutFirstLine = (archive: string): string => archive.slice(archive.indexOf('\n') + 1)

test('an export whose worker is killed in the middle of its rows, twice, gives the file that one session makes of them', async () => {
  const json = { projects: [{ slug: 'shop', system: false }], jobs: 2, maxBytesPerSecond: RATE }
  const job = jobOf(await wharf.root.post('/export', { headers: { prefer: 'respond-async' }, json }))
  for (const share of [0.1, 0.7]) {
    const worker = await startWorkerProcess(wharf, {}, NO_LEASE)
    await eventually(() => readRows(job)).toBeGreaterThan(share * ROWS)
    await worker.kill('SIGKILL')
    await takeFromLostWorkers(wharf)
  }
  await startWorkerProcess(wharf, {}, NO_LEASE)
  expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded', attempt: 3 })

  const { bytes } = await wharf.root.get(`/jobs/${job.id}/file`)
  const one = await wharf.root.post('/export', { json: { ...json, jobs: 1, maxBytesPerSecond: undefined } })
  expect(withoutFirstLine(gunzipSync(bytes).toString()) === withoutFirstLine(one.text)).toBe(true)
  expect(one.text.split('\n').length).toBeGreaterThan(ROWS)
  await nothingIsLeft(wharf)
})
