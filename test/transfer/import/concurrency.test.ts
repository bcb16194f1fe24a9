import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../../src/logger.ts'
import { withStageLocks } from '../../../src/projects/stage-locks.ts'
import { dropShadowSchema, type ShadowSchema, sweepShadowSchemas } from '../../../src/transfer/import/shadow-schemas.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { readState } from '../../support/database/database-state.ts'
import { PAUSE, withPausePoint } from '../../support/database/pause-point.ts'
import { openTransactions } from '../../support/database/transactions.ts'
import { eventually } from '../../support/eventually.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

/** Two tables that mean something only together: each order has as many lines as it says. */
const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE orders (id integer PRIMARY KEY, lines integer NOT NULL);
  CREATE TABLE lines (order_id integer NOT NULL REFERENCES orders, n pausing);`

const rows = (orders: number, lines: number): string => `
  INSERT INTO orders SELECT n, ${lines} FROM generate_series(1, ${orders}) n;
  INSERT INTO lines SELECT n, m FROM generate_series(1, ${orders}) n, generate_series(1, ${lines}) m;`

let wharf: TestWharf
let few: string
let many: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', STRUCTURE + rows(10, 3))
  few = await exportOf(wharf.root, 'shop')
  await createProject(wharf, 'source', STRUCTURE + rows(300, 5))
  many = (await exportOf(wharf.root, 'source')).replace('"slug":"source"', '"slug":"source","targetSlug":"shop"')
})

afterAll(() => wharf.close())

test('of two imports into one stage one is refused, and the other is whole', async () => {
  await withPausePoint(wharf, async (pausePoint) => {
    const first = sendArchive(wharf.root, many)
    await pausePoint.reached()
    const second = await sendArchive(wharf.root, few)
    expect(second).toMatchObject({ status: 409, headers: { 'retry-after': expect.any(String) } })
    expect(await sendArchive(wharf.root, few, { query: '?dryRun=true' })).toMatchObject({ status: 200 })
    await pausePoint.release()
    expect(await first).toMatchObject({ status: 200 })
  })
  expect(comparableLines(await exportOf(wharf.root, 'shop'))).toEqual(comparableLines(many))
})

test('many imports at once leave one of them, whole', async () => {
  const asked = Array.from({ length: 6 }, (_, at) => sendArchive(wharf.root, at % 2 === 0 ? few : many))
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  expect(statuses).toContain(200)
  expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([])
  expect([comparableLines(few), comparableLines(many)]).toContainEqual(
    comparableLines(await exportOf(wharf.root, 'shop')),
  )
})

test('who imports right after another import, or a refusal, finds nobody in the way', async () => {
  const refused = few.replace(/^\{"rowsEnd".*$/m, '{"rowsEnd":{}}')
  for (let round = 0; round < (isThorough ? 30 : 5); round += 1) {
    const imported = await sendArchive(wharf.root, few)
    expect(imported, imported.text).toMatchObject({ status: 200 })
    expect(await sendArchive(wharf.root, refused)).toMatchObject({ status: 400 })
  }
})

test('several who drop what was kept do not end each other', async () => {
  expect(await sendArchive(wharf.root, few)).toMatchObject({ status: 200 })
  const [kept] = await wharf.database.query<ShadowSchema>(
    `SELECT schema_name AS "schemaName", stage_id AS "stageId", kind FROM system.side_schema WHERE kind = 'kept' AND expires_at > now()`,
  )
  if (!kept) throw new Error('nothing was kept')
  const { system } = wharf.container
  await withSession(wharf.database.superuserUrl, async (reader) => {
    await reader.query(`BEGIN; SELECT FROM "${kept.schemaName}".orders`)
    const first = dropShadowSchema(system, kept)
    await eventually(async () => (await openTransactions(wharf)).some(({ waits }) => waits === 'Lock')).toBe(true)
    expect(await Promise.all([first, dropShadowSchema(system, kept)])).toEqual([false, false])
  })
  expect(await dropShadowSchema(system, kept)).toBe(true)
})

test('an undo and a sweep keep away from a stage that is being imported into', async () => {
  expect(await sendArchive(wharf.root, few)).toMatchObject({ status: 200 })
  await withPausePoint(wharf, async (pausePoint) => {
    const importing = sendArchive(wharf.root, many)
    await pausePoint.reached()
    const undo = await wharf.root.post('/projects/shop/stages/live/undo?force=true')
    expect(undo).toMatchObject({ status: 409, headers: { 'retry-after': expect.any(String) } })
    await sweepShadowSchemas(wharf.container, createLogger('silent'))
    await pausePoint.release()
    expect(await importing).toMatchObject({ status: 200 })
  })
})

test('a client that goes away while its rows are loaded leaves nothing behind', async () => {
  const before = await readState(wharf.database)
  await withPausePoint(wharf, async (pausePoint) => {
    const controller = new AbortController()
    const importing = expect(sendArchive(wharf.root, many, { signal: controller.signal })).rejects.toThrow()
    await pausePoint.reached()
    controller.abort()
    await importing
    await expect.poll(() => readState(wharf.database)).toEqual(before)
    await expect.poll(() => readdir(wharf.container.spoolFolder)).toEqual([])
  })
})

interface Reading {
  readonly orders: number
  readonly expected: number
  readonly lines: number
}

/**
 * Reads until told to stop, as often as it can; looks tables up each time, and again where that was moved
 * meanwhile.
 */
async function readAgainAndAgain(until: () => boolean, onReading: (reading: Reading) => void): Promise<void> {
  await withSession(wharf.database.url, async (reader) => {
    const generation = async (): Promise<unknown> =>
      (await reader.query(`SELECT generation FROM system.stage_state WHERE schema_name = 'shop.live'`)).rows[0]
    while (!until()) {
      const before = await generation()
      const { rows: found } = await reader.query<Reading>(
        `SELECT (SELECT count(*)::int FROM "shop.live".orders) AS orders,
                (SELECT sum(lines)::int FROM "shop.live".orders) AS expected,
                (SELECT count(*)::int FROM "shop.live".lines) AS lines`,
      )
      const [reading] = found
      if (reading && JSON.stringify(before) === JSON.stringify(await generation())) onReading(reading)
    }
  })
}

test('who reads through an import goes on reading, and sees the old rows or the new', async () => {
  expect(await sendArchive(wharf.root, few)).toMatchObject({ status: 200 })
  const readings: Reading[] = []
  let over = false
  const reading = readAgainAndAgain(
    () => over,
    (seen) => readings.push(seen),
  )
  await withPausePoint(wharf, async (pausePoint) => {
    const importing = sendArchive(wharf.root, many)
    await pausePoint.reached()
    const before = readings.length
    await expect.poll(() => readings.length).toBeGreaterThan(before + 20)
    expect(new Set(readings.map(({ orders }) => orders))).toEqual(new Set([10]))
    await pausePoint.release()
    expect(await importing).toMatchObject({ status: 200 })
  })
  for (const archive of [few, many, few, many]) await sendArchive(wharf.root, archive)
  over = true
  await reading
  expect(readings.filter(({ orders, expected, lines }) => expected !== lines || ![10, 300].includes(orders))).toEqual(
    [],
  )
})

test('an export through imports has the old rows or the new', async () => {
  const wholes = [few, many].map((archive) => comparableLines(archive).join('\n'))
  const seen: string[] = []
  let over = false
  const exporting = (async () => {
    while (!over) seen.push(comparableLines(await exportOf(wharf.root, 'shop')).join('\n'))
  })()
  for (const archive of [few, many, few, many, few, many]) {
    expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
  }
  over = true
  await exporting
  expect(seen.length).toBeGreaterThan(0)
  expect(seen.filter((archive) => !wholes.includes(archive))).toEqual([])
})

test('an import does not wait for somebody who goes on reading, nor do the next', async () => {
  await withSession(wharf.database.url, async (reader) => {
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM "shop.live".orders')
    for (const archive of [few, many, few]) {
      expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
    }
  })
  await sweepShadowSchemas(wharf.container, createLogger('silent'))
  const schemas = await wharf.database.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'shop.live%'`)
  expect(schemas).toHaveLength(2)
})

test('a change of structure after an import is met by the next', async () => {
  await applyScript(wharf, 'shop', 'ALTER TABLE orders ADD note text')
  const answer = await sendArchive(wharf.root, few)
  expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('note') })
})

test('a stage that is deleted leaves no locks, and nobody gets those of one that is gone', async () => {
  await createProject(wharf, 'leaving')
  const rows = (): Promise<{ stage_id: string }[]> =>
    wharf.database.query('SELECT stage_id FROM system.stage_lock EXCEPT SELECT stage_id FROM system.stage_state')
  expect((await wharf.root.delete('/projects/leaving')).status).toBeLessThan(300)
  const [left] = await rows()
  const lock = withStageLocks(wharf.container, [left?.stage_id ?? ''], async () => 'locked')
  await expect(lock).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await sweepShadowSchemas(wharf.container, createLogger('silent'))
  expect(await rows()).toEqual([])
})
