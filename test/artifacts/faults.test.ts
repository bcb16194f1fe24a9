import { execFile } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import * as nodeFiles from 'node:fs/promises'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { CreateMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ArtifactStore } from '../../src/artifacts/artifact-store.ts'
import { createArtifactStore } from '../../src/artifacts/create-artifact-store.ts'
import { type FileCalls, openFolderStore } from '../../src/artifacts/folder-store.ts'
import { partBytes } from '../../src/artifacts/s3-upload.ts'
import { S3_BUCKET, type S3TestServer, startS3Server, stubS3Settings } from '../support/servers/s3-server.ts'
import { keep } from './keep.ts'

const run = promisify(execFile)
const MEBIBYTE = 1024 * 1024

const read = async (store: ArtifactStore, key: string): Promise<string> => text(store.read(key))

describe('a folder', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wharf-artifacts-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const WHOLE = 'one two three'
  const CHUNKS = ['one ', 'two ', 'three'].map((text) => Buffer.from(text))

  test('holds either nothing or the whole artifact, whichever call of the file system fails', async () => {
    const outcomes: string[] = []
    for (let failing = 1; outcomes.at(-1) !== 'done'; failing += 1) {
      const files = failingCalls((count) => count === failing)
      const key = randomUUID()
      outcomes.push(await outcomeOf(openFolderStore(folder, files).then((store) => keep(store, CHUNKS, key))))

      const kept = await openFolderStore(folder)
      const bytes = await kept.size(key)
      if (bytes !== undefined) expect(await read(kept, key), `call ${failing} failed`).toBe(WHOLE)
      expect(await unfinished(folder), `call ${failing} failed`).toEqual([])
      await kept.remove(key)
    }
    const failures = outcomes.slice(0, -1)

    expect(failures.length).toBeGreaterThanOrEqual(9)
    expect(new Set(failures)).toEqual(new Set(['STORAGE_UNAVAILABLE']))
  })

  test('holds nothing where every call fails from some moment on, once it has been swept', async () => {
    const outcomes: string[] = []
    for (let failing = 1; outcomes.at(-1) !== 'done'; failing += 1) {
      const files = failingCalls((count) => count >= failing)
      const key = randomUUID()
      outcomes.push(await outcomeOf(openFolderStore(folder, files).then((store) => keep(store, CHUNKS, key))))

      const kept = await openFolderStore(folder)
      await kept.sweep({ olderThan: new Date(Date.now() + 60_000), isUnderWay: async () => false })
      const bytes = await kept.size(key)
      if (bytes !== undefined) expect(await read(kept, key), `calls from ${failing} failed`).toBe(WHOLE)
      expect(await unfinished(folder), `calls from ${failing} failed`).toEqual([])
    }

    expect(outcomes.length).toBeGreaterThanOrEqual(10)
  })

  test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])(
    'says that there is no room left where a write ends with %s',
    async (code) => {
      const writes = failingCalls((_count, name) => name === 'appendFile', code)
      const store = await openFolderStore(folder, writes)

      await expect(keep(store, CHUNKS)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
      expect(await readdir(folder)).toEqual([])
    },
  )

  test('frees what it had written when a file may not grow any more, by the limit of a real system', async () => {
    const script = `
      import { openFolderStore } from ${JSON.stringify(new URL('../../src/artifacts/folder-store.ts', import.meta.url).href)}
      const store = await openFolderStore(${JSON.stringify(folder)})
      const writer = await store.create('${randomUUID()}')
      try {
        for (let i = 0; i < 64; i += 1) await writer.write(Buffer.alloc(65536, 'x'))
        console.log('written')
      } catch (error) {
        console.log(error.code)
      }`
    const limited = `ulimit -f 1024; exec ${process.execPath} --import tsx --input-type=module --eval "$SCRIPT"`
    const { stdout } = await run('sh', ['-c', limited], { env: { ...process.env, SCRIPT: script } })

    expect(stdout.trim()).toBe('STORAGE_FULL')
    expect(await readdir(folder)).toEqual([])
  })
})

test('frees what it had written when the disk is full, so that a smaller artifact fits', async ({ skip }) => {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-artifacts-'))
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).then(
    () => true,
    () => false,
  )
  if (!mounted) skip('only root may make a small disk')
  try {
    const store = await openFolderStore(folder)
    const piece = Buffer.alloc(MEBIBYTE / 2, 'x')
    const key = randomUUID()

    await expect(keep(store, [piece, piece, piece])).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(await readdir(folder)).toEqual([])
    await keep(store, [piece], key)
    expect(await store.size(key)).toBe(piece.length)
  } finally {
    await run('umount', [folder])
    await rm(folder, { recursive: true })
  }
})

describe('an S3 bucket', () => {
  let s3: S3TestServer
  let store: ArtifactStore

  beforeAll(async () => {
    s3 = await startS3Server()
    stubS3Settings(s3)
    store = await createArtifactStore(`s3://${S3_BUCKET}/wharf`)
  })
  afterEach(() => s3.failNone())
  afterAll(async () => {
    vi.unstubAllEnvs()
    await store.close()
    await s3.stop()
  })

  const PARTS = [randomBytes(9 * MEBIBYTE), randomBytes(9 * MEBIBYTE)]

  test.each([
    ['UploadPart', 507, 'STORAGE_FULL', PARTS],
    ['UploadPart', 403, 'STORAGE_UNAVAILABLE', PARTS],
    ['CreateMultipartUpload', 503, 'STORAGE_UNAVAILABLE', PARTS],
    ['CompleteMultipartUpload', 500, 'STORAGE_UNAVAILABLE', PARTS],
    ['PutObject', 507, 'STORAGE_FULL', [Buffer.from('small')]],
  ] as const)('frees what it had written when %s is answered with %i', async (call, status, code, chunks) => {
    const key = randomUUID()
    s3.fail(call, status)

    await expect(keep(store, chunks, key)).rejects.toMatchObject({ code })
    expect(await s3.openUploads()).toBe(0)
    expect(await store.size(key)).toBeUndefined()
  })

  test('leaves to the sweep what the server would not free, and keeps the first failure', async () => {
    s3.fail('UploadPart', 507)
    s3.fail('AbortMultipartUpload', 403)
    await expect(keep(store, PARTS)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(await s3.openUploads()).toBe(1)

    s3.failNone()
    expect(await store.sweep({ olderThan: new Date(Date.now() + 60_000), isUnderWay: async () => false })).toBe(1)
    expect(await s3.openUploads()).toBe(0)
  })

  test('leaves an upload alone that began long ago, and still goes on', async () => {
    const key = randomUUID()
    const writer = await store.create(key)
    for (const part of PARTS) await writer.write(part)
    await s3.backdateUploads(new Date('2026-01-01'))

    expect(await store.sweep({ olderThan: new Date(Date.now() - 60_000), isUnderWay: async () => false })).toBe(0)
    await writer.commit()
    expect(await store.size(key)).toBe(18 * MEBIBYTE)
  })

  test('sweeps no upload that is not its own', async () => {
    const client = new S3Client({ forcePathStyle: true })
    const foreign = ['wharf/report.pdf', `wharf/other/${randomUUID()}`, randomUUID()]
    for (const Key of foreign) await client.send(new CreateMultipartUploadCommand({ Bucket: S3_BUCKET, Key }))

    expect(await store.sweep({ olderThan: new Date(Date.now() + 60_000), isUnderWay: async () => false })).toBe(0)
    expect(await s3.openUploads()).toBe(foreign.length)
    client.destroy()
  })

  test.each(['size', 'remove'] as const)('says that it cannot be used when it refuses %s', async (call) => {
    s3.fail(call === 'size' ? 'HeadObject' : 'DeleteObject', 403)

    await expect(store[call](randomUUID())).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })

  test('goes on reading where a connection broke, from the very next byte', async () => {
    const key = randomUUID()
    await keep(store, PARTS, key)
    const [hash, cuts] = [createHash('sha256'), [1, 5 * MEBIBYTE, 15 * MEBIBYTE]]
    let taken = 0
    for await (const chunk of store.read(key, { start: 3, end: 18 * MEBIBYTE - 3 })) {
      hash.update(chunk)
      taken += chunk.length
      if (taken >= (cuts[0] ?? Number.POSITIVE_INFINITY)) {
        cuts.shift()
        s3.cutConnections()
      }
    }
    const expected = Buffer.concat(PARTS).subarray(3, -3)

    expect(cuts).toEqual([])
    expect(hash.digest('hex')).toBe(createHash('sha256').update(expected).digest('hex'))
  })

  test('does not go on with another artifact than the one that it began with', async () => {
    const key = randomUUID()
    await keep(store, PARTS, key)
    const reading = (async () => {
      let isFirst = true
      for await (const _chunk of store.read(key)) {
        if (isFirst) await keep(store, [...PARTS].reverse(), key)
        if (isFirst) s3.cutConnections()
        isFirst = false
      }
    })()

    await expect(reading).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })

  test('ends a reading with an error when the server does not come back', async () => {
    const key = randomUUID()
    await keep(store, PARTS, key)
    const reading = (async () => {
      for await (const _chunk of store.read(key)) {
        s3.fail('GetObject', 503)
        s3.cutConnections()
      }
    })()

    await expect(reading).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })

  test('says that it cannot be used where no server listens', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1')
    const unreachable = await createArtifactStore(`s3://${S3_BUCKET}`)

    await expect(unreachable.size(randomUUID())).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    await unreachable.close()
    vi.stubEnv('AWS_ENDPOINT_URL', s3.url)
  })

  test('has room for the largest object in the most parts that S3 takes, none of them too large', () => {
    const sizes = Array.from({ length: 10_000 }, (_, index) => partBytes(index + 1))

    expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(5 * 1024 ** 4)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5 * 1024 ** 3)
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(5 * MEBIBYTE)
  })

  test('has room for 50 GiB in the 1,000 parts that some servers take', () => {
    const sizes = Array.from({ length: 1_000 }, (_, index) => partBytes(index + 1))

    expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(50 * 1024 ** 3)
  })
})

const unfinished = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.part'))

/** @returns `done`, or the code of the failure. */
const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  )

/** The file system, of which the calls fail that `fails` says; files that it opens count on. */
function failingCalls(fails: (count: number, name: string) => boolean, code = 'EIO'): FileCalls {
  let count = 0
  const watched = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return async (...given: unknown[]) => {
          count += 1
          const fault = fails(count, String(name)) && Object.assign(new Error(`${code}: failed on purpose`), { code })
          if (fault && name !== 'close') throw fault
          const result: unknown = await Reflect.apply(value, target, given)
          // A file is closed also where closing it fails.
          if (fault) throw fault
          return name === 'open' && typeof result === 'object' && result ? watched(result) : result
        }
      },
    })
  // Not the module itself, whose properties may not be replaced even by a proxy.
  return watched({ ...nodeFiles })
}
