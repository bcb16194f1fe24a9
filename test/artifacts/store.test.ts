import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { HeadObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ArtifactStore } from '../../src/artifacts/artifact-store.ts'
import { createArtifactStore } from '../../src/artifacts/create-artifact-store.ts'
import { partBytes, s3Upload } from '../../src/artifacts/s3-upload.ts'
import type { ByteRange } from '../../src/lib/byte-range.ts'
import { S3_BUCKET, type S3TestServer, startS3Server, stubS3Settings } from '../support/servers/s3-server.ts'
import { keep } from './keep.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const read = (store: ArtifactStore, key: string, range?: ByteRange): Promise<Buffer> => buffer(store.read(key, range))

const MEBIBYTE = 1024 * 1024
const GIBIBYTE = 1024 * MEBIBYTE
/** Three parts of a multipart upload, the last not full. */
const LARGE = randomBytes(20 * MEBIBYTE + 17)

/** What a store has beside its contract, for the tests to look at. */
interface StoreLocation {
  readonly store: ArtifactStore
  /** How much of unfinished artifacts is there. */
  readonly leftovers: () => Promise<number>
  readonly stop: () => Promise<void>
}

async function folderLocation(): Promise<StoreLocation> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-artifacts-'))
  const store = await createArtifactStore(join(folder, 'artifacts'))
  const names = () => readdir(join(folder, 'artifacts'))
  return {
    store,
    leftovers: async () => (await names()).filter((name) => name.endsWith('.part')).length,
    async stop() {
      await store.close()
      await rm(folder, { recursive: true })
    },
  }
}

let s3: S3TestServer

beforeAll(async () => {
  s3 = await startS3Server()
  stubS3Settings(s3)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await s3.stop()
})

async function s3Location(): Promise<StoreLocation> {
  const store = await createArtifactStore(`s3://${S3_BUCKET}/wharf/live`)
  return { store, leftovers: s3.openUploads, stop: () => store.close() }
}

describe.each([
  ['a folder', folderLocation],
  ['an S3 bucket', s3Location],
])('%s', (_name, openLocation) => {
  let location: StoreLocation
  let store: ArtifactStore

  beforeAll(async () => {
    location = await openLocation()
    store = location.store
  })
  afterAll(() => location.stop())

  test('lists what is whole by how its key begins', async () => {
    const key = `backup-20260131T120000000Z-${randomUUID()}`
    const others = [randomUUID(), `backup-20260131T120000001Z-${randomUUID()}`]
    for (const whole of [key, others[0] ?? '']) await keep(store, [Buffer.from('x')], whole)
    const open = await store.create(others[1] ?? '')
    await open.write(Buffer.from('not whole'))
    expect(await store.list('backup-')).toEqual([key])
    await open.discard()
  })

  test('gives back what was committed, and its size and digest', async () => {
    const key = randomUUID()
    const writer = await store.create(key)
    await writer.write(Buffer.from('one '))
    await writer.write(new Uint8Array())
    await writer.write(new TextEncoder().encode('two'))

    expect(await writer.commit()).toEqual({ bytes: 7, sha256: sha256(Buffer.from('one two')) })
    expect((await read(store, key)).toString()).toBe('one two')
    expect(await store.size(key)).toBe(7)
  })

  test('gives back a large artifact that came in chunks of odd sizes, and leaves nothing else', async () => {
    const key = randomUUID()
    const writer = await store.create(key)
    for (let start = 0; start < LARGE.length; start += 777_777)
      await writer.write(LARGE.subarray(start, start + 777_777))

    expect(await writer.commit()).toEqual({ bytes: LARGE.length, sha256: sha256(LARGE) })
    expect(sha256(await read(store, key))).toBe(sha256(LARGE))
    expect(await location.leftovers()).toBe(0)
  })

  test('keeps an artifact of no bytes', async () => {
    const key = randomUUID()
    const writer = await store.create(key)

    expect(await writer.commit()).toEqual({ bytes: 0, sha256: sha256(Buffer.alloc(0)) })
    expect(await store.size(key)).toBe(0)
    expect(await read(store, key)).toEqual(Buffer.alloc(0))
  })

  test('shows nothing before the commit', async () => {
    const key = randomUUID()
    const writer = await store.create(key)
    await writer.write(LARGE)

    expect(await store.size(key)).toBeUndefined()
    await expect(read(store, key)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await writer.discard()
  })

  test.each<[string, ByteRange, string]>([
    ['its first bytes', { start: 0, end: 2 }, '01'],
    ['a part in the middle', { start: 3, end: 6 }, '345'],
    ['its last byte', { start: 9, end: 10 }, '9'],
    ['all of it', { start: 0, end: 10 }, '0123456789'],
    ['no byte', { start: 4, end: 4 }, ''],
    ['more than there is', { start: 8, end: 99 }, '89'],
    ['what begins at its end', { start: 10, end: 11 }, ''],
  ])('reads %s', async (_what, range, expected) => {
    const key = await keep(store, Buffer.from('0123456789'))

    expect((await read(store, key, range)).toString()).toBe(expected)
  })

  test('lets a reader stop in the middle', async () => {
    const key = await keep(store, LARGE)
    let taken = 0
    for await (const chunk of store.read(key)) {
      taken += chunk.length
      break
    }

    expect(taken).toBeGreaterThan(0)
    expect(taken).toBeLessThan(LARGE.length)
    await store.remove(key)
    expect(await store.size(key)).toBeUndefined()
  })

  test('frees what a discarded writer had written', async () => {
    const key = randomUUID()
    const writer = await store.create(key)
    await writer.write(LARGE)
    expect(await location.leftovers()).toBe(1)
    await writer.discard()

    expect(await location.leftovers()).toBe(0)
    expect(await store.size(key)).toBeUndefined()
  })

  test('lets a commit stand when the writer is discarded after it', async () => {
    const key = randomUUID()
    const writer = await store.create(key)
    await writer.write(Buffer.from('kept'))
    await writer.commit()
    await writer.discard()

    expect((await read(store, key)).toString()).toBe('kept')
  })

  test('refuses to go on with a writer that has ended', async () => {
    const writer = await store.create(randomUUID())
    await writer.discard()

    await expect(writer.write(Buffer.from('x'))).rejects.toThrow('committed or discarded')
    await expect(writer.commit()).rejects.toThrow('committed or discarded')
  })

  test('replaces an artifact whole, and keeps the old one until then', async () => {
    const key = await keep(store, Buffer.from('the old one'))
    const writer = await store.create(key)
    await writer.write(LARGE)
    expect((await read(store, key)).toString()).toBe('the old one')
    await writer.commit()

    expect(sha256(await read(store, key))).toBe(sha256(LARGE))
  })

  test('removes an artifact, and does not mind one that is not there', async () => {
    const key = await keep(store, Buffer.from('gone'))
    await store.remove(key)
    await store.remove(key)

    expect(await store.size(key)).toBeUndefined()
    await expect(read(store, key)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(read(store, key, { start: 0, end: 0 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('removes with an artifact what a writer of it has left unfinished, and nothing of others', async () => {
    const [key, other] = [randomUUID(), randomUUID()]
    const writers = await Promise.all([store.create(key), store.create(other)])
    for (const writer of writers) await writer.write(LARGE)
    await store.remove(key)

    expect(await location.leftovers()).toBe(1)
    await expect(writers[0]?.commit()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(await store.size(key)).toBeUndefined()
    await writers[1]?.discard()
  })

  test.each(['', '..', '../other', 'a/b', randomUUID().toUpperCase(), `${randomUUID()}\n`, `${randomUUID()}.part`])(
    'refuses the key %j',
    async (key) => {
      const refused = { code: 'INVALID_REQUEST' }
      await expect(store.create(key)).rejects.toMatchObject(refused)
      await expect(async () => store.size(key)).rejects.toMatchObject(refused)
      await expect(async () => store.remove(key)).rejects.toMatchObject(refused)
      await expect(async () => read(store, key)).rejects.toMatchObject(refused)
    },
  )

  test('sweeps what writers that are gone have left, and nothing else', async () => {
    const key = await keep(store, Buffer.from('finished'))
    const writers = await Promise.all(Array.from({ length: 5 }, () => store.create(randomUUID())))
    for (const writer of writers) await writer.write(LARGE.subarray(0, 17 * MEBIBYTE))
    expect(await location.leftovers()).toBe(5)

    expect(await store.sweep({ olderThan: new Date(Date.now() - 3_600_000), isUnderWay: async () => false })).toBe(0)
    expect(await location.leftovers()).toBe(5)
    expect(await store.sweep({ olderThan: new Date(Date.now() + 3_600_000), isUnderWay: async () => false })).toBe(5)
    expect(await location.leftovers()).toBe(0)
    expect((await read(store, key)).toString()).toBe('finished')
    await Promise.all(writers.map((writer) => writer.discard()))
  })
})

test.each([
  ['50 GiB where a server takes 1,000 parts', 1_000, 50 * GIBIBYTE],
  ['5 TiB where it takes 10,000, as Amazon does', 10_000, 5 * 1024 * GIBIBYTE],
])('the parts of an upload have room for %s, and none is larger than S3 allows', (_, parts, room) => {
  const sizes = Array.from({ length: parts }, (_each, index) => partBytes(index + 1))
  expect(sizes.reduce((sum, bytes) => sum + bytes)).toBeGreaterThan(room)
  expect(Math.max(...sizes)).toBeLessThan(5 * GIBIBYTE)
})

test('an archive of 50 GiB fits into the 1,000 parts that some servers take, all of it a 4096th of its size', async () => {
  const limited = await startS3Server({ maxParts: 1_000 })
  onTestFinished(limited.stop)
  const client = new S3Client({ endpoint: limited.url, forcePathStyle: true })
  onTestFinished(() => client.destroy())
  const object = { Bucket: S3_BUCKET, Key: 'large' }
  const upload = s3Upload(client, object, (number) => partBytes(number) / 4_096)
  const chunk = Buffer.alloc((50 * GIBIBYTE) / 4_096 / 100, 'chunk')
  for (let sent = 0; sent < 100; sent += 1) await upload.append(chunk)
  await upload.publish()
  const { ContentLength } = await client.send(new HeadObjectCommand(object))
  expect(ContentLength).toBe(100 * chunk.length)
})

test('files are for their owner alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-artifacts-'))
  const store = await createArtifactStore(join(folder, 'new', 'artifacts'))
  const key = await keep(store, Buffer.from('secret'))

  expect(((await stat(join(folder, 'new', 'artifacts'))).mode & 0o777).toString(8)).toBe('700')
  expect(((await stat(join(folder, 'new', 'artifacts', key))).mode & 0o777).toString(8)).toBe('600')
  await rm(folder, { recursive: true })
})

test.each([
  's3://',
  's3://Not_A_Bucket/x',
  's3://bucket/../x',
  's3://bucket//x',
  'https://example.org/x',
  'gs://bucket',
  's3:/bucket',
  's3//bucket/x',
])('refuses the location %s, by the name of its variable', async (location) => {
  await expect(createArtifactStore(location)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    faults: [{ detail: expect.stringContaining('WHARF_ARTIFACTS') }],
  })
})
