import { readFile } from 'node:fs/promises'
import { text as readText } from 'node:stream/consumers'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planRead } from '../../../src/content/query/index.ts'
import { openQueryStage, type QueryStage, SCHEMA, undone } from '../../support/content/record-shop.ts'

let harbour: QueryStage
beforeAll(async () => {
  const script = await readFile(new URL('../../../demo/harbour.sql', import.meta.url), 'utf8')
  harbour = await openQueryStage((session) => session.run([script]))
})
afterAll(() => harbour.close())

const tableName = (table: string): string => `${pg.escapeIdentifier(SCHEMA)}.${pg.escapeIdentifier(table)}`

async function one(sql: string, values: readonly unknown[] = []): Promise<string> {
  const [row] = await harbour.session.query<{ text: string }>(sql, values)
  return row?.text ?? ''
}

describe('values of every kind', () => {
  test('come in JSON as PostgreSQL writes them', async () => {
    for (const { name, primaryKey } of harbour.catalog.tables.values()) {
      const key = primaryKey.map((column) => pg.escapeIdentifier(column)).join()
      const { text } = await harbour.read(name, `order=${key}&limit=300`)
      const rows = `SELECT * FROM ${tableName(name)} ORDER BY ${key} LIMIT 300`
      expect(text, name).toBe(await one(`SELECT json_agg(row_to_json(t))::text AS text FROM (${rows}) AS t`))
    }
  })

  test('come in CSV as COPY writes them', async () => {
    for (const { name, primaryKey } of harbour.catalog.tables.values()) {
      const key = primaryKey.map((column) => pg.escapeIdentifier(column)).join()
      const { text } = await harbour.read(name, `order=${key}&limit=300`, { format: 'csv' })
      const copy = `COPY (SELECT * FROM ${tableName(name)} ORDER BY ${key} LIMIT 300) TO STDOUT WITH (FORMAT csv, HEADER)`
      expect(`${text}\n`, name).toBe(await readText(harbour.session.client.query(copyTo(copy))))
    }
  })

  test('are found by their own text', async () => {
    for (const { name, columns } of harbour.catalog.tables.values()) {
      for (const [column, { type }] of columns) {
        if (type.builtIn === 'json' || type.builtIn === 'point') continue
        const own = `${pg.escapeIdentifier(column)}`
        const value = await one(
          `SELECT format('%s', ${own}) AS text FROM ${tableName(name)} WHERE ${own} IS DISTINCT FROM NULL ORDER BY md5(${own}::text) LIMIT 1`,
        )
        for (const filter of [`eq.${value}`, `in.("${value.replaceAll(/["\\]/g, '\\$&')}")`]) {
          const plan = planRead(
            harbour.catalog,
            name,
            [
              ['select', column],
              [column, filter],
              ['limit', '1'],
            ],
            { format: 'json' },
          )
          const [row] = await harbour.session.query(plan.statement.text, plan.statement.values)
          expect(row, `${name}.${column} ${filter}`).toMatchObject({ rows: 1 })
        }
      }
    }
  })

  test('go back in as they came out', async () => {
    for (const { name, columns, primaryKey, kind } of harbour.catalog.tables.values()) {
      if (kind !== 'table') continue
      const settable = [...columns.values()].filter(({ generated, identity }) => !generated && identity !== 'always')
      const select = `select=${settable.map((column) => column.name).join()}&order=${primaryKey.join()}&limit=20`
      if (primaryKey.some((key) => !settable.some((column) => column.name === key))) continue
      await undone(harbour, async () => {
        const { text } = await harbour.read(name, select)
        await harbour.insert(name, text ?? '', '', { return: 'minimal', onDuplicate: 'merge' })
        expect((await harbour.read(name, select)).text, name).toBe(text)
      })
    }
  })
})
