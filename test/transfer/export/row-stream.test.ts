import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createPageMemory } from '../../../src/rows/portal.ts'
import { openReadingSession, type ReadingSession } from '../../../src/transfer/export/reading-session.ts'
import { RowStream, tableRows } from '../../../src/transfer/export/row-stream.ts'
import { cursorsOf, declareCursors, type TableCursors } from '../../../src/transfer/export/table-cursors.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'

const SMALL_TABLES = 100
const MEBIBYTE = 1024 * 1024

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = new pg.Pool({ connectionString: database.url })
  const small = Array.from(
    { length: SMALL_TABLES },
    (_, index) => `CREATE TABLE small_${index} AS SELECT ${index} AS n`,
  )
  const large = "CREATE TABLE large_0 AS SELECT n, repeat('x', 1000) AS words FROM generate_series(1, 30000) n"
  await database.query([...small, large].join(';'))
})

afterAll(async () => {
  await pool?.end()
  await database?.drop()
})

const COLUMNS = {
  small: { expressions: ['n'], forms: ['number'] },
  large: { expressions: ['n', 'words'], forms: ['number', 'plain'] },
} as const

interface Ahead {
  pages: number
  bytes: number
}

/** Begins to read tables of that name in one session, and notes what is read and not used yet. */
async function begin(session: ReadingSession, name: keyof typeof COLUMNS) {
  const found = await database.query<{ name: string; oid: string }>(
    `SELECT relname::text AS name, oid::text FROM pg_class WHERE relname LIKE '${name}\\_%' ORDER BY oid`,
  )
  const toRead = found.map((table) => ({
    source: { ...table, schemaName: 'public', ...COLUMNS[name] },
    sessions: [session],
  }))
  await declareCursors(toRead)
  const tables = toRead.map(cursorsOf)
  const ahead: Ahead = { pages: 0, bytes: 0 }
  const memory = createPageMemory()
  const noting: ReadingSession = {
    ...session,
    async *rows(portal, pages) {
      for await (const page of session.rows(portal, pages)) {
        ahead.pages += 1
        ahead.bytes += page.lines.length
        yield page
      }
    },
  }
  const stream = new RowStream(
    noting,
    tables.map((table) => ({ table, searchPath: 'SELECT' })),
    memory,
  )
  return { stream, tables, ahead }
}

/** Opens a session, which is closed whatever becomes of the test. */
async function open(from: pg.Pool = pool): Promise<ReadingSession> {
  const session = await openReadingSession(from, 'test')
  onTestFinished(() => session.close(new Error('the test has ended')))
  return session
}

/** Time for more to be read, if it is. */
const aWhile = () => sleep(500)

async function rowsOf(stream: RowStream, tables: readonly TableCursors[]): Promise<number[]> {
  const counts: number[] = []
  for (const table of tables) {
    let rows = 0
    for await (const page of tableRows(table, [stream])) rows += page.rows
    counts.push(rows)
  }
  return counts
}

test('of many small tables, a session reads so many ahead of who uses the rows, and then the rest', async () => {
  const session = await open()
  const { stream, tables, ahead } = await begin(session, 'small')
  await eventually(() => ahead.pages).toBeGreaterThan(30)
  await aWhile()
  expect(ahead.pages).toBeLessThan(40)
  expect(await rowsOf(stream, tables)).toEqual(Array.from({ length: SMALL_TABLES }, () => 1))
  await session.end()
})

test('of a large table, a session reads so many bytes ahead of who uses the rows, and then the rest', async () => {
  const session = await open()
  const { stream, tables, ahead } = await begin(session, 'large')
  await eventually(() => ahead.bytes).toBeGreaterThan(8 * MEBIBYTE)
  await aWhile()
  expect(ahead.bytes).toBeLessThan(10 * MEBIBYTE)
  expect(await rowsOf(stream, tables)).toEqual([30_000])
  await session.end()
})

test('a session that has not read all of its rows is ended, and not used again', async () => {
  const session = await open()
  const [before] = await session.query<{ pid: number }>('SELECT pg_catalog.pg_backend_pid() AS pid', [])
  const { ahead } = await begin(session, 'large')
  await eventually(() => ahead.bytes).toBeGreaterThan(8 * MEBIBYTE)
  await session.end()
  const isThere = () => database.query('SELECT FROM pg_stat_activity WHERE pid = $1', [before?.pid])
  await eventually(isThere).toEqual([])
})

test('a session that was given back is not ended once more, since somebody else may have it', async () => {
  const onlyOne = new pg.Pool({ connectionString: database.url, max: 1 })
  const first = await open(onlyOne)
  await first.end()
  const second = await open(onlyOne)
  await first.end()
  expect(await second.query('SHOW transaction_isolation', [])).toEqual([{ transaction_isolation: 'repeatable read' }])
  await second.end()
  await onlyOne.end()
})

test('a session looks for ranges of a table by its blocks, whatever its login has set', async () => {
  const set = new pg.Pool({ connectionString: database.url, max: 1, options: '-c enable_tidscan=off' })
  const session = await open(set)
  expect(await session.query('SHOW enable_tidscan', [])).toEqual([{ enable_tidscan: 'on' }])
  await session.end()
  await set.end()
})
