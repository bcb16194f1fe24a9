import { Writable } from 'node:stream'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { JOB_KINDS } from '../../src/contract/job.ts'
import { migrate } from '../../src/database/migrations.ts'
import { prepareDatabase } from '../../src/database/preparation.ts'
import { queueName } from '../../src/jobs/job.ts'
import { createLogger } from '../../src/logger.ts'
import { findProject } from '../../src/projects/projects.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { openSession, withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf } from '../support/service/wharf.ts'

/*
 * Locks that a project's login takes, or keeps, to stop others: with psql and its password in hand.
 */

describeOnEachServer(
  (wharf, createDatabase) => {
    let mallory: pg.Client

    beforeAll(async () => {
      await createProject(wharf(), 'victim', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
      await createProject(wharf(), 'mallory', 'CREATE TABLE item (id int PRIMARY KEY)')
      mallory = await openSession((await loginUrl(wharf(), 'mallory')).href)
    })

    afterAll(async () => {
      await mallory.end()
    })

    const stageIdOf = async (slug: string): Promise<string> =>
      (await findProject(wharf().container.control.prisma, slug)).stages[0]?.id ?? ''

    /** The keys that Wharf's advisory locks had once: of its start, its sweep, and a stage's. */
    const PREFIX = 0x77686172n << 32n
    const oldStageKey = (stageId: string, kind: bigint): bigint => {
      const bits = BigInt(`0x${stageId.replaceAll('-', '').slice(0, 16)}`)
      return BigInt.asIntN(64, (bits & ~1n) | kind | (1n << 63n))
    }

    const importInto = (slug: string, archive: string) =>
      sendArchive(wharf().root, archive, { query: `?targetSlug=${slug}` })

    test("stops another project's writes, imports and undo by the advisory locks of its stage", async () => {
      const stageId = await stageIdOf('victim')
      const archive = await exportOf(wharf().root, 'victim')
      for (const key of [oldStageKey(stageId, 0n), oldStageKey(stageId, 1n)]) {
        await mallory.query('SELECT pg_advisory_lock($1)', [key.toString()])
      }
      try {
        expect((await wharf().root.post('/content/victim/live/item', { json: { id: 2 } })).status).toBe(201)
        expect((await importInto('victim', archive)).status).toBe(200)
        expect((await wharf().root.post('/projects/victim/stages/live/undo')).status).toBe(200)
      } finally {
        await mallory.query('SELECT pg_advisory_unlock_all()')
      }
    })

    test("enters another project's stage, to keep imports out of it", async () => {
      const entering = mallory.query('SELECT wharf.enter_stage($1)', [await stageIdOf('victim')])
      await expect(entering).rejects.toMatchObject({ code: '42501' })
    })

    test.each(['wharf_start.lock', 'system.stage_lock', 'control.lock', 'bullmq.wharf_key'])(
      'locks the rows of %s itself',
      async (table) => {
        await expect(mallory.query(`SELECT FROM ${table} FOR UPDATE`)).rejects.toMatchObject({ code: '42501' })
        await expect(mallory.query(`BEGIN; LOCK TABLE ${table}`)).rejects.toMatchObject({ code: '42501' })
        await mallory.query('ROLLBACK')
      },
    )

    test('holds its own stage open, and so the imports of others', async () => {
      const [own, archive] = [await stageIdOf('mallory'), await exportOf(wharf().root, 'victim')]
      await mallory.query('BEGIN')
      await mallory.query('SELECT wharf.enter_stage($1)', [own])
      const importing = importInto('mallory', await exportOf(wharf().root, 'mallory'))
      await eventually(async () => (await openTransactions(wharf())).some(({ waits }) => waits === 'Lock')).toBe(true)
      expect((await importInto('victim', archive)).status).toBe(200)
      expect((await wharf().root.post('/content/mallory/live/item', { json: { id: 1 } })).status).toBe(409)
      await mallory.query('ROLLBACK')
      expect((await importing).status).toBe(200)
      expect((await wharf().root.post('/content/mallory/live/item', { json: { id: 1 } })).status).toBe(201)
    })

    test('keeps a new process from starting, by the advisory locks of its start', async () => {
      await mallory.query(`SELECT pg_advisory_lock(${PREFIX + 1n}), pg_advisory_lock(72707369),
    pg_advisory_lock(1112493644, hashtext('bullmq'))`)
      try {
        const second = await startWharf({ beside: wharf() })
        await second.close()
      } finally {
        await mallory.query('SELECT pg_advisory_unlock_all()')
      }
    })

    test('keeps a database from being migrated, by the advisory locks of the migration', async () => {
      const database = await createDatabase()
      try {
        await withSession(database.url, async (session) => {
          await session.query(`SELECT pg_advisory_lock(72707369), pg_advisory_lock(${PREFIX + 1n})`)
          expect(await migrate(database.url, { logger: createLogger('silent') })).not.toEqual([])
        })
      } finally {
        await database.drop()
      }
    })

    test('stops the queue of all projects, by the advisory locks that BullMQ takes', async () => {
      const purposes = ['concurrency', 'evnotify', 'evtrim', 'jidseq', 'limiter']
      const keys = JOB_KINDS.map(queueName).flatMap((queue) => [
        `pg_advisory_lock(hashtext('bullmq:finalization'), hashtext('${queue}'))`,
        ...purposes.map((purpose) => `pg_advisory_lock(hashtext('bullmq:${purpose}:${queue}'))`),
      ])
      await mallory.query(`SELECT ${keys.join(', ')}`)
      try {
        const job = jobOf(await askExport(wharf().root, [{ slug: 'victim' }]))
        expect(await untilEnded(wharf().root, job)).toMatchObject({ status: 'succeeded' })
        await eventually(async () => (await wharf().database.query('SELECT id FROM bullmq.job')).length).toBe(0)
      } finally {
        await mallory.query('SELECT pg_advisory_unlock_all()')
      }
    })

    test('a process that waits for another at its start says so, and gives up', async () => {
      const lines: string[] = []
      const logger = createLogger(
        'warn',
        new Writable({ write: (line, _, done) => done(void lines.push(String(line))) }),
      )
      await withSession(wharf().database.url, async (blocker) => {
        await blocker.query(`BEGIN; SELECT FROM wharf_start.lock FOR UPDATE`)
        const [{ name } = { name: '' }] = await wharf().database.query<{ name: string }>(
          'SELECT current_database() AS name',
        )
        await wharf().database.query(`GRANT CONNECT ON DATABASE "${name}" TO PUBLIC`)
        const starting = prepareDatabase(wharf().database.url, { logger, patienceMs: 2_500 })
        await expect(starting).rejects.toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          message: expect.stringContaining('another process of Wharf has been preparing this database'),
        })
        expect(lines.join('')).toContain('another process of Wharf is preparing this database; waiting for it')
        await blocker.query('ROLLBACK')
        await prepareDatabase(wharf().database.url, { logger })
      })
    })

    test('no advisory lock of Wharf is left, or to be seen, while it imports', async () => {
      const archive = await exportOf(wharf().root, 'victim')
      await mallory.query(`BEGIN; SELECT wharf.enter_stage('${await stageIdOf('mallory')}')`)
      const importing = importInto('mallory', archive)
      await eventually(async () => (await openTransactions(wharf())).some(({ waits }) => waits === 'Lock')).toBe(true)
      const seen = await mallory.query(
        `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
     WHERE locktype = 'advisory' AND datname = current_database()`,
      )
      await mallory.query('ROLLBACK')
      await importing
      expect(seen.rows).toEqual([])
    })
  },
  { oneIsEnough: true, wharf: { worker: true } },
)
