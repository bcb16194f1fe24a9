import { createHash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ArtifactStore } from '../../src/artifacts/artifact-store.ts'
import { notFound } from '../../src/errors.ts'
import { checkArchives } from '../../src/jobs/check-archives.ts'
import { noteOverdue } from '../../src/jobs/schedules/alarms.ts'
import { askExport, jobOf, untilStatus } from '../support/jobs/jobs.ts'
import { makeSchedule, runWhenDue, showSchedule } from '../support/jobs/schedules.ts'
import { S3_BUCKET, startS3Server, stubS3Settings } from '../support/servers/s3-server.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

const LARGE = randomBytes(3 * 1024 * 1024 + 7)

const stores: [name: string, environment: () => Promise<Record<string, string>>][] = [
  ['a folder', async () => ({})],
  [
    'a bucket',
    async () => {
      const s3 = await startS3Server()
      stubS3Settings(s3)
      return { WHARF_ARTIFACTS: `s3://${S3_BUCKET}/archives` }
    },
  ],
]

describe.each(stores)('an archive in %s', (name, environment) => {
  /** For what the store has no part in: unless tests are thorough, with one of them. */
  const testOnce = test.runIf(isThorough || name === 'a folder')

  let wharf: TestWharf

  beforeAll(async () => {
    wharf = await startWharf({
      worker: true,
      // The tests look for damage themselves.
      environment: { WHARF_ARTIFACT_CHECK_DAYS: '0', ...(await environment()) },
    })
    await createProject(wharf, 'shop', 'CREATE TABLE item (id integer PRIMARY KEY); INSERT INTO item VALUES (1);')
  })

  afterAll(() => wharf.close())

  const keyOf = async (job: string): Promise<string> => {
    const [row] = await wharf.database.query<{ key: string }>('SELECT key FROM control.artifact WHERE job_id = $1', [
      job,
    ])
    if (!row) throw new Error(`no archive of ${job}`)
    return row.key
  }

  /** Puts other bytes in the place of an archive. */
  async function put(key: string, bytes: Buffer): Promise<void> {
    const { artifacts } = wharf.container
    await artifacts.remove(key)
    const writer = await artifacts.create(key)
    await writer.write(bytes)
    await writer.commit()
  }

  const readStored = async (key: string): Promise<Buffer> => buffer(wharf.container.artifacts.read(key))

  const flip = (bytes: Buffer, at: number): Buffer => {
    const copy = Buffer.from(bytes)
    copy[at] = (copy[at] ?? 0) ^ 1
    return copy
  }

  /** An archive that a job has made. @param contents what is recorded and stored instead of what it made. */
  async function makeArchive(contents?: Buffer): Promise<{ job: string; key: string; bytes: Buffer }> {
    const { id: job } = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await untilStatus(wharf.root, job, 'succeeded')
    const key = await keyOf(job)
    if (contents) {
      await put(key, contents)
      await wharf.database.query('UPDATE control.artifact SET bytes = $2, sha256 = $3 WHERE key = $1', [
        key,
        contents.length,
        createHash('sha256').update(contents).digest(),
      ])
    }
    return { job, key, bytes: contents ?? (await readStored(key)) }
  }

  const age = (key: string): Promise<unknown> =>
    wharf.database.query(
      "UPDATE control.artifact SET created_at = created_at - interval '8 days', checked_at = checked_at - interval '8 days' WHERE key = $1",
      [key],
    )

  const check = (bytesPerSecond = 1e12): Promise<number> =>
    checkArchives(wharf.container, { everyDays: 7, signal: AbortSignal.timeout(60_000), bytesPerSecond })

  const shown = async (job: string) => (await wharf.root.get(`/jobs/${job}`)).json

  test('a small one that has changed is not handed out, and is marked', async () => {
    const { job, key, bytes } = await makeArchive()
    await put(key, flip(bytes, 4))
    const answer = await wharf.root.get(`/jobs/${job}/file`)
    expect(answer).toMatchObject({ status: 410, json: { detail: expect.stringMatching(/^the archive is damaged: /) } })
    expect(await shown(job)).toMatchObject({ archiveDamagedAt: expect.any(String) })
    expect((await wharf.root.get(`/jobs/${job}/file`, { headers: { range: 'bytes=0-3' } })).status).toBe(410)
    expect(wharf.log()).toContain('a kept archive is damaged')
    expect((await wharf.root.get('/metrics')).text).toMatch(/^wharf_archives_damaged [1-9]/m)
  })

  test.each([0, 1_000_000, LARGE.length - 1])(
    'a large one that has changed at byte %d never arrives whole',
    async (at) => {
      const { job, key } = await makeArchive(LARGE)
      expect((await wharf.root.get(`/jobs/${job}/file`)).bytes.equals(LARGE)).toBe(true)
      await put(key, flip(LARGE, at))
      await expect(wharf.root.get(`/jobs/${job}/file`)).rejects.toThrow()
      expect((await wharf.root.get(`/jobs/${job}/file`)).status).toBe(410)
    },
  )

  test('one that became shorter never arrives whole', async () => {
    const { job, key } = await makeArchive(LARGE)
    await put(key, LARGE.subarray(0, -1))
    await expect(wharf.root.get(`/jobs/${job}/file`)).rejects.toThrow()
    expect((await wharf.root.get(`/jobs/${job}/file`)).status).toBe(410)
  })

  test('the periodic look finds what nobody downloads, each archive once in its time', async () => {
    while ((await check()) > 0);
    const [good, bad] = [await makeArchive(), await makeArchive()]
    await put(bad.key, flip(bad.bytes, bad.bytes.length - 1))
    expect(await check()).toBe(0)
    for (const { key } of [good, bad]) await age(key)
    expect(await check()).toBe(2)
    expect(await shown(good.job)).toMatchObject({ archiveDamagedAt: null, archiveCheckedAt: expect.any(String) })
    expect(await shown(bad.job)).toMatchObject({ archiveDamagedAt: expect.any(String) })
    expect(await check()).toBe(0)

    await put(bad.key, bad.bytes)
    await age(bad.key)
    expect(await check()).toBe(1)
    expect(await shown(bad.job)).toMatchObject({ archiveDamagedAt: null })
    expect((await wharf.root.get(`/jobs/${bad.job}/file`)).bytes.equals(bad.bytes)).toBe(true)
  })

  test('an archive that is missing in the storage is marked, and keeps no other from being read', async () => {
    while ((await check()) > 0);
    const [missing, good] = [await makeArchive(), await makeArchive()]
    await wharf.container.artifacts.remove(missing.key)
    for (const { key } of [missing, good]) await age(key)
    expect(await check()).toBe(2)
    expect(await shown(missing.job)).toMatchObject({ archiveDamagedAt: expect.any(String) })
    expect(await shown(good.job)).toMatchObject({ archiveDamagedAt: null, archiveCheckedAt: expect.any(String) })
    expect(wharf.log()).toMatch(/"damage":"missing".*a kept archive is damaged/)
    expect(await check()).toBe(0)
    await put(missing.key, missing.bytes)
    await age(missing.key)
    expect(await check()).toBe(1)
    expect(await shown(missing.job)).toMatchObject({ archiveDamagedAt: null })
  })

  /** A store that is not the one that the archives are in, or does not answer as it should. */
  const checkIn = (changed: Partial<ArtifactStore>): Promise<number> => {
    const { artifacts } = wharf.container
    const store: ArtifactStore = {
      create: (key) => artifacts.create(key),
      read: (key) => artifacts.read(key),
      size: (key) => artifacts.size(key),
      list: (prefix) => artifacts.list(prefix),
      remove: (key) => artifacts.remove(key),
      sweep: (leftovers) => artifacts.sweep(leftovers),
      close: () => artifacts.close(),
      ...changed,
    }
    const options = { everyDays: 7, signal: AbortSignal.timeout(60_000), bytesPerSecond: 1e12 }
    return checkArchives({ ...wharf.container, artifacts: store }, options)
  }

  testOnce(
    'an archive is not marked where the storage has no other one either, as a folder that is not mounted',
    async () => {
      while ((await check()) > 0);
      const made = [await makeArchive(), await makeArchive()]
      for (const { key } of made) await age(key)
      const read = async function* () {
        yield* []
        throw notFound('archive', 'of this key')
      }
      expect(await checkIn({ read, size: async () => undefined })).toBe(2)
      for (const { job } of made) expect(await shown(job)).toMatchObject({ archiveDamagedAt: null })
      expect(wharf.log()).toContain('a kept archive is missing in the storage')
    },
  )

  testOnce('an archive that cannot be read keeps no other from being read, and is not read again at once', async () => {
    while ((await check()) > 0);
    const [unreadable, good] = [await makeArchive(), await makeArchive()]
    for (const { key } of [unreadable, good]) await age(key)
    const read = (key: string): AsyncIterable<Buffer> => {
      if (key === unreadable.key) throw new Error('input/output error')
      return wharf.container.artifacts.read(key)
    }
    expect(await checkIn({ read })).toBe(2)
    expect(await shown(good.job)).toMatchObject({ archiveCheckedAt: expect.any(String) })
    expect(await shown(unreadable.job)).toMatchObject({ archiveDamagedAt: null })
    expect(wharf.log()).toContain('kept archives could not be read')
    expect(await check()).toBe(0)
  })

  testOnce('an archive that is removed in order while it is looked at is not called missing', async () => {
    while ((await check()) > 0);
    const { job, key } = await makeArchive()
    await age(key)
    const read = async function* () {
      yield* []
      await wharf.database.query("UPDATE control.artifact SET state = 'deleted' WHERE key = $1", [key])
      await wharf.container.artifacts.remove(key)
      throw notFound('archive', 'of this key')
    }
    expect(await checkIn({ read })).toBe(1)
    expect(await shown(job)).toMatchObject({ archiveDamagedAt: null })
    expect(wharf.log()).not.toContain(`"key":"${key}"`)
  })

  testOnce('two processes that look at once read each archive once', async () => {
    while ((await check()) > 0);
    const made = [await makeArchive(), await makeArchive(), await makeArchive()]
    for (const { key } of made) await age(key)
    const counts = await Promise.all([check(), check()])
    expect(counts[0] + counts[1]).toBe(3)
  })

  testOnce(
    'a proven archive that is damaged proves nothing any more, wherever that is said, until it is whole again',
    async () => {
      const schedule = await makeSchedule(wharf.root, 'shop', { verify: true, alarms: { maxAgeHours: 24 } })
      const { lastRun } = await runWhenDue(wharf, schedule)
      // It was due by a clock that is ahead.
      await wharf.database.query('UPDATE control.schedule_run SET due_at = now()')
      const proven = { provenAt: expect.any(String), archiveDamagedAt: null }
      const none = { provenAt: null, archiveDamagedAt: expect.any(String) }
      const said = async () => {
        const { runs, lastProven } = await showSchedule(wharf.root, schedule)
        const list = JSON.parse((await wharf.root.get('/schedules')).text).items
        const overview = JSON.parse((await wharf.root.get('/overview')).text).items.find(
          ({ slug }: { slug: string }) => slug === 'shop',
        )
        const metrics = (await wharf.root.get('/metrics')).text
        await wharf.database.query("UPDATE control.schedule SET created_at = now() - interval '2 days'")
        await noteOverdue(wharf.container.control)
        return {
          ...{ run: runs[0], lastProven, listed: list[0].lastProven, ofProject: overview.lastProven },
          night: overview.nights.find(({ outcome }: { outcome: string }) => outcome !== 'none').outcome,
          metric: new RegExp(
            `^wharf_schedule_last_proven_timestamp_seconds\\{schedule="${schedule.id}"\\} (.+)$`,
            'm',
          ).exec(metrics)?.[1],
          isOverdue: (await showSchedule(wharf.root, schedule)).overdueSince !== null,
        }
      }
      expect(await said()).toMatchObject({
        ...{ run: proven, lastProven: proven, listed: proven, ofProject: { jobId: lastRun?.jobId }, night: 'proven' },
        ...{ metric: expect.stringMatching(/^[1-9]/), isOverdue: false },
      })
      const key = await keyOf(lastRun?.jobId ?? '')
      const bytes = await readStored(key)
      await put(key, flip(bytes, 9))
      expect((await wharf.root.get(`/jobs/${lastRun?.jobId}/file`)).status).toBe(410)
      expect(await said()).toEqual({
        ...{ run: expect.objectContaining(none), lastProven: null, listed: null, ofProject: null, night: 'made' },
        ...{ metric: '0', isOverdue: true },
      })
      await put(key, bytes)
      await age(key)
      while ((await check()) > 0);
      expect(await said()).toMatchObject({ run: proven, lastProven: proven, night: 'proven', isOverdue: false })
      await wharf.root.delete(`/schedules/${schedule.id}`)
    },
  )

  testOnce('a schedule does not let its last good archive go for damaged ones that are newer', async () => {
    const schedule = await makeSchedule(wharf.root, 'shop', { keep: { last: 1 } })
    const good = (await runWhenDue(wharf, schedule)).lastRun?.jobId ?? ''
    await wharf.root.patch(`/schedules/${schedule.id}`, { json: { keep: { last: 2 } } })
    const bad = (await runWhenDue(wharf, schedule)).lastRun?.jobId ?? ''
    const key = await keyOf(bad)
    await put(key, flip(await readStored(key), 9))
    await age(key)
    expect(await check()).toBeGreaterThan(0)
    await wharf.root.patch(`/schedules/${schedule.id}`, { json: { keep: { last: 2 } } })
    const next = (await runWhenDue(wharf, schedule)).lastRun?.jobId ?? ''
    expect((await wharf.root.get(`/jobs/${good}/file`)).status).toBe(200)
    expect((await wharf.root.get(`/jobs/${next}/file`)).status).toBe(200)
    await wharf.root.delete(`/schedules/${schedule.id}`)
  })
})
