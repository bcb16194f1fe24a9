import { execFile } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ApiClient } from '../support/http/api-client.ts'
import { S3_BUCKET, startS3Server, stubS3Settings } from '../support/servers/s3-server.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let folder: string

beforeAll(async () => {
  wharf = await startWharf()
  folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
  await createProject(wharf, 'shop')
  await createProject(wharf, 'blog')
  await allowExport(true)
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await wharf.close()
})

/** Says whether the role `exporter` of the shop may export content; it may do nothing else. */
async function allowExport(allowed: boolean): Promise<void> {
  const none = { read: false, write: false, export: false, import: false }
  const json = { content: { ...none, export: allowed }, system: { export: false, import: false } }
  const { status, text } = await wharf.root.put('/projects/shop/roles/exporter', { json })
  if (status !== 200) throw new Error(text)
}

/** Larger than what the sockets between a client and the service hold. */
const ARCHIVE = randomBytes(6 * 1024 * 1024 + 11)

const SMALL = randomBytes(5_000)

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

interface Recorded {
  readonly kind?: 'export' | 'import'
  readonly status?: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'
  readonly projects?: readonly { readonly slug: string; readonly system: boolean }[]
  readonly archive?: Buffer
  readonly state?: 'ready' | 'deleted' | 'removed'
  readonly expiresAt?: Date | null
}

/** Records a job as its worker would have left it, and its archive. @returns the path of its file. */
async function recordJob(recorded: Recorded = {}): Promise<string> {
  const { kind = 'export', status = 'succeeded', archive = SMALL, state = 'ready', expiresAt = null } = recorded
  const projects = recorded.projects ?? [{ slug: 'shop', system: false }]
  const request =
    kind === 'export'
      ? { projects }
      : { projects: projects.map((p) => ({ ...p, targetSlug: p.slug, stages: ['live'] })), allowEdited: false }
  const { control } = wharf.container
  const known = await control.prisma.project.findMany({ where: { slug: { in: projects.map(({ slug }) => slug) } } })
  const [id, key] = [randomUUID(), randomUUID()]
  const projectIds = known.map((project) => project.id)
  await control.prisma.job.create({ data: { id, kind, status, request, projectIds, maxAttempts: 3 } })
  if (status === 'succeeded') {
    await store(key, archive)
    await control.prisma.artifact.create({
      data: { id: key, key, jobId: id, kind: 'output', state, expiresAt, ...recordOf(archive) },
    })
  }
  return `/jobs/${id}/file`
}

const recordOf = (archive: Buffer) => ({ bytes: archive.length, sha256: new Uint8Array(sha256(archive)) })

async function store(key: string, bytes: Buffer): Promise<void> {
  const writer = await wharf.container.artifacts.create(key)
  await writer.write(bytes)
  await writer.commit()
}

const etagOf = (bytes: Buffer): string => `"${sha256(bytes).toString('hex')}"`

/** What a client has when its connection breaks after so many bytes, at least. */
async function brokenDownload(path: string, bytes: number): Promise<{ received: Buffer; etag: string }> {
  const request = get(wharf.url + path, { headers: { authorization: `Bearer ${ROOT_TOKEN}` } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  let received = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    received += chunk.length
    if (received >= bytes) break
  }
  request.destroy()
  return { received: Buffer.concat(chunks).subarray(0, bytes), etag: response.headers.etag ?? '' }
}

/** The archives that this process has open. */
async function openArchives(): Promise<readonly string[]> {
  const links = (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ''))
  return (await Promise.all(links)).filter((path) => path.startsWith(join(wharf.dataDir, 'artifacts')))
}

describe('the archive of an export', () => {
  let path: string

  beforeAll(async () => {
    path = await recordJob({ archive: ARCHIVE })
  })

  test('comes whole, with its length, its digest and a name', async () => {
    const { status, headers, bytes } = await wharf.root.get(path)

    expect(status).toBe(200)
    expect(sha256(bytes)).toEqual(sha256(ARCHIVE))
    expect(headers).toMatchObject({
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-length': String(ARCHIVE.length),
      'content-type': 'application/gzip',
      etag: etagOf(ARCHIVE),
      'repr-digest': `sha-256=:${sha256(ARCHIVE).toString('base64')}:`,
    })
    expect(headers['content-disposition']).toMatch(/^attachment; filename="shop-\d{4}-\d\d-\d\d\.jsonl\.gz"$/)
    expect(headers['content-encoding']).toBeUndefined()
  })

  test('is told of by HEAD as by GET, whatever range is asked for', async () => {
    const whole = await wharf.root.get(path)
    const head = await wharf.root.request('HEAD', path, { headers: { range: 'bytes=5-9' } })

    expect(head.status).toBe(200)
    expect(head.bytes).toHaveLength(0)
    const described = ['accept-ranges', 'content-length', 'content-type', 'content-disposition', 'etag', 'repr-digest']
    for (const name of described) expect(head.headers[name], name).toBe(whole.headers[name])
    expect(head.headers['content-range']).toBeUndefined()
  })

  test.each([0, 1, 65_535, 65_536, 1_000_003, ARCHIVE.length - 1])(
    'is whole when a download that broke after %i bytes is continued',
    async (count) => {
      const { received, etag } = await brokenDownload(path, count)
      const headers = { range: `bytes=${received.length}-`, 'if-range': etag }
      const rest = await wharf.root.get(path, { headers })

      expect(rest.status).toBe(206)
      expect(rest.headers['content-range']).toBe(`bytes ${count}-${ARCHIVE.length - 1}/${ARCHIVE.length}`)
      expect(rest.headers['repr-digest']).toBe(`sha-256=:${sha256(ARCHIVE).toString('base64')}:`)
      expect(sha256(Buffer.concat([received, rest.bytes]))).toEqual(sha256(ARCHIVE))
    },
  )

  test.runIf(process.platform === 'linux')('is closed when its client goes away, which is no error', async () => {
    const logged = wharf.log().length
    const request = get(wharf.url + path, { headers: { authorization: `Bearer ${ROOT_TOKEN}` } })
    await once(request, 'response')
    expect(await openArchives()).toHaveLength(1)
    request.destroy()
    await expect.poll(openArchives).toEqual([])
    expect(wharf.log().slice(logged)).not.toMatch(/"level":(50|60)/)
  })

  test('is continued by curl', async () => {
    const file = join(folder, 'continued.jsonl.gz')
    await writeFile(file, ARCHIVE.subarray(0, 4_444_444))
    const options = ['-sS', '-f', '-C', '-', '-H', `Authorization: Bearer ${ROOT_TOKEN}`, '-o', file]
    await promisify(execFile)('curl', [...options, wharf.url + path])

    expect(sha256(await readFile(file))).toEqual(sha256(ARCHIVE))
  })

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=10-19', 10, 20],
    ['Bytes=10-19', 10, 20],
    [`bytes=10-${'9'.repeat(30)}`, 10, ARCHIVE.length],
    ['bytes=-7', ARCHIVE.length - 7, ARCHIVE.length],
    [`bytes=-${ARCHIVE.length + 1}`, 0, ARCHIVE.length],
    [`bytes=${ARCHIVE.length - 1}-`, ARCHIVE.length - 1, ARCHIVE.length],
  ])('answers the range %s with that part', async (range, start, end) => {
    const { status, headers, bytes } = await wharf.root.get(path, { headers: { range } })

    expect(status).toBe(206)
    expect(headers['content-range']).toBe(`bytes ${start}-${end - 1}/${ARCHIVE.length}`)
    expect(headers['content-length']).toBe(String(end - start))
    expect(sha256(bytes)).toEqual(sha256(ARCHIVE.subarray(start, end)))
  })

  test.each(['bytes=5-1', 'bytes=-', 'bytes=a-b', 'rows=0-1', 'bytes=0-1,4-5', 'bytes 0-1', ''])(
    'answers %j, which is no single range of bytes, with the whole',
    async (range) => {
      const { status, headers } = await wharf.root.get(path, { headers: { range } })

      expect(status).toBe(200)
      expect(headers['content-length']).toBe(String(ARCHIVE.length))
    },
  )

  test.each([`bytes=${ARCHIVE.length}-`, `bytes=${ARCHIVE.length}-${ARCHIVE.length + 5}`, 'bytes=-0'])(
    'refuses the range %s, saying how many bytes there are',
    async (range) => {
      const { status, headers, json } = await wharf.root.get(path, { headers: { range } })

      expect(status).toBe(416)
      expect(headers['content-range']).toBe(`bytes */${ARCHIVE.length}`)
      expect(json).toMatchObject({ type: 'urn:wharf:error:range-not-satisfiable' })
    },
  )

  test.each(['"0000"', `W/${etagOf(ARCHIVE)}`, 'Sat, 21 Nov 2026 12:00:00 GMT'])(
    'comes whole where If-Range says %s, which is not this archive',
    async (ifRange) => {
      const { status, headers } = await wharf.root.get(path, { headers: { range: 'bytes=5-', 'if-range': ifRange } })

      expect(status).toBe(200)
      expect(headers['content-length']).toBe(String(ARCHIVE.length))
    },
  )

  test('comes whole where another archive has taken its place since the download broke', async () => {
    const replaced = await recordJob({ archive: ARCHIVE })
    const { received, etag } = await brokenDownload(replaced, 100_000)
    const other = randomBytes(300_000)
    const id = replaced.split('/')[2] ?? ''
    const artifact = await wharf.container.control.prisma.artifact.findFirstOrThrow({ where: { jobId: id } })
    await store(artifact.key, other)
    await wharf.container.control.prisma.artifact.update({ where: { id: artifact.id }, data: recordOf(other) })
    const headers = { range: `bytes=${received.length}-`, 'if-range': etag }
    const again = await wharf.root.get(replaced, { headers })

    expect(again.status).toBe(200)
    expect(sha256(again.bytes)).toEqual(sha256(other))
  })

  test.each(['*', etagOf(ARCHIVE), `"other", W/${etagOf(ARCHIVE)}`])(
    'is not sent again to who has %s',
    async (known) => {
      const { status, headers, bytes } = await wharf.root.get(path, { headers: { 'if-none-match': known } })

      expect(status).toBe(304)
      expect(headers.etag).toBe(etagOf(ARCHIVE))
      expect(bytes).toHaveLength(0)
    },
  )
})

describe('what cannot be had', () => {
  test.each([
    ['queued', 'the job is queued'],
    ['running', 'the job is running'],
    ['failed', 'the job failed'],
    ['cancelled', 'the job was cancelled'],
  ] as const)('the archive of a job that is %s', async (status, detail) => {
    const answer = await wharf.root.get(await recordJob({ status }))

    expect(answer.status).toBe(409)
    expect(answer.json).toMatchObject({ detail: expect.stringContaining(detail) })
    expect(answer.headers['retry-after'] !== undefined).toBe(status === 'queued' || status === 'running')
  })

  test.each<[string, Recorded]>([
    ['has expired', { expiresAt: new Date(Date.now() - 1_000) }],
    ['was deleted', { state: 'deleted' }],
    ['the store has let go of', { state: 'removed' }],
  ])('an archive that %s', async (_why, recorded) => {
    const answer = await wharf.root.get(await recordJob(recorded))

    expect(answer.status).toBe(410)
    expect(answer.json).toMatchObject({ type: 'urn:wharf:error:gone' })
  })

  test('an archive whose file is gone from the store', async () => {
    const path = await recordJob()
    const jobId = path.split('/')[2] ?? ''
    const { key } = await wharf.container.control.prisma.artifact.findFirstOrThrow({ where: { jobId } })
    await wharf.container.artifacts.remove(key)

    expect((await wharf.root.get(path)).status).toBe(410)
  })

  test('the archive of a job that makes none, or of one that is not there', async () => {
    expect((await wharf.root.get(await recordJob({ kind: 'import' }))).status).toBe(404)
    expect((await wharf.root.get(`/jobs/${randomUUID()}/file`)).status).toBe(404)
    expect((await wharf.root.get('/jobs/no-uuid/file')).status).toBe(400)
  })

  test('an archive that is shorter in the store than its record says is refused, never sent as if it were whole', async () => {
    const path = await recordJob()
    const jobId = path.split('/')[2] ?? ''
    const { key } = await wharf.container.control.prisma.artifact.findFirstOrThrow({ where: { jobId } })
    await store(key, SMALL.subarray(0, 2_000))

    expect((await wharf.root.get(path)).status).toBe(410)
  })
})

describe('who may have an archive', () => {
  const statusFor = async (client: ApiClient, path: string): Promise<number> =>
    (await client.request('HEAD', path)).status

  test('is a token that may export all of its projects', async () => {
    const [both, one] = [
      [
        { slug: 'shop', system: false },
        { slug: 'blog', system: false },
      ],
      [{ slug: 'shop', system: false }],
    ]
    const exporter = await wharf.member('shop', 'exporter')

    expect(await statusFor(exporter, await recordJob({ projects: one }))).toBe(200)
    expect(await statusFor(exporter, await recordJob({ projects: both }))).toBe(404)
    expect(await statusFor(await wharf.member('shop', 'viewer'), await recordJob({ projects: one }))).toBe(404)
    expect(await statusFor(await wharf.member('blog', 'admin'), await recordJob({ projects: one }))).toBe(404)
    expect(await statusFor(wharf.root.withToken(undefined), await recordJob({ projects: one }))).toBe(401)
  })

  test('needs the right to the system section where it is in the archive', async () => {
    const path = await recordJob({ projects: [{ slug: 'shop', system: true }] })

    expect(await statusFor(await wharf.member('shop', 'exporter'), path)).toBe(403)
    expect(await statusFor(await wharf.member('shop', 'admin'), path)).toBe(200)
  })

  test('is asked again with each request, also of a download that goes on', async () => {
    const path = await recordJob()
    const exporter = await wharf.member('shop', 'exporter')
    const headers = { range: 'bytes=5-' }
    expect((await exporter.get(path, { headers })).status).toBe(206)
    await allowExport(false)

    expect((await exporter.get(path, { headers })).status).toBe(404)
    await allowExport(true)
  })

  test('is nobody once a project was deleted, even if another has its name', async () => {
    await createProject(wharf, 'notes')
    const path = await recordJob({ projects: [{ slug: 'notes', system: false }] })
    expect((await wharf.root.request('HEAD', path)).status).toBe(200)
    expect((await wharf.root.delete('/projects/notes')).status).toBeLessThan(300)
    expect((await wharf.root.request('HEAD', path)).status).not.toBe(200)
    await createProject(wharf, 'notes')

    expect((await wharf.root.request('HEAD', path)).status).toBe(410)
  })
})

test('an archive that is kept in a bucket is downloaded, and continued, as well', async () => {
  const s3 = await startS3Server()
  stubS3Settings(s3)
  const inFolder = wharf
  try {
    wharf = await startWharf({ environment: { WHARF_ARTIFACTS: `s3://${S3_BUCKET}/archives` } })
    await createProject(wharf, 'shop')
    const path = await recordJob({ archive: ARCHIVE })
    const { received, etag } = await brokenDownload(path, 3_000_000)
    const rest = await wharf.root.get(path, { headers: { range: 'bytes=3000000-', 'if-range': etag } })

    expect(rest.status).toBe(206)
    expect(sha256(Buffer.concat([received, rest.bytes]))).toEqual(sha256(ARCHIVE))
    expect((await wharf.root.get(await recordJob({ state: 'removed' }))).status).toBe(410)
  } finally {
    await wharf.close()
    wharf = inFolder
    vi.unstubAllEnvs()
    await s3.stop()
  }
})
