import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { SECRET_KEY, startServiceProcess } from '../support/service/service-process.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * Every wait for a lock has an end, and says what it waited for.
 */

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_SCHEMA_LOCK_SECONDS: '30', WHARF_SECRET_KEY: SECRET_KEY } })
  await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
})

afterAll(() => wharf.close())

/** Runs `use` while a session of the project's own holds what `sql` takes in its transaction. */
const whileHeld = async <T>(slug: string, sql: string, use: (end: () => Promise<unknown>) => Promise<T>): Promise<T> =>
  withSession((await loginUrl(wharf, slug)).href, async (session) => {
    await session.query(`BEGIN; ${sql}`)
    return use(() => session.query('ROLLBACK'))
  })

const waiters = async (query: RegExp) =>
  (await openTransactions(wharf)).filter((transaction) => transaction.waits === 'Lock' && query.test(transaction.query))

/**
 * Looks at who waits for a table's lock in order to change it, until `attempts` sessions have come and gone.
 *
 * @returns how long any of them was seen waiting, in milliseconds, by the server's clock.
 */
async function longestWait(attempts: number): Promise<number> {
  const sessions = new Set<number>()
  let longestMs = 0
  await eventually(async () => {
    const waiting = await wharf.database.query<{ pid: number; ms: number }>(
      `SELECT pid, (extract(epoch FROM clock_timestamp() - waitstart) * 1000)::int AS ms FROM pg_locks
       WHERE mode = 'AccessExclusiveLock' AND NOT granted AND waitstart IS NOT NULL
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    for (const { pid, ms } of waiting) {
      sessions.add(pid)
      longestMs = Math.max(longestMs, ms)
    }
    return waiting.length === 0 ? sessions.size : 0
  }).toBeGreaterThanOrEqual(attempts)
  return longestMs
}

/** Shorter than three seconds, and longer than what a busy machine adds to half a second, or one. */
const SHORT_WAIT_MS = 2_500

test('nobody waits for long behind a change of structure that waits for a reader', async () => {
  await whileHeld('shop', 'SELECT FROM "shop.live".item', async (end) => {
    const applying = applyScript(wharf, 'shop', 'ALTER TABLE item ADD name text')
    expect(await longestWait(2)).toBeLessThan(SHORT_WAIT_MS)
    expect((await wharf.root.get('/content/shop/live/item?select=id&id=lt.9')).status).toBe(200)
    await end()
    expect((await applying).status).toBe(200)
  })
})

test.each([
  'SET lock_timeout = 0; ALTER TABLE item ADD size int',
  `DO $$ BEGIN PERFORM set_config('lock_timeout', '0', true); ALTER TABLE item ADD size int;
   EXCEPTION WHEN query_canceled THEN ALTER TABLE item ADD size int; END $$`,
])('nobody waits for long behind a script that has no time-out: %s', async (script) => {
  await createProject(wharf, 'patient', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
  await whileHeld('patient', 'SELECT FROM "patient.live".item', async (end) => {
    const applying = applyScript(wharf, 'patient', script)
    expect(await longestWait(2)).toBeLessThan(SHORT_WAIT_MS)
    await end()
    expect((await applying).status).toBe(200)
  })
  expect((await wharf.root.delete('/projects/patient')).status).toBe(204)
})

test('a change of structure that gives up says who held the table', async () => {
  const hasty = await startWharf({
    beside: wharf,
    environment: { WHARF_SCHEMA_LOCK_SECONDS: '1', WHARF_SECRET_KEY: SECRET_KEY },
  })
  await whileHeld('shop', 'SELECT FROM "shop.live".item', async () => {
    const answer = await applyScript(hasty, 'shop', 'ALTER TABLE item ADD name text')
    expect(answer).toMatchObject({ status: 409, headers: { 'retry-after': '30' } })
    expect(answer.text).toMatch(/table \\"item\\" has been in use for \d+ s by the database session \d+/)
  })
  await hasty.close()
})

test('a change of structure is made once the reader has ended', async () => {
  await whileHeld('shop', 'SELECT FROM "shop.live".item', async (end) => {
    const applying = applyScript(wharf, 'shop', 'ALTER TABLE item ADD colour text')
    await eventually(() => waiters(/^DO /)).toHaveLength(1)
    await end()
    expect((await applying).status).toBe(200)
  })
  expect((await wharf.root.get('/content/shop/live/item')).json).toEqual([{ id: 1, name: null, colour: null }])
})

test('the sessions of a process that was killed end, though their statement goes on', async () => {
  const [{ name } = { name: '' }] = await wharf.database.query<{ name: string }>('SELECT current_database() AS name')
  await withSession(wharf.database.superuserUrl, (session) =>
    session.query(`ALTER DATABASE ${name} SET client_connection_check_interval = 0`),
  )
  const process = await startServiceProcess(
    { databaseUrl: wharf.database.url, dataDir: wharf.dataDir, environment: { WHARF_SECRET_KEY: SECRET_KEY } },
    'api',
  )
  const applying = applyScript(process, 'shop', 'SELECT pg_sleep(600)').catch(() => undefined)
  const running = async () => (await openTransactions(wharf)).filter(({ query }) => query.startsWith('DO '))
  await eventually(running).toHaveLength(1)
  await process.kill('SIGKILL')
  await applying
  await eventually(running).toEqual([])
})

test('a stop ends an export that waits for a lock, and does not wait for it', async () => {
  await createProject(wharf, 'stopped', 'CREATE TABLE item (id int PRIMARY KEY)')
  const service = await startServiceProcess(
    { databaseUrl: wharf.database.url, dataDir: wharf.dataDir, environment: { WHARF_SECRET_KEY: SECRET_KEY } },
    'api',
  )
  await whileHeld('stopped', 'LOCK TABLE "stopped.live".item', async () => {
    // By which the client knows what answers there are.
    expect((await service.root.get('/healthz')).status).toBe(200)
    const asked = service.root.post('/export', { json: { projects: [{ slug: 'stopped' }] } })
    void Promise.allSettled([asked])
    await eventually(() => waiters(/^LOCK TABLE/)).toHaveLength(1)
    const sinceMs = performance.now()
    expect(await service.kill('SIGTERM')).toBe(0)
    expect(performance.now() - sinceMs).toBeLessThan(8_000)
    expect(await asked).toMatchObject({
      status: 503,
      headers: { 'retry-after': '5' },
      json: { type: 'urn:wharf:error:shutting-down' },
    })
    await eventually(() => waiters(/^LOCK TABLE/)).toEqual([])
  })
})

test('an import into a stage with a locked table is refused, naming the table', async () => {
  await createProject(wharf, 'locked', 'CREATE TABLE item (id int PRIMARY KEY, colour text DEFAULT lower($$RED$$))')
  const archive = await exportOf(wharf.root, 'locked')
  await whileHeld('locked', 'LOCK TABLE "locked.live".item', async () => {
    const answer = await sendArchive(wharf.root, archive)
    expect(answer.status).toBe(409)
    expect(answer.text).toMatch(/table \\"item\\" has been in use/)
  })
})

test('an import and an undo are refused while a transaction holds the schema', async () => {
  const archive = await exportOf(wharf.root, 'shop')
  expect((await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })).status).toBe(200)
  await whileHeld('shop', 'GRANT USAGE ON SCHEMA "shop.live" TO PUBLIC', async () => {
    const refused = await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
    expect(refused).toMatchObject({ status: 409, headers: { 'retry-after': '10' } })
    const undone = await wharf.root.post('/projects/shop/stages/live/undo')
    expect(undone).toMatchObject({ status: 409, headers: { 'retry-after': '10' } })
  })
  expect((await wharf.root.post('/projects/shop/stages/live/undo')).status).toBe(200)
})

test("a project is deleted though a session of its own holds its login and its stage's state", async () => {
  await createProject(wharf, 'clinging', 'CREATE TABLE item (id int)')
  const held = `ALTER ROLE CURRENT_USER PASSWORD 'another'; INSERT INTO "clinging.live".item VALUES (1);
    SET CONSTRAINTS ALL IMMEDIATE`
  await whileHeld('clinging', held, async () => {
    expect((await wharf.root.delete('/projects/clinging')).status).toBe(204)
  })
})

test('a start and jobs whose queue is kept locked stop waiting: the one says for what, the others are done later', async () => {
  const working = await startWharf({ worker: true })
  onTestFinished(() => working.close())
  await createProject(working, 'shop', 'CREATE TABLE item (id int PRIMARY KEY)')
  const job = await withSession(working.database.superuserUrl, async (blocker) => {
    await blocker.query('BEGIN; LOCK TABLE bullmq.wharf_key IN EXCLUSIVE MODE; LOCK TABLE bullmq.job IN SHARE MODE')
    await expect(startWharf({ beside: working })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('another session holds the tables of the queue (schema bullmq)'),
    })
    const asked = jobOf(await askExport(working.root, [{ slug: 'shop' }]))
    await eventually(() => working.log()).toContain('the sweep will put it there again')
    await blocker.query('ROLLBACK')
    return asked
  })
  expect(await untilEnded(working.root, job)).toMatchObject({ status: 'succeeded' })
})
