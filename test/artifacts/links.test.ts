import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createArtifactStore } from '../../src/artifacts/create-artifact-store.ts'
import { createClient } from '../../src/client/index.ts'
import { runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { askExport, jobOf } from '../support/jobs/jobs.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { S3_BUCKET, type S3TestServer, startS3Server, stubS3Settings } from '../support/servers/s3-server.ts'
import { startTcpRelay, type TcpRelay } from '../support/servers/tcp-relay.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const MB = 1024 * 1024
const PROJECTS = [{ slug: 'shop', system: false }]

let wharf: TestWharf
let s3: S3TestServer
/** The storage as clients reach it. */
let relay: TcpRelay
/** What clients have sent to the storage, and how many bytes they got; how many connections are still to be broken. */
const seen = { asked: '', answered: 0, breaks: 0 }
/** The path of an archive of some 3 MB, and the bytes that it has. */
let path: string
let archive: Buffer

beforeAll(async () => {
  s3 = await startS3Server()
  stubS3Settings(s3)
  relay = await startTcpRelay(s3.url, (breakOff) => {
    let bytes = 0
    return {
      asks(chunk) {
        seen.asked += chunk.toString('latin1')
        return true
      },
      answers(chunk) {
        bytes += chunk.length
        const isBroken = bytes > MB && seen.breaks > 0
        if (isBroken) {
          seen.breaks -= 1
          breakOff()
        } else seen.answered += chunk.length
        return !isBroken
      },
    }
  })
  const environment = { WHARF_ARTIFACTS: `s3://${S3_BUCKET}/archives`, WHARF_ARTIFACTS_PUBLIC_URL: relay.url }
  wharf = await startWharf({ worker: true, environment })
  const songs = Array.from({ length: 3_000 }, (_, id) => `(${id}, '${randomBytes(900).toString('hex')}')`)
  await createProject(
    wharf,
    'shop',
    `CREATE TABLE song (id int PRIMARY KEY, name text); INSERT INTO song VALUES ${songs}`,
  )
  path = `/jobs/${await exported()}/file`
  archive = (await wharf.root.get(path, { headers: { prefer: 'no-redirect' } })).bytes
})

afterAll(async () => {
  await wharf?.close()
  await relay?.cut()
  vi.unstubAllEnvs()
  await s3?.stop()
})

beforeEach(() => void Object.assign(seen, { asked: '', answered: 0, breaks: 0 }))

/** Has the service make an archive. @returns the id of its job. */
async function exported(): Promise<string> {
  let job = jobOf(await askExport(wharf.root, PROJECTS))
  while (job.status === 'queued' || job.status === 'running') {
    job = jobOf(await wharf.root.get(`/jobs/${job.id}`, { headers: { prefer: 'wait=10' } }))
  }
  expect(job.status).toBe('succeeded')
  return job.id
}

const linkOf = async (headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const answer = await wharf.root.get(path, { headers })
  expect(answer.status, answer.text).toBe(307)
  return answer.headers.location ?? ''
}

const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer())

async function collected(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const digestOf = (bytes: Uint8Array, encoding: 'hex' | 'base64'): string =>
  createHash('sha256').update(bytes).digest(encoding)

const keyOf = async (jobId: string): Promise<string> =>
  (await wharf.container.control.prisma.artifact.findFirstOrThrow({ where: { jobId } })).key

test('a download is redirected to the storage, which sends the archive as Wharf would', async () => {
  const { status, headers, bytes } = await wharf.root.get(path)

  expect(status).toBe(307)
  expect(bytes).toHaveLength(0)
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    etag: `"${digestOf(archive, 'hex')}"`,
    'repr-digest': `sha-256=:${digestOf(archive, 'base64')}:`,
  })
  const link = headers.location ?? ''
  expect(new URL(link).origin).toBe(new URL(relay.url).origin)
  expect(Number(new URL(link).searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(300)
  const answer = await fetch(link)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'application/gzip',
    'content-disposition': expect.stringMatching(/^attachment; filename="shop-\d{4}-\d\d-\d\d\.jsonl\.gz"$/),
    'content-length': String(archive.length),
  })
  expect(answer.headers.has('content-encoding')).toBe(false)
  expect((await bytesOf(answer)).equals(archive)).toBe(true)
})

test('the storage sends a part of it where that is asked for', async () => {
  const range = 'bytes=1000-1999'
  const etag = `"${digestOf(archive, 'hex')}"`
  const answer = await fetch(await linkOf({ range, 'if-range': etag }), { headers: { range } })

  expect(answer.status).toBe(206)
  expect(answer.headers.get('content-range')).toBe(`bytes 1000-1999/${archive.length}`)
  expect((await bytesOf(answer)).equals(archive.subarray(1000, 2000))).toBe(true)
})

test('Wharf itself answers HEAD, who wants no redirect, who has the archive, and who asks for a part of another one', async () => {
  const head = await wharf.root.request('HEAD', path)
  const direct = await wharf.root.get(path, { headers: { prefer: 'no-redirect', range: 'bytes=0-9' } })
  const known = await wharf.root.get(path, { headers: { 'if-none-match': head.headers.etag ?? '' } })
  const other = await wharf.root.get(path, { headers: { range: 'bytes=5-', 'if-range': '"other"' } })
  const beyond = await wharf.root.get(path, { headers: { range: `bytes=${archive.length}-` } })

  expect([head, direct, known, other, beyond].map(({ status }) => status)).toEqual([200, 206, 304, 200, 416])
  expect(head.headers['content-length']).toBe(String(archive.length))
  expect(other.bytes.equals(archive)).toBe(true)
  expect(seen.asked).toBe('')
})

test('a link is for one archive, and made only for who may have it', async () => {
  const link = new URL(await linkOf())
  const other = new URL(link)
  other.pathname = link.pathname.replace(/[^/]+$/, await keyOf(await exported()))

  const longer = new URL(link)
  longer.searchParams.set('X-Amz-Expires', '86400')

  const statuses = await Promise.all([link, other, longer].map(async (url) => (await fetch(url)).status))
  expect(statuses).toEqual([200, 403, 403])
  const viewer = await wharf.member('shop', 'viewer')
  const refused = await viewer.get(path)
  expect(refused.status).toBe(404)
  expect(refused.headers.location).toBeUndefined()
})

test('a link is in no log', async () => {
  const link = new URL(await linkOf())

  expect(wharf.log()).toContain(path)
  expect(wharf.log()).not.toContain(link.searchParams.get('X-Amz-Signature'))
  expect(wharf.log()).not.toContain('X-Amz-')
})

test('an archive that is gone from the storage, or shorter there, gets no link', async () => {
  const [gone, shorter] = [await exported(), await exported()]
  await wharf.container.artifacts.remove(await keyOf(gone))
  const writer = await wharf.container.artifacts.create(await keyOf(shorter))
  await writer.write(archive.subarray(0, 2_000))
  await writer.commit()

  expect((await wharf.root.get(`/jobs/${gone}/file`)).status).toBe(410)
  expect((await wharf.root.get(`/jobs/${shorter}/file`)).status).toBe(410)
  expect((await wharf.root.get(`/jobs/${shorter}`)).json).toMatchObject({ archiveDamagedAt: expect.any(String) })
})

test('curl follows to the storage, and goes on there', async () => {
  const file = join(await temporaryFolder(), 'continued.jsonl.gz')
  await writeFile(file, archive.subarray(0, MB))
  const options = ['-sS', '-f', '-L', '-C', '-', '-H', `Authorization: Bearer ${ROOT_TOKEN}`, '-o', file]
  await promisify(execFile)('curl', [...options, wharf.url + path])

  expect((await readFile(file)).equals(archive)).toBe(true)
  expect(seen.answered).toBeLessThan(archive.length - MB / 2)
})

test('the client for scripts downloads from the storage, without its token, and goes on where the connection breaks', async () => {
  seen.breaks = 2
  const id = path.split('/')[2] ?? ''
  const got = await collected(await createClient({ url: wharf.url, token: ROOT_TOKEN }).download(id))

  expect(got.equals(archive)).toBe(true)
  expect(seen.breaks).toBe(0)
  expect(seen.answered).toBeLessThan(1.1 * archive.length)
  expect(seen.asked.match(/^range: bytes=\d+-/gim)).toHaveLength(2)
  expect(seen.asked).not.toMatch(/authorization|if-range/i)
})

test('data:export --async downloads from the storage, without its token, and goes on where the connection breaks', async () => {
  seen.breaks = 2
  const file = join(await temporaryFolder(), 'shop.jsonl.gz')
  const { code, stderr } = await runCommand(['data:export', dsnOf(wharf, 'shop'), '--async', '--output', file])

  expect(code, stderr).toBe(0)
  const { bytes } = await wharf.root.get(`/jobs/${await newestJob()}/file`, { headers: { prefer: 'no-redirect' } })
  expect((await readFile(file)).equals(bytes)).toBe(true)
  expect(seen.breaks).toBe(0)
  expect(seen.answered).toBeLessThan(1.1 * bytes.length)
  expect(seen.asked).not.toMatch(/authorization|if-range/i)
  expect(stderr).not.toContain('X-Amz-')
})

test('a storage that refuses is named, without the link', async () => {
  s3.fail('GetObject', 403)
  try {
    const refused = `the storage of archives at ${new URL(relay.url).origin} answered with the status 403`
    const { code, stderr } = await runCommand(['data:export', dsnOf(wharf, 'shop'), '--async', '--output', '-'])
    expect(code).not.toBe(0)
    expect(stderr).toContain(refused)
    expect(stderr).not.toContain('X-Amz-')
    const download = createClient({ url: wharf.url, token: ROOT_TOKEN }).download(await newestJob())
    await expect(download.then(collected)).rejects.toThrow(refused)
  } finally {
    s3.failNone()
  }
})

test('a public URL of a folder is a mistake in the configuration', async () => {
  await expect(createArtifactStore(await temporaryFolder(), 'https://s3.example.org')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    faults: [{ detail: expect.stringContaining('WHARF_ARTIFACTS_PUBLIC_URL') }],
  })
})

async function newestJob(): Promise<string> {
  const [job] = await wharf.container.control.prisma.job.findMany({ orderBy: { createdAt: 'desc' }, take: 1 })
  return job?.id ?? ''
}
