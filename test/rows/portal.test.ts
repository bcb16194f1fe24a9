import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPageMemory, type RangePage, readPortal } from '../../src/rows/portal.ts'
import type { ValueForm } from '../../src/rows/value-form.ts'
import { collect } from '../support/archives/archive-sample.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { openStage, type StageSession } from '../support/database/stage-session.ts'

let database: TestDatabase
let stage: StageSession
beforeAll(async () => {
  database = await createTestDatabase()
  stage = await openStage(database.url, 'rows')
})
afterAll(async () => {
  await stage?.end()
  await database?.drop()
})

/** What a query gives; its first column is the range. */
async function read(query: string, forms: readonly ValueForm[]): Promise<RangePage[]> {
  await stage.run(['BEGIN', `DECLARE given CURSOR FOR ${query}`])
  try {
    return await collect(readPortal(stage.client, { name: 'given', forms }, createPageMemory()))
  } finally {
    await stage.run(['ROLLBACK'])
  }
}

const textOf = (pages: readonly RangePage[]): string => pages.map(({ lines }) => lines.toString()).join('')

const COLUMNS = [
  ['t text', 'string', fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replaceAll('\0', ''))],
  [
    'c text',
    'string',
    fc.string({ unit: fc.constantFrom('"', '\\', '\t', '\n', '\v', '\u0001', '\u007f', 'é', '東', 'a') }),
  ],
  ['i int4', 'number', fc.integer()],
  ['d float8', 'number', fc.double()],
  ['r float4', 'number', fc.float()],
  ['b bool', 'boolean', fc.boolean()],
  ['u uuid', 'plain', fc.uuid()],
  ['m interval', 'plain', fc.integer().map((months) => `${months} months ${months} microseconds`)],
] as const

test('a row is written as PostgreSQL itself writes it in JSON, whatever its values', async () => {
  const names = COLUMNS.map(([column]) => column.split(' ')[0])
  await stage.run([`CREATE TABLE given (n serial, ${COLUMNS.map(([column]) => column).join(', ')})`])
  const row = fc.tuple(...COLUMNS.map(([, , value]) => fc.option<unknown>(value)))
  const rows = fc.sample(row, { numRuns: 3000, seed: 7 })
  const given = JSON.stringify(
    rows.map((values) => Object.fromEntries(values.map((value, at) => [names[at], jsonOf(value)]))),
  )
  await stage.query(`INSERT INTO given (${names}) SELECT ${names} FROM json_populate_recordset(NULL::given, $1)`, [
    given,
  ])
  const forms = COLUMNS.map(([, form]) => form)
  const pages = await read(`SELECT 0, ${names} FROM given ORDER BY n`, forms)
  const expected = await stage.query<{ line: string }>(
    `SELECT json_build_array(${names})::text AS line FROM given ORDER BY n`,
    [],
  )
  expect(textOf(pages)).toBe(expected.map(({ line }) => `{"row":${line}}\n`).join(''))
  expect(pages.reduce((sum, page) => sum + page.rows, 0)).toBe(3000)
})

/** What JSON has no number for, as text. */
const jsonOf = (value: unknown): unknown => {
  if (typeof value !== 'number') return value
  return Number.isFinite(value) && !Object.is(value, -0) ? value : Object.is(value, -0) ? '-0' : String(value)
}

test('rows of different ranges are in different pages, and ranges without rows have none', async () => {
  const pages = await read(`SELECT n / 10 * 3, n FROM generate_series(5, 34) n WHERE n NOT BETWEEN 10 AND 19`, [
    'number',
  ])
  expect(pages.map(({ range, rows }) => [range, rows])).toEqual([
    [0, 5],
    [6, 10],
    [9, 5],
  ])
})

test('rows without values are rows', async () => {
  expect(textOf(await read('SELECT 7 FROM generate_series(1, 2)', []))).toBe('{"row":[]}\n{"row":[]}\n')
})

test('a value of many megabytes, all of which JSON escapes, comes as it is, in pages no longer than others', async () => {
  const given = '(VALUES (3), (3), (7)) AS given (n)'
  const pages = await read(`SELECT n, n, repeat(E'\\x01"', 3000000), NULL FROM ${given}`, [
    'number',
    'string',
    'boolean',
  ])
  const line = (n: number) => `{"row":[${n}, "${'\\u0001\\"'.repeat(3_000_000)}", null]}\n`
  expect(textOf(pages) === line(3) + line(3) + line(7)).toBe(true)
  expect(Math.max(...pages.map(({ lines }) => lines.length))).toBeLessThan(1024 * 1024)
  const rowsOf = (range: number) => pages.filter((page) => page.range === range).map(({ rows }) => rows)
  expect(rowsOf(3).filter((rows) => rows > 0)).toEqual([1, 1])
  expect(rowsOf(7).filter((rows) => rows > 0)).toEqual([1])
  expect(new Set(pages.map(({ range }) => range))).toEqual(new Set([3, 7]))
})

test('an error in the middle of the rows is thrown, and the client can be used again', async () => {
  await expect(read('SELECT 0, 1 / (n - 50000) FROM generate_series(1, 60000) n', ['number'])).rejects.toThrow(
    'division by zero',
  )
  expect(await stage.query('SELECT 1 AS one', [])).toEqual([{ one: 1 }])
  expect(textOf(await read('SELECT 0, 1', ['number']))).toBe('{"row":[1]}\n')
})

test('rows that do not hold the values they should end the session, with an error that says so', async () => {
  const other = await openStage(database.url, 'other')
  const lost = new Promise((resolve) => other.client.once('error', resolve))
  try {
    await other.run(['BEGIN', 'DECLARE given CURSOR FOR SELECT 0, 1, 2'])
    const pages = collect(readPortal(other.client, { name: 'given', forms: ['number'] }, createPageMemory()))
    await expect(pages).rejects.toThrow('a row that does not hold the values')
    expect(await lost).toBeInstanceOf(Error)
  } finally {
    await other.end()
  }
})
