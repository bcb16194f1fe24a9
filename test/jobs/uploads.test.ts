import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { Upload as TusUpload } from 'tus-js-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readFiles } from '../../src/jobs/job-artifacts.ts'
import { removeArtifacts } from '../../src/jobs/sweep-artifacts.ts'
import { partsOf } from '../../src/jobs/uploads/upload.ts'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { type ApiAnswer, type ApiClient, createApiClient } from '../support/http/api-client.ts'
import { jobOf, startApiProcess, untilEnded } from '../support/jobs/jobs.ts'
import { S3_BUCKET, type S3TestServer, startS3Server, stubS3Settings } from '../support/servers/s3-server.ts'
import { startTcpRelay } from '../support/servers/tcp-relay.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

const MB = 1024 * 1024

const uploadSchema = z.object({ id: z.string(), length: z.number(), offset: z.number(), expiresAt: z.string() })

async function begin(client: ApiClient, length: number): Promise<string> {
  const begun = await client.post('/uploads', { headers: { 'upload-length': String(length) } })
  expect(begun.status, begun.text).toBe(201)
  return begun.headers.location ?? ''
}

const sendPart = (client: ApiClient, path: string, offset: number, body: string | Buffer): Promise<ApiAnswer> =>
  client.patch(path, {
    headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
    body,
  })

const offsetOf = async (client: ApiClient, path: string): Promise<number> =>
  uploadSchema.parse((await client.get(path)).json).offset

async function uploadWhole(client: ApiClient, archive: string | Buffer): Promise<string> {
  const bytes = Buffer.from(archive)
  const path = await begin(client, bytes.length)
  expect((await sendPart(client, path, 0, bytes)).status).toBe(204)
  return path
}

const idOf = (path: string): string => path.split('/').at(-1) ?? ''

/** SHA-256 of what is there of an upload. */
async function hashOfParts({ container }: TestWharf, path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of readFiles(container.artifacts, await partsOf(container.control.prisma, idOf(path)))) {
    hash.update(chunk)
  }
  return hash.digest('hex')
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe.each(['a folder', 'S3'])('with the store in %s', (store) => {
  let wharf: TestWharf
  let s3: S3TestServer | undefined
  let archive: string

  beforeAll(async () => {
    if (store === 'S3') {
      s3 = await startS3Server()
      stubS3Settings(s3)
    }
    wharf = await startWharf({ worker: true, ...(s3 && { environment: { WHARF_ARTIFACTS: `s3://${S3_BUCKET}/up` } }) })
    await createProject(wharf, 'source', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1), (2)')
    await createProject(wharf, 'target', 'CREATE TABLE item (id int PRIMARY KEY)')
    archive = await exportOf(wharf.root, 'source')
  })

  afterAll(async () => {
    await wharf?.close()
    await s3?.stop()
  })

  /** Waits until the service has some of what is sent to an upload. */
  const partBegun = (path: string): Promise<void> =>
    eventually(() =>
      wharf.database.query(`SELECT state FROM control.artifact WHERE upload_id = '${idOf(path)}'`),
    ).toEqual([{ state: 'writing' }])

  const isImported = async (slug: string): Promise<boolean> =>
    comparableLines(await exportOf(wharf.root, slug)).join() === comparableLines(archive).join()

  test('an archive that comes in several requests is examined and imported, and is gone then', async () => {
    const bytes = gzipSync(archive)
    const path = await begin(wharf.root, bytes.length)
    expect(await sendPart(wharf.root, path, 0, bytes.subarray(0, 100))).toMatchObject({
      status: 204,
      headers: { 'upload-offset': '100', 'tus-resumable': '1.0.0' },
    })
    expect(await sendPart(wharf.root, path, 100, bytes.subarray(100))).toMatchObject({ status: 204 })
    const examined = await wharf.root.post(`${path}/import?targetSlug=target&dryRun=true`)
    expect(examined).toMatchObject({ status: 200, json: { dryRun: true } })
    expect(await isImported('target')).toBe(false)
    const imported = await wharf.root.post(`${path}/import?targetSlug=target`)
    expect(imported).toMatchObject({ status: 200, json: { dryRun: false, projects: [{ targetSlug: 'target' }] } })
    expect(await isImported('target')).toBe(true)
    expect((await wharf.root.get(path)).status).toBe(404)
  })

  test('a job takes the upload, and the same request again is answered with the same job', async () => {
    await createProject(wharf, 'by-job', 'CREATE TABLE item (id int PRIMARY KEY)')
    const path = await uploadWhole(wharf.root, archive)
    const ask = () =>
      wharf.root.post(`${path}/import?targetSlug=by-job`, {
        headers: { prefer: 'respond-async', 'idempotency-key': `of ${store}`.replaceAll(' ', '-') },
      })
    const job = jobOf(await ask())
    expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded' })
    expect(await isImported('by-job')).toBe(true)
    expect(jobOf(await ask()).id).toBe(job.id)
    expect((await wharf.root.get(path)).status).toBe(404)
  })

  test('what had come is kept where a connection is lost, and the rest follows', async () => {
    const bytes = randomBytes(3 * MB)
    const path = await begin(wharf.root, bytes.length)
    const relay = await startTcpRelay(wharf.url)
    async function* breaking(): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, 2 * MB)
      await partBegun(path)
      await relay.cut()
      throw new Error('the connection was cut')
    }
    await expect(
      createApiClient(new URL(relay.url).origin, ROOT_TOKEN).patch(path, {
        headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
        body: Readable.from(breaking()),
      }),
    ).rejects.toThrow()
    const offset = await offsetOf(wharf.root, path)
    expect(offset).toBeGreaterThan(0)
    expect((await sendPart(wharf.root, path, offset, bytes.subarray(offset))).status).toBe(204)
    expect(await hashOfParts(wharf, path)).toBe(hashOf(bytes))
    expect((await wharf.root.delete(path)).status).toBe(204)
  })

  test('what has been sent counts, though the service has not read it yet when it is asked', async () => {
    const bytes = randomBytes(8 * MB)
    const path = await begin(wharf.root, bytes.length + 1)
    const { hostname, port } = new URL(wharf.url)
    const connection = connect(Number(port), hostname).on('error', () => undefined)
    const head = ['host: wharf', `authorization: Bearer ${ROOT_TOKEN}`, `content-length: ${bytes.length + 1}`]
    const type = ['content-type: application/offset+octet-stream', 'upload-offset: 0']
    connection.write(`PATCH ${path} HTTP/1.1\r\n${[...head, ...type].join('\r\n')}\r\n\r\n`)
    await new Promise((resolve) => connection.write(bytes, resolve))
    expect(await offsetOf(wharf.root, path)).toBe(bytes.length)
    connection.destroy()
    expect((await wharf.root.delete(path)).status).toBe(204)
  })

  test('a connection that is lost without a word holds nobody up who goes on over another', async () => {
    const bytes = randomBytes(2 * MB)
    const path = await begin(wharf.root, bytes.length)
    const relay = await startTcpRelay(wharf.url)
    let silenced = (): void => undefined
    const untilSilenced = new Promise<void>((resolve) => {
      silenced = resolve
    })
    async function* stalling(): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, MB)
      await untilSilenced
      throw new Error('the client gives up')
    }
    const stalled = createApiClient(new URL(relay.url).origin, ROOT_TOKEN)
      .patch(path, {
        headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
        body: Readable.from(stalling()),
      })
      .catch(() => undefined)
    await partBegun(path)
    relay.silence()
    const offset = await offsetOf(wharf.root, path)
    expect(offset).toBeGreaterThan(0)
    expect((await sendPart(wharf.root, path, offset, bytes.subarray(offset))).status).toBe(204)
    expect(await hashOfParts(wharf, path)).toBe(hashOf(bytes))
    silenced()
    await relay.cut()
    await stalled
    expect((await wharf.root.delete(path)).status).toBe(204)
  })

  test('nothing is left of uploads that were removed, or of which nothing was heard for long', async () => {
    const removed = await uploadWhole(wharf.root, archive)
    const forgotten = await uploadWhole(wharf.root, archive)
    expect((await wharf.root.delete(removed)).status).toBe(204)
    await wharf.database.query(
      `UPDATE control.upload SET expires_at = now() - interval '1 second' WHERE id = '${idOf(forgotten)}'`,
    )
    await removeArtifacts(wharf.container)
    for (const path of [removed, forgotten]) expect((await wharf.root.get(path)).status).toBe(404)
    await nothingIsLeft(wharf)
  })
})

describe('of an upload', () => {
  let wharf: TestWharf

  beforeAll(async () => {
    wharf = await startWharf()
    await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY)')
  })

  afterAll(() => wharf?.close())

  test('an unmodified tus client sends one, whatever breaks in the middle', async () => {
    const bytes = randomBytes(5 * MB)
    let requests = 0
    const relay = await startTcpRelay(wharf.url, (breakOff) => {
      let asked = 0
      requests += 1
      const isDoomed = requests <= 4
      return {
        asks(chunk) {
          asked += chunk.length
          if (isDoomed && asked > MB) setImmediate(breakOff)
          return true
        },
        answers: () => true,
      }
    })
    const path = await new Promise<string>((resolve, reject) => {
      const upload = new TusUpload(Readable.from([bytes], { objectMode: false }), {
        endpoint: new URL('/uploads', relay.url).href,
        uploadSize: bytes.length,
        chunkSize: 6 * MB,
        headers: { authorization: `Bearer ${ROOT_TOKEN}` },
        retryDelays: [10, 10, 10, 10, 10, 10, 10, 10],
        onError: reject,
        onSuccess: () => resolve(new URL(upload.url ?? '').pathname),
      })
      upload.start()
    })
    expect(requests).toBeGreaterThan(1)
    expect(await offsetOf(wharf.root, path)).toBe(bytes.length)
    expect(await hashOfParts(wharf, path)).toBe(hashOf(bytes))
    await relay.cut()
  })

  test('what a process that is killed had not kept yet is sent again', async () => {
    const bytes = randomBytes(2 * MB)
    const path = await begin(wharf.root, bytes.length)
    const api = await startApiProcess(wharf)
    async function* unfinished(): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, MB)
      await sleep(30_000, undefined, { ref: false })
    }
    const sending = api.root
      .patch(path, {
        headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
        body: Readable.from(unfinished()),
      })
      .catch(() => undefined)
    const states = () => wharf.database.query(`SELECT state FROM control.artifact WHERE upload_id = '${idOf(path)}'`)
    await eventually(states).toEqual([{ state: 'writing' }])
    await api.kill('SIGKILL')
    await sending
    expect((await sendPart(wharf.root, path, 0, bytes)).status).toBe(204)
    expect(await hashOfParts(wharf, path)).toBe(hashOf(bytes))
    expect(await states()).toContainEqual({ state: 'deleted' })
  })

  test('bytes that do not follow those that are there are refused, and the answer says where to go on', async () => {
    const path = await begin(wharf.root, 10)
    expect((await sendPart(wharf.root, path, 0, 'abc')).status).toBe(204)
    for (const offset of [0, 2, 4]) {
      expect(await sendPart(wharf.root, path, offset, 'def')).toMatchObject({
        status: 409,
        json: { detail: expect.stringContaining('go on at 3') },
      })
    }
    expect(await offsetOf(wharf.root, path)).toBe(3)
  })

  test('two who send the same bytes at once cannot put them in twice', async () => {
    const bytes = randomBytes(MB)
    const path = await begin(wharf.root, bytes.length)
    const answers = await Promise.all([0, 1].map(() => sendPart(wharf.root, path, 0, bytes)))
    for (const { status } of answers) expect([204, 409]).toContain(status)
    const offset = await offsetOf(wharf.root, path)
    expect((await sendPart(wharf.root, path, offset, bytes.subarray(offset))).status).toBe(204)
    expect(await hashOfParts(wharf, path)).toBe(hashOf(bytes))
  })

  test('a client of another version of the protocol is told which one there is, and sends nothing', async () => {
    const path = await begin(wharf.root, 3)
    const headers = { 'tus-resumable': '2.0.0', 'upload-length': '3', 'upload-offset': '0' }
    for (const answer of [
      await wharf.root.post('/uploads', { headers }),
      await wharf.root.get(path, { headers }),
      await wharf.root.patch(path, {
        headers: { ...headers, 'content-type': 'application/offset+octet-stream' },
        body: 'abc',
      }),
      await wharf.root.delete(path, { headers }),
    ]) {
      expect(answer).toMatchObject({
        status: 412,
        headers: { 'tus-version': '1.0.0', 'tus-resumable': '1.0.0' },
        json: { type: 'urn:wharf:error:unsupported-version' },
      })
    }
    expect(await offsetOf(wharf.root, path)).toBe(0)
  })

  test('clients that ask are told the version and the extensions of the protocol, and so are those that are refused', async () => {
    const path = await begin(wharf.root, 3)
    for (const asked of ['/uploads', path]) {
      expect(await wharf.root.request('OPTIONS', asked)).toMatchObject({
        status: 204,
        headers: { 'tus-version': '1.0.0', 'tus-extension': 'creation,expiration,termination' },
      })
    }
    expect(await sendPart(wharf.root, path, 2, 'c')).toMatchObject({
      status: 409,
      headers: { 'tus-resumable': '1.0.0' },
    })
  })

  test('more bytes than were announced are refused', async () => {
    const path = await begin(wharf.root, 3)
    expect((await sendPart(wharf.root, path, 0, 'abcd')).status).toBe(413)
    expect(await offsetOf(wharf.root, path)).toBe(0)
  })

  test('nothing is imported before it is whole', async () => {
    const path = await begin(wharf.root, 100)
    expect((await sendPart(wharf.root, path, 0, 'abc')).status).toBe(204)
    expect(await wharf.root.post(`${path}/import`)).toMatchObject({
      status: 409,
      json: { detail: 'the upload has 3 of its 100 bytes; send the rest first' },
    })
  })

  test('other tokens know nothing, and may import only what they may import', async () => {
    const { client: importer } = await createToken(wharf, 'admin', ['shop'])
    const { client: other } = await createToken(wharf, 'admin', ['shop'])
    await createProject(wharf, 'secret', 'CREATE TABLE item (id int PRIMARY KEY)')
    const path = await uploadWhole(importer, await exportOf(wharf.root, 'secret'))
    for (const answer of [
      await other.get(path),
      await sendPart(other, path, 0, 'abc'),
      await other.delete(path),
      await other.post(`${path}/import?targetSlug=shop`),
      await importer.post(`${path}/import`),
    ]) {
      expect(answer.status, answer.text).toBe(404)
    }
    expect((await importer.post(`${path}/import?targetSlug=shop`)).status).toBe(200)
  })

  test('a token may have a hundred at once', async () => {
    const { client } = await createToken(wharf, 'admin', ['shop'])
    const paths = await Promise.all(Array.from({ length: 100 }, () => begin(client, 1)))
    expect((await client.post('/uploads', { headers: { 'upload-length': '1' } })).status).toBe(409)
    expect((await client.delete(paths[0] ?? '')).status).toBe(204)
    await begin(client, 1)
  })

  test('little is sent twice, however often the connection is cut', { timeout: 600_000 }, async () => {
    const size = (isThorough ? 1_024 : 40) * MB
    const cuts = isThorough ? 20 : 5
    const path = await begin(wharf.root, size)
    let sent = 0
    for (let cut = 0; cut <= cuts; cut += 1) {
      const offset = await offsetOf(wharf.root, path)
      const end = Math.round((size / (cuts + 1)) * (cut + 1))
      async function* untilCut(): AsyncGenerator<Buffer> {
        for (let at = offset; at < end; at += 64 * 1024) {
          const chunk = Buffer.alloc(Math.min(64 * 1024, end - at), cut + 1)
          sent += chunk.length
          yield chunk
          // As most networks: no faster than the server reads, so that little is on its way when it breaks.
          await sleep(1)
        }
        if (cut < cuts) throw new Error('the connection was cut')
      }
      const answer = wharf.root.patch(path, {
        headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
        body: Readable.from(untilCut()),
      })
      if (cut < cuts) await expect(answer).rejects.toThrow('the connection was cut')
      else expect((await answer).status).toBe(204)
    }
    expect(await offsetOf(wharf.root, path)).toBe(size)
    // What stands in buffers when a connection breaks is the same for uploads of all sizes.
    expect((sent - size) / cuts).toBeLessThan(MB)
  })
})
