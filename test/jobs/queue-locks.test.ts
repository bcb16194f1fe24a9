import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openSession as openWharfSession } from '../../src/database/session-client.ts'
import { createLogger } from '../../src/logger.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { openSession } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * What BullMQ's functions lock instead of PostgreSQL's advisory locks.
 */

let wharf: TestWharf
let one: pg.Client
let other: pg.Client

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
})

afterAll(() => wharf.close())

const begin = async (): Promise<pg.Client> => {
  const session = await openSession(wharf.database.url)
  await session.query(`SET search_path = bullmq, pg_catalog; SET lock_timeout = '10s'`)
  await session.query('BEGIN')
  return session
}

beforeEach(async () => {
  one = await begin()
  other = await begin()
})

afterEach(async () => {
  await one.end()
  await other.end()
})

const take = (session: pg.Client, ...key: readonly number[]) => session.query(`SELECT pg_advisory_xact_lock(${key})`)
const takeShared = (session: pg.Client, ...key: readonly number[]) =>
  session.query(`SELECT pg_advisory_xact_lock_shared(${key})`)
const tryToTake = async (session: pg.Client, key: number): Promise<unknown> =>
  (await session.query(`SELECT pg_try_advisory_xact_lock(${key}) AS taken`)).rows[0]?.taken

const isWaiting = async (): Promise<boolean> => {
  const rows = await wharf.database.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%advisory%'`,
  )
  return rows.length > 0
}

/** Makes sure that `other` waits for `one`, and gets what it waits for when that ends. */
async function expectToWait(taking: Promise<unknown>, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT'): Promise<void> {
  await eventually(isWaiting).toBe(true)
  await one.query(end)
  await expect(taking).resolves.toMatchObject({ rowCount: 1 })
}

test.each(['COMMIT', 'ROLLBACK'] as const)('a key that was never taken is taken by one at a time: %s', async (end) => {
  await take(one, end === 'COMMIT' ? 901 : 902)
  await expectToWait(take(other, end === 'COMMIT' ? 901 : 902), end)
})

test('a key that was taken before is taken by one at a time', async () => {
  await take(one, 903)
  await one.query('COMMIT; BEGIN')
  await take(one, 903)
  await expectToWait(take(other, 903))
})

test('a pair is shared by those who only share it, and kept from others', async () => {
  await takeShared(one, 7, 904)
  await one.query('COMMIT; BEGIN')
  await takeShared(one, 7, 904)
  await takeShared(other, 7, 904)
  await other.query('ROLLBACK; BEGIN')
  await expectToWait(take(other, 7, 904))
})

test('a key that somebody has is not waited for by who only tries', async () => {
  expect(await tryToTake(one, 905)).toBe(true)
  await one.query('COMMIT; BEGIN')
  expect(await tryToTake(one, 905)).toBe(true)
  expect(await tryToTake(other, 905)).toBe(false)
  await one.query('COMMIT')
  expect(await tryToTake(other, 905)).toBe(true)
})

test('transactions that take other keys never wait for each other, in whatever order', async () => {
  const keys = Array.from({ length: 3_000 }, (_, index) => 10_000 + index)
  await one.query('SELECT count(pg_advisory_xact_lock(key)) FROM unnest($1::integer[]) key', [keys])
  await one.query('SELECT count(pg_advisory_xact_lock(1, key)) FROM unnest($1::integer[]) key', [keys])
  const others = keys.map((key) => -key)
  await other.query(`SET LOCAL lock_timeout = '1s'`)
  await other.query('SELECT count(pg_advisory_xact_lock(key)) FROM unnest($1::integer[]) key', [others])
  await other.query('SELECT count(pg_advisory_xact_lock(1, key)) FROM unnest($1::integer[]) key', [others])
  const { rows } = await other.query('SELECT count(*)::int AS taken FROM wharf_key WHERE key ~ $1', [
    '^(1 )?-1[0-2][0-9]{3}$',
  ])
  expect(rows).toEqual([{ taken: 6_000 }])
})

test('the keys that jobs take are there from the start, so that nobody waits for another to make one', async () => {
  const keys = () => wharf.database.query('SELECT key FROM bullmq.wharf_key ORDER BY key')
  const before = await keys()
  await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY)')
  const jobs = await Promise.all([1, 2, 3].map(async () => jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))))
  for (const job of jobs) expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded' })
  await eventually(() => wharf.database.query('SELECT id FROM bullmq.job')).toEqual([])
  expect(await keys()).toEqual(before)
})

test('a process that stands still in a transaction of the queue stops it for seconds only', async () => {
  await createProject(wharf, 'waiting')
  const session = { kind: 'queue', applicationName: 'wharf queue', logger: createLogger('silent') } as const
  const frozen = await openWharfSession(wharf.database.url, session)
  await frozen.query('BEGIN')
  await frozen.query('LOCK TABLE bullmq.job, bullmq.wharf_key')
  let answer = await askExport(wharf.root, [{ slug: 'waiting' }])
  expect(answer).toMatchObject({ status: 503, json: { type: 'urn:wharf:error:queue-unavailable' } })
  await eventually(async () => {
    answer = await askExport(wharf.root, [{ slug: 'waiting' }])
    return answer.status
  }).toBe(202)
  expect(await untilEnded(wharf.root, jobOf(answer))).toMatchObject({ status: 'succeeded' })
  await expect(frozen.query('COMMIT')).rejects.toThrow()
  await frozen.end().catch(() => undefined)
})
