import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, contentsOf, exportOf } from '../../support/archives/import.ts'
import { runCommand } from '../../support/cli/cli.ts'
import { dsnOf } from '../../support/cli/dsn.ts'
import { eventually } from '../../support/eventually.ts'
import { jobOf } from '../../support/jobs/jobs.ts'
import { temporaryFolder } from '../../support/processes/processes.ts'
import { nothingIsLeft } from '../../support/service/leftovers.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  const rows = `SELECT n, repeat(md5(n::text), 8) FROM generate_series(1, 30000) n`
  await createProject(wharf, 'shop', `CREATE TABLE item (id int PRIMARY KEY, note text); INSERT INTO item ${rows}`)
  await createProject(wharf, 'copy')
})
afterAll(async () => {
  await wharf?.close()
})

const projects = [{ slug: 'shop' }]
/** With which the archive takes half a minute. */
const slow = { maxBytesPerSecond: 256 * 1024 }

test('an export that is told to be slow is a part of the way when it is cancelled, and leaves nothing', async () => {
  const job = jobOf(
    await wharf.root.post('/export', { headers: { prefer: 'respond-async' }, json: { projects, ...slow } }),
  )
  const shown = async () =>
    (await wharf.root.get(`/jobs/${job.id}`)).json as { status: string; progress: { rows: number } | null }
  await eventually(async () => ((await shown()).progress?.rows ?? 0) > 0).toBe(true)
  const { status, progress } = await shown()
  expect({ status, isPart: (progress?.rows ?? 0) < 30_000 }).toEqual({ status: 'running', isPart: true })
  expect((await wharf.root.post(`/jobs/${job.id}/cancel`)).status).toBeLessThan(300)
  await eventually(async () => (await shown()).status).toBe('cancelled')
  await nothingIsLeft(wharf)
})

test('an answer that is told to be slow ends when its client goes away', async () => {
  const client = new AbortController()
  const answer = wharf.root.post('/export', { json: { projects, ...slow }, signal: client.signal })
  await eventually(() =>
    wharf.database.query(
      `SELECT FROM pg_stat_activity WHERE application_name LIKE 'wharf export %' AND datname = current_database()`,
    ),
  ).not.toEqual([])
  client.abort()
  await expect(answer).rejects.toThrow()
  await nothingIsLeft(wharf)
})

test('the archive is the same at any rate, and a transfer has one, too', async () => {
  const file = join(await temporaryFolder(), 'shop.jsonl.gz')
  const args = ['data:export', dsnOf(wharf, 'shop'), '--max-rate', '500M', '--output', file, '--quiet']
  expect(await runCommand(args)).toMatchObject({ code: 0 })
  expect(comparableLines(gunzipSync(await readFile(file)).toString())).toEqual(
    comparableLines(await exportOf(wharf.root, 'shop')),
  )
  const transfer = ['data:transfer', dsnOf(wharf, 'shop'), dsnOf(wharf, 'copy'), '--max-rate', '1G', '--yes', '--quiet']
  expect(await runCommand(transfer)).toMatchObject({ code: 0 })
  expect(await contentsOf(wharf, 'copy')).toEqual(await contentsOf(wharf, 'shop'))
})

test('a transfer from another server has that one read no faster', async () => {
  const there = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: '127.0.0.1' } })
  try {
    await createProject(there, 'copy')
    const json = { source: { dsn: dsnOf(wharf, 'shop') }, target: { project: 'copy' }, ...slow }
    const job = jobOf(await there.root.post('/transfer', { json }))
    const asked = `SELECT (request->>'maxBytesPerSecond')::int AS rate FROM control.job WHERE kind = 'export' AND status = 'running'`
    await eventually(() => wharf.database.query(asked)).toEqual([{ rate: slow.maxBytesPerSecond }])
    expect((await there.root.post(`/jobs/${job.id}/cancel`)).status).toBeLessThan(300)
    await nothingIsLeft(wharf)
  } finally {
    await there.close()
  }
})

test.each(['20', '20m', '1k', '2G', '0M', 'fast'])(
  'a rate of %s is no rate, and the message says what is',
  async (rate) => {
    expect(await runCommand(['data:export', dsnOf(wharf, 'shop'), '--max-rate', rate])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('from 256k to 1G'),
    })
  },
)
