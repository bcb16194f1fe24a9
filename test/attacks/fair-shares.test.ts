import type { IncomingMessage } from 'node:http'
import type pg from 'pg'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { openExport, readSome } from '../support/archives/open-export.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { openSession, withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * What one project takes, so that others, or the rest of it, get nothing.
 */

/** More than fits into the buffers between PostgreSQL and a client that does not read. */
const BIG = `CREATE TABLE big (id int PRIMARY KEY, filling text DEFAULT lower('X'));
  INSERT INTO big SELECT n, repeat(md5(n::text), 100) FROM generate_series(1, 20000) n;
  CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)`

const LIMIT = 30

const GREEDY = ['first', 'second', 'third', 'fourth', 'fifth']

describeOnEachServer(
  (wharf) => {
    beforeAll(async () => {
      for (const slug of ['greedy', 'greedier', ...GREEDY]) await createProject(wharf(), slug, BIG)
      await createProject(wharf(), 'modest', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
    })

    const stalled: IncomingMessage[] = []
    const sessions: pg.Client[] = []

    afterEach(async () => {
      for (const response of stalled.splice(0)) response.destroy()
      for (const session of sessions.splice(0)) await session.end().catch(() => undefined)
      await eventually(() => openTransactions(wharf())).toEqual([])
    })

    /** Exports that are begun and then not read; those that are refused answer something else than 200. */
    async function stallExports(slug: string, count: number): Promise<void> {
      const opened = await Promise.allSettled(Array.from({ length: count }, () => openExport(wharf(), [slug])))
      for (const result of opened) if (result.status === 'fulfilled') stalled.push(result.value)
    }

    /** Another process of the same service. */
    const besides = (environment: Readonly<Record<string, string>>): Promise<TestWharf> =>
      startWharf({ beside: wharf(), environment: { WHARF_PROJECT_CONNECTIONS: String(LIMIT), ...environment } })

    const statusOf = async (path: string): Promise<number> => (await wharf().root.get(path)).status

    test('takes the connections of its content and its imports by exports that it does not read', async () => {
      const archive = await exportOf(wharf().root, 'modest')
      await createProject(wharf(), 'reader', BIG)
      await stallExports('reader', 10)
      expect(await statusOf('/content/reader/live/item')).toBe(200)
      expect((await wharf().root.post('/content/reader/live/item', { json: { id: 2 } })).status).toBe(201)
      await createProject(wharf(), 'fresh')
      expect((await sendArchive(wharf().root, archive, { query: '?targetSlug=fresh' })).status).toBe(200)
      const refused = stalled.filter(({ statusCode }) => statusCode === 503)
      expect(refused.length).toBe(6)
      expect(refused[0]?.headers['retry-after']).toBe('30')
    })

    test("takes other projects' exports by exports that nobody reads", async () => {
      await Promise.all([stallExports('greedy', 8), stallExports('greedier', 8)])
      expect(await exportOf(wharf().root, 'modest')).toContain('"end"')
    })

    test('takes every export of a process by five projects that read none of theirs', async () => {
      await Promise.all(GREEDY.map((slug) => stallExports(slug, 4)))
      expect(await exportOf(wharf().root, 'modest')).toContain('"end"')
    })

    test('keeps a project from being backed up by exports that it does not read', async () => {
      await stallExports('greedy', 8)
      const job = jobOf(await askExport(wharf().root, [{ slug: 'greedy' }]))
      expect(await untilEnded(wharf().root, job)).toMatchObject({ status: 'succeeded', attempt: 1 })
    })

    test('takes the last connection for imports, so that one which waits for a writer can never go on', async () => {
      await createProject(wharf(), 'written', 'CREATE TABLE item (id int PRIMARY KEY)')
      const archive = await exportOf(wharf().root, 'written')
      const { pool } = wharf().container.imports
      const held = await Promise.all(Array.from({ length: (pool.options.max ?? 0) - 1 }, () => pool.connect()))
      await withSession(wharf().database.url, async (session) => {
        await session.query(`BEGIN; SELECT FROM system.stage_lock WHERE kind = 'write' FOR KEY SHARE`)
        const importing = sendArchive(wharf().root, archive)
        const closed = () =>
          wharf()
            .database.query('SELECT FROM system.stage_lock WHERE closed_until IS NOT NULL')
            .then(({ length }) => length)
        await eventually(closed).toBe(1)
        await session.query('COMMIT')
        expect((await importing).status).toBe(200)
      })
      for (const client of held) client.release()
    })

    test('takes the connections of its other tables by readers of one that is locked', async () => {
      await withSession((await loginUrl(wharf(), 'greedy')).href, async (session) => {
        await session.query('BEGIN; LOCK TABLE "greedy.live".big')
        const gone = new AbortController()
        const readers = Array.from({ length: 30 }, (_, n) =>
          fetch(`${wharf().url}/content/greedy/live/big?id=eq.${n}`, {
            headers: { authorization: `Bearer ${ROOT_TOKEN}` },
            signal: gone.signal,
          }).catch(() => undefined),
        )
        const waiting = async () => (await openTransactions(wharf())).filter(({ waits }) => waits === 'Lock').length
        await eventually(waiting).toBe(7)
        expect(await statusOf('/content/greedy/live/item')).toBe(200)
        expect(await waiting(), 'those before it still wait').toBe(7)
        await session.query('ROLLBACK')
        const statuses = (await Promise.all(readers)).map((response) => response?.status)
        expect(new Set(statuses)).toEqual(new Set([200]))
      })
    })

    test('a read that waits for a lock for too long says that it did', async () => {
      const hasty = await besides({ WHARF_QUERY_TIMEOUT_MS: '2000' })
      await withSession((await loginUrl(wharf(), 'greedy')).href, async (session) => {
        await session.query('BEGIN; LOCK TABLE "greedy.live".item')
        const answer = await hasty.root.get('/content/greedy/live/item')
        expect(answer.status).toBe(504)
        expect(answer.text).toContain('for a lock that somebody else holds')
      })
      await hasty.close()
    })

    test('keeps an export for ever by reading nothing of it', async () => {
      const impatient = await besides({ WHARF_STALLED_READER_SECONDS: '1' })
      const response = await openExport(impatient, ['greedy'])
      response.on('error', () => undefined)
      await readSome(response, 1_000)
      await eventually(() => openTransactions(wharf())).toEqual([])
      response.destroy()
      await impatient.close()
    })

    test('takes every connection of the server by sessions of its login', async () => {
      const { href } = await loginUrl(wharf(), 'greedy')
      const opened = await Promise.allSettled(
        Array.from({ length: LIMIT + 20 }, async () => {
          sessions.push(await openSession(href))
        }),
      )
      const refused = opened.filter(({ status }) => status === 'rejected')
      // PostgreSQL may let one or two more in that come at the same moment.
      expect(refused.length).toBeGreaterThan(10)
      expect(refused[0]).toMatchObject({ reason: { code: '53300' } })
      expect(await statusOf('/content/modest/live/item')).toBe(200)
      expect(await exportOf(wharf().root, 'modest')).toContain('"end"')
      const own = await wharf().root.get('/content/greedy/live/item?id=eq.7')
      expect([200, 503]).toContain(own.status)
    })

    test('is told that its login has as many sessions as it may', async () => {
      await createProject(wharf(), 'full', 'CREATE TABLE item (id int PRIMARY KEY)')
      const { href, username } = await loginUrl(wharf(), 'full')
      // An answer that is kept needs no session.
      let asked = 0
      await eventually(async () => {
        asked += 1
        await wharf().database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [
          username,
        ])
        for (let count = 0; count < LIMIT; count += 1) {
          const session = await openSession(href).catch(() => undefined)
          if (!session) break
          sessions.push(session)
        }
        const answer = await wharf().root.get(`/content/full/live/item?id=eq.${asked}`)
        return [answer.status, answer.headers['retry-after'], answer.text.includes('as many sessions as it may have')]
      }).toEqual([503, '30', true])
    })

    test('raises the limit of its own login', async () => {
      await withSession((await loginUrl(wharf(), 'greedy')).href, async (session) => {
        await expect(session.query('ALTER ROLE CURRENT_USER CONNECTION LIMIT -1')).rejects.toMatchObject({
          code: '42501',
        })
      })
    })
  },
  {
    alone: true,
    oneIsEnough: true,
    wharf: {
      environment: {
        WHARF_PROJECT_CONNECTIONS: String(LIMIT),
        WHARF_TURN_WAIT_MS: '500',
        WHARF_QUERY_TIMEOUT_MS: '120000',
      },
      worker: true,
    },
  },
)
