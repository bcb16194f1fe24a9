import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ArchivedTable, tablesOf } from '../../support/archives/archive-text.ts'
import { exportOf } from '../../support/archives/import.ts'
import { openExport, readRest, readSome } from '../../support/archives/open-export.ts'
import { openTransactions } from '../../support/database/transactions.ts'
import { eventually } from '../../support/eventually.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})

afterAll(() => wharf.close())

const namesAndRows = (tables: readonly ArchivedTable[]) =>
  Object.fromEntries(tables.map(({ name, rows }) => [name, rows.length < 10 ? rows : rows.length]))

/** Statements that come while the export is sending its first table, and what becomes of each. */
const MEANWHILE: readonly [statement: string, waits: boolean][] = [
  [`INSERT INTO shop.later VALUES (4, 'new')`, false],
  [`UPDATE shop.later SET name = 'changed' WHERE id = 1`, false],
  [`DELETE FROM shop.later WHERE id = 2`, false],
  [`DELETE FROM shop.big`, false],
  [`SELECT nextval('shop.later_id_seq')`, false],
  [`CREATE TABLE shop.latest AS SELECT 1 AS n`, false],
  [`TRUNCATE shop.later`, true],
  [`ALTER TABLE shop.later ADD COLUMN extra int DEFAULT 7`, true],
  [`DROP TABLE shop.later`, true],
]

test('an export shows the moment at which it began, whatever comes while it is sent', async () => {
  await createProject(
    wharf,
    'shop',
    `CREATE TABLE big AS SELECT n AS id, repeat(md5(n::text), 15) AS filler FROM generate_series(1, 60000) n;
     CREATE TABLE later (id serial PRIMARY KEY, name text);
     INSERT INTO later (name) VALUES ('a'), ('b'), ('c');`,
  )
  const response = await openExport(wharf, ['shop'])
  const beginning = await readSome(response, 100_000)
  const waiting: Promise<unknown>[] = []
  const toStage = (statement: string): string => statement.replaceAll('shop.', '"shop.live".')
  for (const [statement, waits] of MEANWHILE) {
    const done = withSession(wharf.database.url, (session) => session.query(toStage(statement)))
    // The second of two that wait is refused once the first has dropped the table, which is all right.
    if (waits) waiting.push(Promise.allSettled([done]))
    else await done
  }
  const waits = MEANWHILE.filter(([, waits]) => waits).length
  await eventually(async () =>
    (await openTransactions(wharf)).filter((transaction) => transaction.waits === 'Lock'),
  ).toHaveLength(waits)

  const archive = Buffer.concat([beginning, await readRest(response)]).toString()
  expect(namesAndRows(tablesOf(archive))).toEqual({
    big: 60_000,
    later: [
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ],
  })
  expect(archive).toContain('"value":"3","called":true')
  await Promise.all(waiting)
})

test('an export that finds a table being emptied waits for that, and has the rows of after it', async () => {
  await createProject(wharf, 'emptied', 'CREATE TABLE t AS SELECT n FROM generate_series(1, 5) n')
  await withSession(wharf.database.url, async (session) => {
    await session.query('BEGIN')
    await session.query('TRUNCATE "emptied.live".t')
    await session.query('INSERT INTO "emptied.live".t VALUES (6)')
    const asked = wharf.root.post('/export', { json: { projects: [{ slug: 'emptied' }] } })
    await eventually(async () =>
      (await openTransactions(wharf)).some(({ waits, query }) => waits && query.startsWith('LOCK')),
    ).toBe(true)
    await session.query('COMMIT')
    expect(namesAndRows(tablesOf((await asked).text))).toEqual({ t: [[6]] })
  })
})

/** While somebody goes on paying. */
const EXPORTS = isThorough ? 12 : 4

test('projects in one archive are of one moment', async () => {
  const script = 'CREATE TABLE purse (coins int); INSERT INTO purse VALUES (500)'
  for (const slug of ['anna', 'bert']) await createProject(wharf, slug, script)
  const stop = new AbortController()
  const paying = withSession(wharf.database.url, async (session) => {
    for (let n = 0; !stop.signal.aborted; n += 1) {
      await session.query('BEGIN')
      await session.query(`UPDATE "anna.live".purse SET coins = coins - ${n % 7}`)
      await session.query(`UPDATE "bert.live".purse SET coins = coins + ${n % 7}`)
      await session.query('COMMIT')
    }
  })
  const balances = new Set<number>()
  for (let n = 0; n < EXPORTS; n += 1) {
    const projects = n % 2 ? ['anna', 'bert'] : ['bert', 'anna']
    const { text } = await wharf.root.post('/export', { json: { projects: projects.map((slug) => ({ slug })) } })
    const coins = tablesOf(text).map(({ rows }) => Number(rows[0]?.[0]))
    expect(coins).toHaveLength(2)
    expect(coins.reduce((sum, purse) => sum + purse)).toBe(1000)
    balances.add(coins[n % 2 ? 0 : 1] ?? 0)
  }
  stop.abort()
  await paying
  // Else nothing would have been going on.
  expect(balances.size).toBeGreaterThan(EXPORTS / 2)
})

test('stages of one project are of one moment', async () => {
  await createProject(wharf, 'staged', 'CREATE TABLE purse AS SELECT 500 AS coins')
  await wharf.root.post('/projects/staged/stages', { json: { slug: 'draft' } })
  await wharf.root.post('/projects/staged/stages/draft/schema', {
    headers: { 'content-type': 'application/sql' },
    body: 'CREATE TABLE purse AS SELECT 500 AS coins',
  })
  const stop = new AbortController()
  const paying = withSession(wharf.database.url, async (session) => {
    while (!stop.signal.aborted) {
      await session.query(`WITH a AS (UPDATE "staged.live".purse SET coins = coins - 1)
                           UPDATE "staged.draft".purse SET coins = coins + 1`)
      await delay(1)
    }
  })
  for (let n = 0; n < 6; n += 1) {
    const text = await exportOf(wharf.root, 'staged')
    expect(tablesOf(text).reduce((sum, { rows }) => sum + Number(rows[0]?.[0]), 0)).toBe(1000)
  }
  stop.abort()
  await paying
})
