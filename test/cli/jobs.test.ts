import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { runCommand, spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, untilEnded, untilStatus } from '../support/jobs/jobs.ts'
import { makeSchedule, showSchedule } from '../support/jobs/schedules.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const SONGS = 'CREATE TABLE song (id integer PRIMARY KEY, name text);'

let wharf: TestWharf
let server: string

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  server = dsnOf(wharf, 'shop')
  await createProject(wharf, 'shop', `${SONGS} INSERT INTO song SELECT n, md5(n::text) FROM generate_series(1, 900) n`)
})
afterAll(() => wharf?.close())

const run = (...args: readonly string[]) => runCommand([...args, '--server', server])

const withExportsWaiting = <T>(use: () => Promise<T>): Promise<T> =>
  withSession(wharf.database.url, async (blocker) => {
    await blocker.query('BEGIN; LOCK TABLE "shop.live".song IN ACCESS EXCLUSIVE MODE')
    return use()
  })

test('jobs are listed and shown', async () => {
  const { id } = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'shop' }])))
  expect(await run('job:list', '--kind', 'export')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(`${id}  export  shop  succeeded  100 %`),
  })
  expect(await run('job:show', id)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(`^job ${id}\n  what {8}export of shop\n  status {6}succeeded\n`),
  })
  const { stdout } = await run('job:list', '--status', 'failed', '--json')
  expect(JSON.parse(stdout)).toEqual({ jobs: [] })
  expect(await run('job:show', '00000000-0000-4000-8000-000000000000')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no job'),
  })
})

test('a job says how it was asked to do its work', async () => {
  const json = {
    projects: [{ slug: 'shop' }],
    jobs: 2,
    maxBytesPerSecond: 1_048_576,
    compression: 'gzip',
    allowIncomplete: true,
  }
  const { id } = jobOf(await wharf.root.post('/export', { json, headers: { prefer: 'respond-async' } }))
  expect((await run('job:show', id)).stdout).toMatch(
    /^ {2}sessions {6}at most 2\n {2}rate {10}at most 1.0 MB\/s\n {2}compression {3}gzip\n {2}missing rows {2}accepted\n/m,
  )
})

test('watching ends with the job, and the exit code says how that was', async () => {
  const asked = await withExportsWaiting(async () => {
    const job = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await untilStatus(wharf.root, job.id, 'running')
    expect(await run('job:cancel', job.id)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('being cancelled'),
    })
    return job
  })
  expect(await run('job:watch', asked.id, '--quiet')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('cancelled'),
  })
  expect(await run('job:cancel', asked.id)).toMatchObject({ code: 1, stderr: expect.stringContaining('ended already') })
  const good = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
  expect(await run('job:watch', good.id)).toMatchObject({ code: 0, stdout: expect.stringContaining('succeeded') })
})

test('an export as a job is downloaded when it is done, and is the same archive', async () => {
  const file = join(await temporaryFolder(), 'shop.jsonl.gz')
  const exported = await runCommand(['data:export', server, '--async', '--output', file])
  expect(exported, exported.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`exported shop to ${file}`),
  })
  const archive = gunzipSync(await readFile(file)).toString()
  expect(comparableLines(archive)).toEqual(comparableLines(await exportOf(wharf.root, 'shop')))
  const refused = await runCommand(['data:export', server, '--async', '--no-gzip'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--no-gzip') })
})

test('an export as a job names what no archive can hold', async () => {
  await createProject(wharf, 'viewed', `${SONGS} GRANT SELECT ON song TO PUBLIC`)
  const output = join(await temporaryFolder(), 'viewed.jsonl.gz')
  const exported = await runCommand(['data:export', dsnOf(wharf, 'viewed'), '--async', '--output', output])
  expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining('live: grant song (SELECT to everybody)') })
  const { items } = z
    .object({ items: z.array(z.object({ result: z.unknown() })) })
    .parse((await wharf.root.get('/jobs?project=viewed')).json)
  expect(items[0]?.result).toMatchObject({ notExported: [{ stage: 'live', kind: 'grant', name: 'song' }] })
})

test('a schedule reports what its archives cannot hold, and its job names it', async () => {
  await createProject(wharf, 'nightly', `${SONGS} GRANT SELECT ON song TO PUBLIC`)
  const schedule = await makeSchedule(wharf.root, 'nightly', { name: 'nightly' })
  const { id } = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
  await untilStatus(wharf.root, id, 'succeeded')
  expect((await showSchedule(wharf.root, schedule)).runs).toMatchObject([{ jobId: id, notExported: 1 }])
  const there = ['--server', dsnOf(wharf, 'nightly')]
  expect(await runCommand(['schedule:list', ...there])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      `^warning: the last successful run of nightly lacks things .*: 1 thing, named by job:show ${id}\n$`,
    ),
  })
  expect(await runCommand(['job:show', id, ...there])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      'the archive lacks things that no archive can hold, or rights that were not asked for; no rows are missing with them:\n  live: grant song (SELECT to everybody)',
    ),
  })
})

test('where the server goes away, an export as a job says which job goes on', async () => {
  const other = await startWharf({ beside: wharf })
  await withExportsWaiting(async () => {
    const before = new Set((await wharf.root.get('/jobs')).text.match(/"id":"[^"]+"/g))
    const exporting = runCommand(['data:export', dsnOf(other, 'shop'), '--async', '--quiet'])
    const made = async () => (await wharf.root.get('/jobs')).text.match(/"id":"[^"]+"/g)?.find((id) => !before.has(id))
    await eventually(made).toBeDefined()
    const id = (await made())?.slice(6, -1)
    await other.close()
    const { code, stderr } = await exporting
    expect(code).toBe(1)
    expect(stderr).toContain(`; job ${id} goes on without this command: job:watch ${id} follows it (REMOTE_FAILED)`)
    await wharf.root.post(`/jobs/${id}/cancel`)
  })
})

test('a download that broke off goes on where it stopped', async () => {
  const { id } = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'shop' }])))
  const whole = await wharf.root.get(`/jobs/${id}/file`)
  const ranges: (string | undefined)[] = []
  // Between the command and the server, and cuts the first download in two.
  const between = createServer(async (request, response) => {
    const { range, authorization } = request.headers
    const answer = await fetch(`${wharf.url}${request.url}`, {
      headers: { ...(authorization && { authorization }), ...(range && { range }), 'accept-encoding': 'identity' },
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (!request.url?.endsWith('/file')) return response.end(bytes)
    ranges.push(range)
    if (range) return response.end(bytes)
    response.write(bytes.subarray(0, 1000), () => setTimeout(() => response.destroy(), 50))
  })
  between.listen(0, '127.0.0.1')
  await eventually(() => between.listening).toBe(true)
  const address = between.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const file = join(await temporaryFolder(), 'shop.jsonl.gz')
  const dsn = server.replace(/@.*$/, `@127.0.0.1:${port}`)
  const downloaded = await runCommand(['job:download', id, '--server', dsn, '--output', file])
  between.close()
  expect(downloaded, downloaded.stderr).toMatchObject({ code: 0 })
  expect(ranges).toEqual([undefined, 'bytes=1000-'])
  expect((await readFile(file)).equals(whole.bytes)).toBe(true)
})

test('a transfer on one server is a job there, and Ctrl-C cancels it', async () => {
  await createProject(wharf, 'copy', `${SONGS} INSERT INTO song VALUES (1, 'old')`)
  const args = ['data:transfer', server, dsnOf(wharf, 'copy'), '--yes', '--quiet']
  await withExportsWaiting(async () => {
    const { child, ended } = spawnWharf(args, { cwd: await temporaryFolder() })
    const running = () =>
      wharf.database.query<{ id: string }>(`SELECT id FROM control.job WHERE kind = 'transfer' AND status = 'running'`)
    await eventually(async () => (await running()).length).toBe(1)
    const [job] = await running()
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 130 })
    await untilStatus(wharf.root, job?.id ?? '', 'cancelled')
  })
  expect(await wharf.database.query('SELECT count(*)::int AS n FROM "copy.live".song')).toEqual([{ n: 1 }])
  const done = await runCommand([...args, '--json'])
  expect(done, done.stderr).toMatchObject({ code: 0 })
  expect(JSON.parse(done.stdout)).toMatchObject({
    source: 'shop',
    target: 'copy',
    stages: ['live'],
    tables: 1,
    rows: 900,
  })
  expect(await wharf.database.query('SELECT count(*)::int AS n FROM "copy.live".song')).toEqual([{ n: 900 }])
})

test('the archive of a schedule is imported by the name of the schedule, the newest or that of a time', async () => {
  await createProject(wharf, 'kept', `${SONGS} INSERT INTO song VALUES (1, 'first')`)
  const schedule = await makeSchedule(wharf.root, 'kept', { name: 'kept at night' })
  const runNow = async (): Promise<string> => {
    const job = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
    return z.object({ createdAt: z.string() }).parse(await untilEnded(wharf.root, job)).createdAt
  }
  const write = (name: string) => wharf.database.query(`UPDATE "kept.live".song SET name = $1`, [name])
  const read = async () => (await wharf.database.query('SELECT name FROM "kept.live".song'))[0]
  const target = dsnOf(wharf, 'kept')
  const importIt = (...args: readonly string[]) =>
    runCommand(['data:import', '--from-schedule', 'kept at night', ...args, target, '--yes'])

  const madeAt = await runNow()
  await write('second')
  await runNow()
  await write('third')
  const newest = await importIt()
  expect(newest, newest.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^imported the archive of schedule "kept at night" of 2\S+Z on wharf:/),
  })
  expect(await read()).toEqual({ name: 'second' })
  expect(await importIt('--at', madeAt)).toMatchObject({ code: 0 })
  expect(await read()).toEqual({ name: 'first' })

  expect(await importIt('--at', '2020-01-01')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has no archive of 2020-01-01T00:00:00.000Z or before that is whole'),
  })
  expect(await importIt('--at', 'yesterday')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--at "yesterday"'),
  })
  await wharf.database.query(
    `UPDATE control.artifact SET damaged_at = now() WHERE job_id IN (SELECT id FROM control.job WHERE created_at > $1)`,
    [new Date(Date.parse(madeAt) + 1)],
  )
  await write('fourth')
  expect(await importIt()).toMatchObject({ code: 0 })
  expect(await read()).toEqual({ name: 'first' })
})

test('data:import says what it is to import', async () => {
  expect(await runCommand(['data:import'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('say what to import'),
  })
  expect(await runCommand(['data:import', 'a', 'b', '--from-schedule', 'nightly'])).toMatchObject({ code: 2 })
  expect(await runCommand(['data:import', 'a', '--at', '2026-01-01'])).toMatchObject({ code: 2 })
  expect(await runCommand(['data:import', 'postgres://app@db/app', '--from-schedule', 'nightly'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('job:download'),
  })
})
