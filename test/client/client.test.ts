import { randomBytes } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type Job, type Wharf, WharfError } from '../../src/client/index.ts'
import { contentsOf } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { startTcpRelay } from '../support/servers/tcp-relay.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const STRUCTURE = 'CREATE TABLE song (id integer PRIMARY KEY, name text)'
const MB = 1024 * 1024
const SHOP = { projects: [{ slug: 'shop', system: false }] }

let service: TestWharf
let wharf: Wharf

beforeAll(async () => {
  service = await startWharf({ worker: true })
  wharf = createClient({ url: service.url, token: ROOT_TOKEN })
  // Some 4 MB, of which gzip leaves half.
  const songs = Array.from({ length: 3_000 }, (_, id) => `(${id}, '${randomBytes(700).toString('hex')}')`)
  await createProject(service, 'shop', `${STRUCTURE}; INSERT INTO song VALUES ${songs.join()}`)
})

afterAll(() => service?.close())

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A relay to the service that breaks so many connections, each after a megabyte in that direction. */
async function startBadNetwork(direction: 'asks' | 'answers', breaks: number) {
  let broken = 0
  const relay = await startTcpRelay(service.url, (breakOff) => {
    let bytes = 0
    const count = (chunk: Buffer): boolean => {
      bytes += chunk.length
      if (bytes <= MB || broken >= breaks) return true
      broken += 1
      breakOff()
      return false
    }
    return { asks: () => true, answers: () => true, [direction]: count }
  })
  return { relay, broken: () => broken, wharf: createClient({ url: relay.url, token: ROOT_TOKEN }) }
}

const failureOf = async (asked: Promise<unknown>): Promise<WharfError> => {
  const error = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof WharfError) return error
  throw new Error(`no WharfError, but ${String(error)}`)
}

test('jobs are watched, as long as the token counts', async () => {
  const { id, token } = await createToken(service, 'admin', 'shop')
  const member = createClient({ url: service.url, token })
  const seen: Job['status'][] = []
  const error = await failureOf(
    (async () => {
      for await (const [newest] of member.watchJobs({ project: 'shop', kind: 'export', limit: 1 })) {
        if (newest) seen.push(newest.status)
        else await member.startExport(SHOP)
        if (newest?.status === 'succeeded') await service.root.delete(`/tokens/${id}`)
      }
    })(),
  )
  expect(error).toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(seen.at(-1)).toBe('succeeded')
})

test('calls are made by method and path, and answered with what they answer', async () => {
  const { slug, stages } = await wharf.get('/projects/{slug}', { params: { path: { slug: 'shop' } } })
  expect([slug, stages.map((stage) => stage.slug)]).toEqual(['shop', ['live']])
  const path = { slug: 'called', stage: 'live' }
  await wharf.post('/projects', { body: { slug: 'called' } })
  const applied = await wharf.post('/projects/{slug}/stages/{stage}/schema', {
    params: { path },
    headers: { 'content-type': 'application/sql' },
    body: 'CREATE TABLE t (id integer)',
  })
  expect(applied.tables).toBe(1)
  expect(await wharf.delete('/projects/{slug}', { params: { path } })).toBe(undefined)
  expect(await wharf.get('/metrics')).toContain('wharf_')
})

test('a refusal has its code, what is at fault, and what to do', async () => {
  const missing = await failureOf(wharf.get('/projects/{slug}', { params: { path: { slug: 'no-such' } } }))
  expect(missing).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  expect(missing.advice).toMatch(/^Check the name/)
  expect(missing.requestId).toMatch(/^[\w-]+$/)
  const malformed = await failureOf(wharf.post('/projects', { body: { slug: 'NOT A SLUG' } }))
  expect(malformed).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer: '/slug' }] })
  const archive = await failureOf(wharf.importArchive(Buffer.from('{"no": "archive"}\n')))
  expect(archive).toMatchObject({ code: 'ARCHIVE_INVALID', errors: [{ line: 1 }] })
  const unknown = createClient({ url: service.url, token: 'no-such-token' })
  expect(await failureOf(unknown.get('/me'))).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 })
})

test('a service that is not there, and an address that is not Wharf, are told apart from refusals', async () => {
  const nobody = createClient({ url: 'http://127.0.0.1:1', token: 'x' })
  expect(await failureOf(nobody.get('/me'))).toMatchObject({ code: 'UNREACHABLE', status: 0 })
  const wrongPath = createClient({ url: `${service.url}/healthz`, token: 'x' })
  expect((await failureOf(wrongPath.get('/me'))).code).toBe('NOT_FOUND')
  expect(() => createClient({ url: 'https://token@wharf.example.org', token: 'x' })).toThrow(TypeError)
})

test('an archive streams out and in', async () => {
  await createProject(service, 'streamed', STRUCTURE)
  const archive = await wharf.exportArchive(SHOP)
  const answer = await wharf.importArchive(archive, { targetSlug: 'streamed' })
  expect(answer.projects[0]?.stages[0]).toMatchObject({ tables: 1, rows: 3_000 })
  expect(await contentsOf(service, 'streamed')).toEqual(await contentsOf(service, 'shop'))
})

test('a compressed archive is known by its first bytes, and a dry run changes nothing', async () => {
  await createProject(service, 'dry', STRUCTURE)
  const archive = gzipSync(await bytesOf(await wharf.exportArchive(SHOP)))
  async function* byteByByte() {
    for (let at = 0; at < 8; at += 1) yield archive.subarray(at, at + 1)
    yield archive.subarray(8)
  }
  for (const source of [archive, new Blob([archive]), byteByByte()]) {
    const answer = await wharf.importArchive(source, { targetSlug: 'dry', dryRun: true })
    expect(JSON.stringify(answer)).toContain('"rowsAfter":3000')
  }
  expect(await service.root.get('/content/dry/live/song')).toMatchObject({ text: '[]' })
})

test('an export that breaks off is an error of its stream, never a short archive', async () => {
  const { relay, wharf: badly } = await startBadNetwork('answers', 1)
  expect(await failureOf(bytesOf(await badly.exportArchive(SHOP)))).toMatchObject({ code: 'UNREACHABLE' })
  await relay.cut()
})

test('what a source of an import throws is thrown, and nothing is changed', async () => {
  await createProject(service, 'unread', STRUCTURE)
  async function* failing() {
    yield Buffer.from('{"kind":')
    throw new Error('the disk is gone')
  }
  await expect(wharf.importArchive(failing(), { targetSlug: 'unread' })).rejects.toThrow('the disk is gone')
  expect(await service.root.get('/content/unread/live/song')).toMatchObject({ text: '[]' })
})

test('a job is waited for with its progress, and its archive is imported where it is', async () => {
  const seen: Job[] = []
  const options = { idempotencyKey: 'nightly' }
  const started = await wharf.startExport(SHOP, options)
  expect((await wharf.startExport(SHOP, options)).id).toBe(started.id)
  const job = await wharf.waitFor(started, { onProgress: (now) => seen.push(now) })
  expect(job.status).toBe('succeeded')
  expect(seen.at(-1)).toEqual(job)
  await createProject(service, 'from-job', STRUCTURE)
  await wharf.waitFor(await wharf.startImport({ jobId: job.id }, { targetSlug: 'from-job' }))
  expect(await contentsOf(service, 'from-job')).toEqual(await contentsOf(service, 'shop'))
})

test('waiting goes on where the service is away for a while', async () => {
  const relay = await startTcpRelay(service.url)
  const through = createClient({ url: relay.url, token: ROOT_TOKEN })
  const waiting = through.waitFor(
    await through.startTransfer({ source: { project: 'shop' }, target: { project: 'away' } }).catch(async () => {
      await createProject(service, 'away', STRUCTURE)
      return through.startTransfer({ source: { project: 'shop' }, target: { project: 'away' } })
    }),
  )
  await relay.cut()
  await relay.mend()
  expect((await waiting).status).toBe('succeeded')
  await relay.cut()
})

test('a job that fails, or is cancelled, is an error with its code', async () => {
  await createProject(service, 'other-structure', 'CREATE TABLE song (id text)')
  const transfer = { source: { project: 'shop' }, target: { project: 'other-structure' } }
  const failure = await failureOf(wharf.waitFor(await wharf.startTransfer(transfer)))
  expect(failure.code).toBe('CONFLICT')
  expect(failure.errors).not.toEqual([])
  const slow = await wharf.startExport({ ...SHOP, maxBytesPerSecond: 256 * 1024 })
  await eventually(async () => (await wharf.get('/jobs/{id}', { params: { path: slow } })).status).toBe('running')
  await wharf.cancel(slow)
  expect(await failureOf(wharf.waitFor(slow))).toMatchObject({ code: 'JOB_CANCELLED' })
})

test('a download goes on where the connection broke, and ends with the whole archive', async () => {
  const job = await wharf.waitFor(await wharf.startExport(SHOP))
  const { relay, broken, wharf: badly } = await startBadNetwork('answers', 2)
  const archive = await bytesOf(await badly.download(job))
  expect(broken()).toBe(2)
  expect(gunzipSync(archive).toString().slice(-400)).toMatch(/\n\{"end":.*\}\n$/)
  await relay.cut()
})

test('a file that was not saved to its end is gone on with by the next call, and has its name only then', async () => {
  const job = await wharf.waitFor(await wharf.startExport(SHOP))
  const folder = await temporaryFolder()
  const path = join(folder, 'shop.jsonl.gz')
  const { relay, wharf: badly } = await startBadNetwork('answers', 0)
  const stop = new AbortController()
  const saving = badly.saveArchive(job, path, {
    signal: stop.signal,
    onProgress: (bytes) => bytes > MB && stop.abort(),
  })
  await expect(saving).rejects.toThrow('aborted')
  const [part = ''] = await readdir(folder)
  expect(part).toMatch(/^shop\.jsonl\.gz\.[0-9a-f]{16}\.part$/)
  const before = (await readFile(join(folder, part))).length
  expect(before).toBeGreaterThan(MB)

  const seen: number[] = []
  await wharf.saveArchive(job, path, { onProgress: (bytes) => seen.push(bytes) })
  expect(seen[0]).toBeGreaterThan(before)
  expect(await readdir(folder)).toEqual(['shop.jsonl.gz'])
  expect((await readFile(path)).equals(await bytesOf(await wharf.download(job)))).toBe(true)
  await relay.cut()
})

test('a part that was changed on the disk is found out, and not kept', async () => {
  const job = await wharf.waitFor(await wharf.startExport(SHOP))
  const folder = await temporaryFolder()
  const path = join(folder, 'shop.jsonl.gz')
  await expect(wharf.saveArchive(job, path, { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  const stop = new AbortController()
  await wharf.saveArchive(job, path, { signal: stop.signal, onProgress: () => stop.abort() }).catch(() => undefined)
  const [part = ''] = await readdir(folder)
  await writeFile(join(folder, part), randomBytes(1_000))
  expect(await failureOf(wharf.saveArchive(job, path))).toMatchObject({ code: 'ARCHIVE_INVALID' })
  expect(await readdir(folder)).toEqual([])
})

test('an upload goes on after cuts, and in another process by its id', async () => {
  const folder = await temporaryFolder()
  const path = join(folder, 'shop.jsonl')
  await writeFile(path, await bytesOf(await wharf.exportArchive(SHOP)))
  const file = await openAsBlob(path)
  const { relay, broken, wharf: badly } = await startBadNetwork('asks', 3)
  const stop = new AbortController()
  let uploadId = ''
  const onBegun = ({ id }: { readonly id: string }): void => {
    uploadId = id
    stop.abort()
  }
  await expect(badly.upload(file, { onBegun, signal: stop.signal })).rejects.toThrow('aborted')
  const seen: number[] = []
  const upload = await badly.upload(file, { uploadId, onProgress: (bytes) => seen.push(bytes) })
  expect(broken()).toBe(3)
  expect(upload).toMatchObject({ id: uploadId, offset: file.size })
  expect(seen.at(-1)).toBe(file.size)
  await relay.cut()

  await createProject(service, 'uploaded', STRUCTURE)
  await wharf.waitFor(await wharf.startImport({ uploadId }, { targetSlug: 'uploaded' }))
  expect(await contentsOf(service, 'uploaded')).toEqual(await contentsOf(service, 'shop'))
})

test('rows are read again only where something has changed', async () => {
  await createProject(service, 'read', `${STRUCTURE}; INSERT INTO song VALUES (1, 'one'), (2, 'two')`)
  const address = { project: 'read', stage: 'live', table: 'song' }
  const songs = wharf.rows<{ readonly name: string }>(address, { select: 'name', id: ['gte.1', 'lt.9'], order: 'id' })
  const first = await songs.read()
  expect(first).toMatchObject({ rows: [{ name: 'one' }, { name: 'two' }], hasChanged: true })
  const second = await songs.read()
  expect(second).toEqual({ ...first, hasChanged: false })
  await applyScript(service, 'read', "UPDATE song SET name = 'changed' WHERE id = 2")
  const third = await songs.read()
  expect(third).toMatchObject({ rows: [{ name: 'one' }, { name: 'changed' }], hasChanged: true })
  expect(third.reference).not.toBe(first.reference)
})

test('a reader says nothing of what it had read once its token may not read any more', async () => {
  await createProject(service, 'secret', `${STRUCTURE}; INSERT INTO song VALUES (1, 'one')`)
  const { id, token } = await createToken(service, 'viewer', 'secret')
  const songs = createClient({ url: service.url, token }).rows({ project: 'secret', stage: 'live', table: 'song' })
  expect((await songs.read()).rows).toHaveLength(1)
  await service.root.delete(`/tokens/${id}`)
  expect(await failureOf(songs.read())).toMatchObject({ code: 'UNAUTHENTICATED' })
})
