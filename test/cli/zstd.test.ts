import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { zstd } from '../../src/lib/zstd.ts'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { runCommand, spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { eventually } from '../support/eventually.ts'
import { newerNode } from '../support/processes/newer-node.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { createProject } from '../support/service/projects.ts'
import { type OwnServiceProcess, startOwnServiceProcess } from '../support/service/service-process.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Of some megabytes, so that there are several frames. */
const SHOP = `
  CREATE TABLE item (id int PRIMARY KEY, name text, note text);
  INSERT INTO item SELECT n, 'item ' || n, repeat(md5(n::text), 4) FROM generate_series(1, 30000) n;
  CREATE TABLE word (word text PRIMARY KEY); INSERT INTO word VALUES ('wharf')`

const node = newerNode()
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

describe.skipIf(!node)('on a Node.js that has zstd', () => {
  let service: OwnServiceProcess
  let folder: string
  let lines: readonly string[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
    service = await startOwnServiceProcess({ flags: [], ...(node && { node }) })
    await createProject(service, 'shop', SHOP)
    await createProject(service, 'copy')
    lines = comparableLines(await exportOf(service.root, 'shop'))
  })
  afterAll(async () => {
    await service?.close()
    if (folder) await rm(folder, { recursive: true })
  })

  const ask = (headers: Record<string, string>, json: object = { projects: [{ slug: 'shop' }] }) =>
    service.root.post('/export', { headers, json })

  const wharf = async (...args: readonly string[]) => {
    const variables = { WHARF_DSN: '' }
    const run = spawnWharf(args, { cwd: folder, variables, flags: [], ...(node && { node }) })
    return run.ended
  }

  const dsn = (project: string): string => dsnOf(service, project)

  test.each([
    ['what the request’s own coding names', { 'content-encoding': 'zstd' }, 'zstd'],
    ['what a client likes best', { 'accept-encoding': 'gzip;q=0.9, zstd' }, 'zstd'],
    ['gzip for who takes both alike, as browsers do', { 'accept-encoding': 'gzip, deflate, br, zstd' }, 'gzip'],
    ['what a client takes at all', { 'accept-encoding': 'br, zstd' }, 'zstd'],
    ['nothing for who takes neither', { 'accept-encoding': 'zstd;q=0, gzip;q=0' }, undefined],
  ])('an archive comes compressed with %s', async (_, headers, coding) => {
    const answer = await ask(headers)
    expect(answer.headers['content-encoding']).toBe(coding)
    expect(answer.status).toBe(200)
  })

  test('an archive that is written as zstd is the same, and goes in again', async () => {
    const written = await wharf('data:export', dsn('shop'), '--zstd', '--quiet')
    expect(written).toMatchObject({ code: 0 })
    const file = join(folder, 'shop.jsonl.zst')
    expect((await readFile(file)).subarray(0, 4)).toEqual(ZSTD)
    expect(await wharf('data:verify', file, '--quiet')).toMatchObject({ code: 0 })
    expect(await wharf('data:import', file, dsn('copy'), '--yes', '--quiet')).toMatchObject({ code: 0 })
    expect(comparableLines(await exportOf(service.root, 'copy'))).toEqual(lines)
  })

  test('an archive that is damaged anywhere is refused, and changes nothing', async () => {
    const file = join(folder, 'whole.jsonl.zst')
    await wharf('data:export', dsn('shop'), '--zstd', '--quiet', '--output', file)
    const whole = await readFile(file)
    const before = comparableLines(await exportOf(service.root, 'copy'))
    const flipped = (at: number): Buffer => {
      const bytes = Buffer.from(whole)
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
      return bytes
    }
    for (const [bytes, message] of [
      // The sum of a frame comes after its lines, which may be wrong before.
      [flipped(whole.length >> 1), /zstd data|line \d+:/],
      [flipped(whole.length - 1), /zstd data is damaged/],
      [whole.subarray(0, -1), /ends in the middle of its zstd data/],
      [Buffer.concat([whole, Buffer.from('more')]), /something that is not zstd data follows/],
    ] as const) {
      const answer = await service.root.post('/import?targetSlug=copy', {
        headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'zstd' },
        body: bytes,
      })
      expect(answer).toMatchObject({ status: 400, json: { type: 'urn:wharf:error:archive-invalid' } })
      expect(answer.text).toMatch(message)
    }
    expect(comparableLines(await exportOf(service.root, 'copy'))).toEqual(before)
  })

  test('the archives of a schedule are proven as zstd, and downloaded under its name', async () => {
    const made = await wharf(
      ...['schedule:create', '--server', dsn('shop'), '--name', 'nightly', '--cron', '@daily', '--zstd', '--verify'],
    )
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(await wharf('schedule:run', 'nightly', '--server', dsn('shop'))).toMatchObject({ code: 0 })
    const jobs = async () =>
      (await service.root.get('/jobs?kind=export')).json as { items: { id: string; status: string }[] }
    await eventually(async () => (await jobs()).items.map(({ status }) => status)).toEqual(['succeeded'])
    const [job] = (await jobs()).items
    const file = await service.root.get(`/jobs/${job?.id}/file`)
    expect(file.headers['content-type']).toBe('application/zstd')
    expect(file.headers['content-disposition']).toMatch(/\.jsonl\.zst"$/)
    expect(await wharf('job:download', job?.id ?? '', '--server', dsn('shop'), '--quiet')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('shop.jsonl.zst'),
    })
    const imported = await wharf('data:import', '--from-schedule', 'nightly', dsn('copy'), '--yes', '--quiet')
    expect(imported).toMatchObject({ code: 0 })
  })

  test('an archive is either not compressed or compressed with zstd', async () => {
    expect(await wharf('data:export', dsn('shop'), '--zstd', '--no-gzip')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('leave one of them out'),
    })
  })
})

describe.skipIf(zstd)('on a Node.js without zstd', () => {
  let wharf: TestWharf

  beforeAll(async () => {
    wharf = await startWharf()
    await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY)')
  })
  afterAll(async () => {
    await wharf?.close()
  })

  test('what asks for zstd gets it from nobody, and is told which Node.js has it', async () => {
    const projects = [{ slug: 'shop' }]
    const asked = await wharf.root.post('/export', { json: { projects, compression: 'zstd' } })
    expect(asked).toMatchObject({ status: 400, json: { detail: expect.stringMatching(/22\.15 and newer/) } })
    const named = await wharf.root.post('/export', { headers: { 'content-encoding': 'zstd' }, json: { projects } })
    expect(named).toMatchObject({ status: 400, json: { detail: expect.stringMatching(/22\.15 and newer/) } })
    const scheduled = await wharf.root.post('/schedules', {
      json: { name: 'nightly', cron: '@daily', kind: 'export', request: { projects, compression: 'zstd' } },
    })
    expect(scheduled).toMatchObject({ status: 400, json: { detail: expect.stringMatching(/22\.15 and newer/) } })
  })

  test('who would like zstd best gets what there is', async () => {
    const answer = await wharf.root.post('/export', {
      headers: { 'accept-encoding': 'zstd, gzip;q=0.5' },
      json: { projects: [{ slug: 'shop' }] },
    })
    expect(answer).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } })
  })

  test('an archive of zstd is refused by its coding, and by its first bytes', async () => {
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'zstd' }
    const sent = await wharf.root.post('/import', { headers, body: ZSTD })
    expect(sent).toMatchObject({
      status: 415,
      json: {
        detail: expect.stringMatching(
          /^the body must have the Content-Encoding gzip, or none \(.* 22\.15 and newer have\)$/,
        ),
      },
    })
    const file = join(await temporaryFolder(), 'shop.jsonl.zst')
    await writeFile(file, ZSTD)
    expect(await runCommand(['data:verify', file, '--quiet'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /compressed with zstd, and Node\.js \S+ has no zstd; 22\.15 and newer have; `zstd -d` unpacks it/,
      ),
    })
    expect(await runCommand(['data:export', 'wharf://shop@localhost', '--zstd'])).toMatchObject({ code: 2 })
  })
})
