import { afterAll, beforeAll, expect, test } from 'vitest'
import { isOnlyOurs } from '../../../src/transfer/import/resume/is-only-ours.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf
let ids: readonly string[]

/** The transactions that have made the tables, and have filled one of them. */
const idsOfAll = async (): Promise<readonly string[]> => {
  const found = await wharf.database.query<{ id: string }>(
    `SELECT xmin::text AS id FROM pg_class WHERE relnamespace = '"touched.live"'::regnamespace
      UNION SELECT xmin::text FROM "touched.live".filled`,
  )
  return found.map(({ id }) => id)
}

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'touched', 'CREATE TABLE filled (id integer); CREATE TABLE unfilled (id integer)')
  await wharf.database.query('INSERT INTO "touched.live".filled VALUES (1)')
  ids = await idsOfAll()
})
afterAll(() => wharf.close())

/** @param rows of the two tables, as an import knows them. */
const look = (filled: number, unfilled: number): Promise<boolean> =>
  withSession(wharf.database.url, async (session) => {
    await session.query('BEGIN')
    const tables = [
      { name: 'filled', rows: filled },
      { name: 'unfilled', rows: unfilled },
    ]
    return isOnlyOurs(async (sql, parameters) => (await session.query(sql, [...parameters])).rows, {
      ...{ schemaName: 'touched.live', tables, ids },
    })
  })

test('tables that hold what an import has loaded are its own', async () => {
  expect(await look(1, 0)).toBe(true)
})

test('a table that lacks a row is not', async () => {
  expect(await look(2, 0)).toBe(false)
})

test('a row that somebody writes into a table without rows is noticed', async () => {
  await wharf.database.query('INSERT INTO "touched.live".unfilled VALUES (1)')
  expect(await look(1, 0)).toBe(false)
})

test('a row that somebody writes beside those of the import is noticed, also where one of them is gone', async () => {
  await wharf.database.query('TRUNCATE "touched.live".unfilled')
  ids = await idsOfAll()
  expect(await look(1, 0)).toBe(true)
  await wharf.database.query('INSERT INTO "touched.live".filled VALUES (2)')
  expect(await look(2, 0)).toBe(false)
  await wharf.database.query('DELETE FROM "touched.live".filled WHERE id = 1')
  expect(await look(1, 0)).toBe(false)
})

test('a table that several transactions of an import have loaded is its own', async () => {
  await wharf.database.query('INSERT INTO "touched.live".filled VALUES (3)')
  ids = await idsOfAll()
  expect(await look(2, 0)).toBe(true)
  expect(await look(3, 0)).toBe(false)
})
