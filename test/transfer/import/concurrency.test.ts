import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../../src/logger.ts'
import { withStageLocks } from '../../../src/projects/stage-locks.ts'
import { dropBeside, type ShadowSchema, sweepShadowSchemas } from '../../../src/transfer/import/shadow-schemas.ts'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { placedLines } from '../../support/archives/placed-archive.ts'
import { readObjects, readState } from '../../support/database/database-state.ts'
import { PAUSE, withPausePoint } from '../../support/database/pause-point.ts'
import { openTransactions } from '../../support/database/transactions.ts'
import { eventually } from '../../support/eventually.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import type { PlacedProject } from '../../support/service/location.ts'
import { someLocations } from '../../support/service/locations.ts'
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

beforeAll(async () => {
  wharf = await startWharf({ environment: MAY_ATTACH })
})

afterAll(() => wharf.close())

describe.each(someLocations(1))('$name', (location) => {
  let shop: PlacedProject
  let source: PlacedProject
  let few: string
  let many: string

  beforeAll(async () => {
    shop = await location.createProject(wharf, 'shop', { script: STRUCTURE + rows(10, 3) })
    few = await exportOf(wharf.root, 'shop')
    source = await location.createProject(wharf, 'source', { script: STRUCTURE + rows(300, 5) })
    many = (await exportOf(wharf.root, 'source')).replace('"slug":"source"', '"slug":"source","targetSlug":"shop"')
  })

  afterAll(async () => {
    await shop?.remove()
    await source?.remove()
  })

  const contents = async (): Promise<string[]> => placedLines(location, await exportOf(wharf.root, 'shop'))

  /** Unless tests are thorough, those that hardly depend on where a project is are run in Wharf's database alone. */
  const testUsually = test.runIf(!location.isAttached || isThorough)

  const imported = async (archive: string): Promise<void> => {
    const answer = await sendArchive(wharf.root, archive)
    expect(answer, answer.text).toMatchObject({ status: 200 })
  }

  test('of two imports into one stage one is refused, and the other is whole', async () => {
    await withPausePoint(shop, async (pausePoint) => {
      const first = sendArchive(wharf.root, many)
      await pausePoint.reached()
      // In place, others wait for the import, which waits for nobody for long.
      if (!location.isOwned) return expect(await first).toMatchObject({ status: 409 })
      const second = await sendArchive(wharf.root, few)
      expect(second).toMatchObject({ status: 409, headers: { 'retry-after': expect.any(String) } })
      expect(await sendArchive(wharf.root, few, { query: '?dryRun=true' })).toMatchObject({ status: 200 })
      await pausePoint.release()
      expect(await first).toMatchObject({ status: 200 })
    })
    expect(await contents()).toEqual(placedLines(location, location.isOwned ? many : few))
  })

  testUsually('many imports at once leave one of them, whole', async () => {
    const asked = Array.from({ length: 6 }, (_, at) => sendArchive(wharf.root, at % 2 === 0 ? few : many))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses).toContain(200)
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([])
    expect([placedLines(location, few), placedLines(location, many)]).toContainEqual(await contents())
  })

  testUsually('who imports right after another import, or a refusal, finds nobody in the way', async () => {
    const refused = few.replace(/^\{"rowsEnd".*$/m, '{"rowsEnd":{}}')
    for (let round = 0; round < (isThorough ? 30 : 3); round += 1) {
      await imported(few)
      expect(await sendArchive(wharf.root, refused)).toMatchObject({ status: 400 })
    }
  })

  // What was loaded in place is kept nowhere.
  test.runIf(location.isOwned && (!location.isAttached || isThorough))(
    'several who drop what was kept do not end each other',
    async () => {
      await imported(few)
      const [kept] = await wharf.database.query<ShadowSchema>(
        `SELECT schema_name AS "schemaName", stage_id AS "stageId", kind FROM system.side_schema WHERE kind = 'kept' AND expires_at > now()`,
      )
      if (!kept) throw new Error('nothing was kept')
      await withSession(shop.database.url, async (reader) => {
        await reader.query(`BEGIN; SELECT FROM "${kept.schemaName}".orders`)
        const first = dropBeside(wharf.container, kept)
        await eventually(async () => (await openTransactions(shop)).some(({ waits }) => waits === 'Lock')).toBe(true)
        expect(await Promise.all([first, dropBeside(wharf.container, kept)])).toEqual([false, false])
      })
      expect(await dropBeside(wharf.container, kept)).toBe(true)
    },
  )

  test('an undo and a sweep keep away from a stage that is being imported into', async () => {
    await imported(few)
    await withPausePoint(shop, async (pausePoint) => {
      const importing = sendArchive(wharf.root, many)
      await pausePoint.reached()
      const undo = await wharf.root.post('/projects/shop/stages/live/undo?force=true')
      expect(undo).toMatchObject({
        status: 409,
        ...(location.isOwned && { headers: { 'retry-after': expect.any(String) } }),
      })
      await sweepShadowSchemas(wharf.container, createLogger('silent'))
      await pausePoint.release()
      expect(await importing).toMatchObject({ status: 200 })
    })
  })

  test('a client that goes away while its rows are loaded leaves nothing behind', async () => {
    const state = async () => [await readState(wharf.database), await readObjects(shop.database)]
    const before = await state()
    await withPausePoint(shop, async (pausePoint) => {
      const controller = new AbortController()
      const importing = expect(sendArchive(wharf.root, many, { signal: controller.signal })).rejects.toThrow()
      await pausePoint.reached()
      controller.abort()
      await importing
      await expect.poll(state).toEqual(before)
      await expect.poll(() => readdir(wharf.container.spoolFolder)).toEqual([])
    })
  })

  // What is loaded in place is locked meanwhile.
  test.runIf(location.isOwned)(
    'who reads through an import goes on reading, and sees the old rows or the new',
    async () => {
      await imported(few)
      const readings: Reading[] = []
      let over = false
      const reading = readAgainAndAgain(
        { project: shop, isLocked: location.isAttached },
        () => over,
        (seen) => readings.push(seen),
      )
      await withPausePoint(shop, async (pausePoint) => {
        const importing = sendArchive(wharf.root, many)
        await pausePoint.reached()
        const before = readings.length
        await expect.poll(() => readings.length).toBeGreaterThan(before + 20)
        expect(new Set(readings.map(({ orders }) => orders))).toEqual(new Set([10]))
        await pausePoint.release()
        expect(await importing).toMatchObject({ status: 200 })
      })
      for (const archive of [few, many, few, many]) await imported(archive)
      over = true
      await reading
      expect(
        readings.filter(({ orders, expected, lines }) => expected !== lines || ![10, 300].includes(orders)),
      ).toEqual([])
    },
  )

  test('an export through imports has the old rows or the new', async () => {
    const wholes = [few, many].map((archive) => placedLines(location, archive).join('\n'))
    const seen: string[] = []
    let over = false
    const exporting = (async () => {
      while (!over) seen.push((await contents()).join('\n'))
    })()
    for (const archive of [few, many, few, many, few, many]) await imported(archive)
    over = true
    await exporting
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.filter((archive) => !wholes.includes(archive))).toEqual([])
  })

  // In an attached database it does, since no transaction there may see some tables as they were and others as they are.
  test.runIf(!location.isAttached)(
    'an import does not wait for somebody who goes on reading, nor do the next',
    async () => {
      await withSession(shop.database.url, async (reader) => {
        await reader.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM "${shop.schema}".orders`)
        for (const archive of [few, many, few]) await imported(archive)
      })
      await sweepShadowSchemas(wharf.container, createLogger('silent'))
      const schemas = await wharf.database.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'shop.live%'`)
      expect(schemas).toHaveLength(2)
    },
  )

  testUsually('a change of structure after an import is met by the next', async () => {
    await shop.database.query(`ALTER TABLE "${shop.schema}".orders ADD note text`)
    const answer = await sendArchive(wharf.root, few)
    expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('note') })
  })

  testUsually('a stage that is deleted leaves no locks, and nobody gets those of one that is gone', async () => {
    const leaving = await location.createProject(wharf, 'leaving')
    const rows = (): Promise<{ stage_id: string }[]> =>
      wharf.database.query('SELECT stage_id FROM system.stage_lock EXCEPT SELECT stage_id FROM system.stage_state')
    await leaving.remove()
    const [left] = await rows()
    const lock = withStageLocks(wharf.container, [left?.stage_id ?? ''], async () => 'locked')
    await expect(lock).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await sweepShadowSchemas(wharf.container, createLogger('silent'))
    expect(await rows()).toEqual([])
  })
})

interface Reading {
  readonly orders: number
  readonly expected: number
  readonly lines: number
}

/**
 * Reads until told to stop, as often as it can; looks tables up each time, and again where that was moved meanwhile.
 *
 * @param what `isLocked`: nothing is moved that a statement has looked up, so that each reading counts.
 */
async function readAgainAndAgain(
  { project, isLocked }: { readonly project: PlacedProject; readonly isLocked: boolean },
  until: () => boolean,
  onReading: (reading: Reading) => void,
): Promise<void> {
  const { database, schema } = project
  await withSession(database.url, async (reader) => {
    const generation = async (): Promise<unknown> =>
      isLocked ||
      (await reader.query('SELECT generation FROM system.stage_state WHERE schema_name = $1', [schema])).rows[0]
    while (!until()) {
      const before = await generation()
      const { rows: found } = await reader.query<Reading>(
        `SELECT (SELECT count(*)::int FROM "${schema}".orders) AS orders,
                (SELECT sum(lines)::int FROM "${schema}".orders) AS expected,
                (SELECT count(*)::int FROM "${schema}".lines) AS lines`,
      )
      const [reading] = found
      if (reading && JSON.stringify(before) === JSON.stringify(await generation())) onReading(reading)
    }
  })
}
