import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import type { TestDatabase } from '../../support/database/database.ts'
import { readState } from '../../support/database/database-state.ts'
import { PAUSE, type PausePoint, withPausePoint } from '../../support/database/pause-point.ts'
import { openTransactions } from '../../support/database/transactions.ts'
import type { ApiAnswer } from '../../support/http/api-client.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../../support/servers/own-cluster.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import {
  type OwnServiceProcess,
  SECRET_KEY,
  startOwnServiceProcess,
  startServiceProcess,
} from '../../support/service/service-process.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE t (id integer PRIMARY KEY, n pausing);`

/** Stops an import only once all rows are there. */
const LATE = `CREATE TABLE t (id integer PRIMARY KEY, n integer, CHECK (${PAUSE}));`

const OLD = 'INSERT INTO t VALUES (1, 1), (2, 2)'
const NEW = 'INSERT INTO t SELECT n, n FROM generate_series(3, 100) n'

const count = async (database: TestDatabase, schema: string): Promise<unknown> =>
  (await database.query(`SELECT count(*)::int AS n FROM "${schema}".t`))[0]

const leftovers = (database: TestDatabase): Promise<unknown[]> =>
  database.query(
    `SELECT schema_name AS name FROM system.side_schema WHERE kind <> 'kept'
     UNION ALL SELECT nspname FROM pg_namespace WHERE nspname LIKE '%.new-%'`,
  )

/** Waits for the answer, or for the connection to break. */
const outcome = (asked: Promise<ApiAnswer>): Promise<ApiAnswer | Error> =>
  asked.catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))

describe('the service is killed', () => {
  let database: TestDatabase
  let service: OwnServiceProcess

  beforeAll(async () => {
    service = await startOwnServiceProcess()
    database = service.database
  })

  afterAll(() => service.close())

  async function spooled(): Promise<readonly string[]> {
    const entries = await readdir(join(service.dataDir, 'spool'), { recursive: true })
    return entries.filter((name) => name.endsWith('.rows'))
  }

  /** Makes a project with old rows, and an archive of new ones for it. */
  async function prepare(slug: string, structure: string): Promise<string> {
    await service.root.post('/projects', { json: { slug, stages: ['live', 'other'] } })
    await applyScript(service, slug, `${structure} ${OLD}`)
    await applyScript(service, slug, `${structure} ${NEW}`, 'other')
    const archive = await exportOf(service.root, slug, { stages: ['other'] })
    return archive.replaceAll('{"slug":"other"', '{"slug":"live"')
  }

  async function expectRecovery(slug: string, archive: string): Promise<void> {
    await service.kill('SIGKILL')
    expect(await count(database, `${slug}.live`)).toEqual({ n: 2 })
    service = await service.restart()
    await expect.poll(() => leftovers(database)).toEqual([])
    expect(await spooled()).toEqual([])
    expect(await count(database, `${slug}.live`)).toEqual({ n: 2 })
    const again = await sendArchive(service.root, archive)
    expect(again, again.text).toMatchObject({ status: 200 })
    expect(await count(database, `${slug}.live`)).toEqual({ n: 98 })
  }

  test('while it receives an archive', async () => {
    const archive = await prepare('receiving', STRUCTURE)
    async function* half(): AsyncGenerator<Buffer> {
      yield Buffer.from(archive.slice(0, archive.length / 2))
      await new Promise(() => undefined)
    }
    const asked = outcome(sendArchive(service.root, half()))
    await expect.poll(async () => (await spooled()).length).toBe(1)
    await Promise.all([expectRecovery('receiving', archive), expect(asked).resolves.toBeInstanceOf(Error)])
  })

  test('while it loads what has arrived of an archive', async () => {
    const archive = await prepare('early', `${STRUCTURE} CREATE TABLE u (line text);`)
    const [head = '', tail = ''] = archive.split(/^(?={"rowsEnd":{"table":"u")/m)
    const lines = `{"row":["${'x'.repeat(1_000)}"]}\n`.repeat(1_000)
    async function* half(): AsyncGenerator<Buffer> {
      yield Buffer.from(head + lines)
      await new Promise(() => undefined)
    }
    const asked = outcome(sendArchive(service.root, half()))
    await expect.poll(() => leftovers(database)).toHaveLength(2)
    expect(tail).not.toBe('')
    await Promise.all([expectRecovery('early', archive), expect(asked).resolves.toBeInstanceOf(Error)])
  })

  test.each([
    ['while it loads rows', 'loading', STRUCTURE],
    ['while it builds on them', 'building', LATE],
  ])('%s', async (_, slug, structure) => {
    const archive = await prepare(slug, structure)
    const asked = await withPausePoint({ database }, async (pausePoint) => {
      const importing = outcome(sendArchive(service.root, archive))
      await pausePoint.reached()
      expect(await leftovers(database)).toHaveLength(2)
      await service.kill('SIGKILL')
      return importing
    })
    expect(asked).toBeInstanceOf(Error)
    await expectRecovery(slug, archive)
  })

  test('between the load and the swap', async () => {
    const archive = await prepare('swapping', STRUCTURE)
    await withSession(database.url, async (blocker) => {
      await blocker.query(`BEGIN; SELECT FROM system.stage_state WHERE schema_name = 'swapping.live' FOR NO KEY UPDATE`)
      const importing = outcome(sendArchive(service.root, archive))
      const waiting = async (): Promise<number> =>
        (await openTransactions({ database })).filter(({ waits }) => waits === 'Lock').length
      await expect.poll(waiting).toBe(1)
      const loaded = await database.query<{ nspname: string }>(
        `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'swapping.live.new-%'`,
      )
      expect(await count(database, loaded[0]?.nspname ?? '')).toEqual({ n: 98 })
      await service.kill('SIGKILL')
      expect(await importing).toBeInstanceOf(Error)
    })
    await expectRecovery('swapping', archive)
  })
})

describe('PostgreSQL ends', () => {
  let wharf: TestWharf
  let archive: string

  beforeAll(async () => {
    wharf = await startWharf()
    await createProject(wharf, 'shop', `${STRUCTURE} ${OLD}`)
    await createProject(wharf, 'source', `${STRUCTURE} ${NEW}`)
    archive = await exportOf(wharf.root, 'source')
  })

  afterAll(() => wharf.close())

  const terminate = (pid: number): Promise<unknown> => wharf.database.query('SELECT pg_terminate_backend($1)', [pid])

  const ENDED: Readonly<Record<string, (pausePoint: PausePoint) => Promise<unknown>>> = {
    'the session that loads': async (pausePoint) => terminate(await pausePoint.reached()),
    "the session that holds the stage's lock": async (pausePoint) => {
      await pausePoint.reached()
      const [row] = await wharf.database.query<{ pid: number }>(
        `SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database
         WHERE relation = 'system.stage_lock'::regclass AND granted AND datname = current_database()`,
      )
      await terminate(row?.pid ?? 0)
    },
  }

  test.each(Object.entries(ENDED))('%s, and nothing has changed', async (_, end) => {
    const before = await readState(wharf.database)
    const answer = await withPausePoint(wharf, async (pausePoint) => {
      const importing = sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
      await end(pausePoint)
      return importing
    })
    expect(answer).toMatchObject({ status: 503 })
    await expect.poll(() => leftovers(wharf.database)).toEqual([])
    expect(await readState(wharf.database)).toEqual(before)
  })

  test('and when it is there again, the same import succeeds', async () => {
    expect(await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })).toMatchObject({ status: 200 })
    expect(await count(wharf.database, 'shop.live')).toEqual({ n: 98 })
  })
})

const programs = installedPrograms()

describe.each(programs === undefined ? [] : [programs])('on the PostgreSQL in %s', (bin) => {
  let cluster: OwnCluster

  beforeAll(async () => {
    cluster = await startOwnCluster(bin)
  })

  afterAll(() => cluster?.remove())

  test('a crash of the server in the middle of a load leaves the old rows', async () => {
    const wharf = await startWharf({ database: await cluster.createDatabase() })
    await createProject(wharf, 'shop', `${STRUCTURE} ${OLD}`)
    await createProject(wharf, 'source', `${STRUCTURE} ${NEW}`)
    const archive = await exportOf(wharf.root, 'source')
    const importing = await withPausePoint(wharf, async (pausePoint) => {
      const asked = sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
      await pausePoint.reached()
      await cluster.crash()
      return asked
    })
    expect(importing).toMatchObject({ status: 503 })
    await cluster.start()
    expect(await count(wharf.database, 'shop.live')).toEqual({ n: 2 })
    const again = await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
    expect(again, again.text).toMatchObject({ status: 200 })
    expect(await count(wharf.database, 'shop.live')).toEqual({ n: 98 })
    expect(await leftovers(wharf.database)).toEqual([])
    await wharf.close()
  })

  test('a session that has outlived its service is ended by the next', async () => {
    const wharf = await startWharf({
      database: await cluster.createDatabase(),
      environment: { WHARF_SECRET_KEY: SECRET_KEY },
    })
    await createProject(wharf, 'shop', `${STRUCTURE} ${OLD}`)
    const archive = await exportOf(wharf.root, 'shop')
    const dataDir = await mkdtemp(join(tmpdir(), 'wharf-test-'))
    const options = { databaseUrl: wharf.database.url, dataDir }
    await withPausePoint(wharf, async (pausePoint) => {
      const first = await startServiceProcess(options)
      const importing = outcome(sendArchive(first.root, archive))
      const pid = await pausePoint.reached()
      await first.kill('SIGKILL')
      expect(await importing).toBeInstanceOf(Error)
      const sessions = (): Promise<unknown[]> =>
        wharf.database.query('SELECT pid FROM pg_stat_activity WHERE pid = $1', [pid])
      expect(await sessions()).toEqual([{ pid }])
      const second = await startServiceProcess(options)
      await expect.poll(sessions).toEqual([])
      await expect.poll(() => leftovers(wharf.database)).toEqual([])
      await pausePoint.release()
      expect(await sendArchive(second.root, archive)).toMatchObject({ status: 200 })
      await second.kill('SIGTERM')
    })
    await rm(dataDir, { recursive: true, force: true })
    await wharf.close()
  })
})
