import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPool } from '../../src/database/pool.ts'
import { toByteText } from '../../src/lib/byte-text.ts'
import { BYTE_TEXT_COLUMN, prepareRuntime, readByteText } from '../../src/lib/runtime.ts'
import { createLogger } from '../../src/logger.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'

const TEXT = 'Zürich São 東京 🚢 café'

let database: TestDatabase
let pool: pg.Pool
beforeAll(async () => {
  database = await createTestDatabase()
  pool = createPool(
    database.url,
    { maxConnections: 1, session: 'project', givesByteText: true },
    createLogger('silent'),
  )
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

test('a column that is asked for as byte text comes as its bytes in UTF-8', async () => {
  const { rows } = await pool.query(`SELECT $1::text AS ${BYTE_TEXT_COLUMN}, 7 AS number`, [TEXT])
  expect(rows).toEqual([{ [BYTE_TEXT_COLUMN]: toByteText(TEXT), number: 7 }])
  expect(Buffer.from(rows[0][BYTE_TEXT_COLUMN], 'latin1').toString()).toBe(TEXT)
})

test('other results on the same connection are text as ever, before and after', async () => {
  const plain = () => pool.query('SELECT $1::text AS plain', [TEXT])
  await plain()
  await pool.query(`SELECT $1::text AS ${BYTE_TEXT_COLUMN}`, [TEXT])
  expect((await plain()).rows).toEqual([{ plain: TEXT }])
})

test('an error in the middle of byte text is told in words that can be read', async () => {
  const failing = `SELECT CASE WHEN n < 3 THEN $1::text ELSE (1 / (n - 3))::text END AS ${BYTE_TEXT_COLUMN}
                   FROM generate_series(1, 3) AS n`
  await expect(pool.query(failing, [TEXT])).rejects.toThrow('division by zero')
  await expect(pool.query(`SELECT '${TEXT}'::int AS ${BYTE_TEXT_COLUMN}`)).rejects.toThrow(TEXT)
  expect((await pool.query('SELECT $1::text AS plain', [TEXT])).rows).toEqual([{ plain: TEXT }])
})

test('a connection that does not export gives that column as text', async () => {
  const ordinary = createPool(database.url, { maxConnections: 1, session: 'project' }, createLogger('silent'))
  const { rows } = await ordinary.query(`SELECT $1::text AS ${BYTE_TEXT_COLUMN}`, [TEXT])
  await ordinary.end()
  expect(rows).toEqual([{ [BYTE_TEXT_COLUMN]: TEXT }])
})

test('the same bytes are read where byte text is switched off', async () => {
  const options = { maxConnections: 1, session: 'project', givesByteText: true } as const
  prepareRuntime(['byte-text', 'liftoff'])
  try {
    const decoding = createPool(database.url, options, createLogger('silent'))
    const { rows } = await decoding.query(`SELECT $1::text AS ${BYTE_TEXT_COLUMN}`, [TEXT])
    await decoding.end()
    expect(rows).toEqual([{ [BYTE_TEXT_COLUMN]: TEXT }])
    expect(readByteText(rows[0][BYTE_TEXT_COLUMN])).toBe(toByteText(TEXT))
  } finally {
    prepareRuntime(['liftoff'])
  }
})
