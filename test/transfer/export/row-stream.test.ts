import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPageMemory } from '../../../src/rows/portal.ts'
import { openReadingSession, type ReadingSession } from '../../../src/transfer/export/reading-session.ts'
import { RowStream, tableRows } from '../../../src/transfer/export/row-stream.ts'
import { cursorsOf, declareCursors, type TableCursors } from '../../../src/transfer/export/table-cursors.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'

const SMALL_TABLES = 100

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

/** What is read ahead once that stays the same. */
async function settled(ahead: Ahead): Promise<Ahead> {
  let before = -1
  await eventually(() => {
    const isSame = ahead.bytes > 0 && ahead.bytes === before
    before = ahead.bytes
    return Promise.resolve(isSame)
  }).toBe(true)
  return ahead
}

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
  const session = await openReadingSession(pool, 'test')
  const { stream, tables, ahead } = await begin(session, 'small')
  const { pages } = await settled(ahead)
  expect(pages).toBeGreaterThan(10)
  expect(pages).toBeLessThan(40)
  expect(await rowsOf(stream, tables)).toEqual(Array.from({ length: SMALL_TABLES }, () => 1))
  await session.end()
})

test('of a large table, a session reads so many bytes ahead of who uses the rows, and then the rest', async () => {
  const session = await openReadingSession(pool, 'test')
  const { stream, tables, ahead } = await begin(session, 'large')
  const { bytes } = await settled(ahead)
  expect(bytes).toBeGreaterThan(4 * 1024 * 1024)
  expect(bytes).toBeLessThan(10 * 1024 * 1024)
  expect(await rowsOf(stream, tables)).toEqual([30_000])
  await session.end()
})

test('a session that has not read all of its rows is ended, and not used again', async () => {
  const session = await openReadingSession(pool, 'test')
  const [before] = await session.query<{ pid: number }>('SELECT pg_catalog.pg_backend_pid() AS pid', [])
  const { ahead } = await begin(session, 'large')
  await settled(ahead)
  await session.end()
  const isThere = () => database.query('SELECT FROM pg_stat_activity WHERE pid = $1', [before?.pid])
  await eventually(isThere).toEqual([])
})

test('a session that was given back is not ended once more, since somebody else may have it', async () => {
  const onlyOne = new pg.Pool({ connectionString: database.url, max: 1 })
  const first = await openReadingSession(onlyOne, 'first')
  await first.end()
  const second = await openReadingSession(onlyOne, 'second')
  await first.end()
  expect(await second.query('SHOW transaction_isolation', [])).toEqual([{ transaction_isolation: 'repeatable read' }])
  await second.end()
  await onlyOne.end()
})

test('a session looks for ranges of a table by its blocks, whatever its login has set', async () => {
  const set = new pg.Pool({ connectionString: database.url, max: 1, options: '-c enable_tidscan=off' })
  const session = await openReadingSession(set, 'test')
  expect(await session.query('SHOW enable_tidscan', [])).toEqual([{ enable_tidscan: 'on' }])
  await session.end()
  await set.end()
})
