import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { quoteIdentifier } from '../../../src/database/quoting.ts'
import { TEXT_FORM_SETTINGS } from '../../../src/database/session-settings.ts'
import { type ArchivedTable, linesOf, type RowValue, tablesOf } from '../../support/archives/archive-text.ts'
import { exportOf } from '../../support/archives/import.ts'
import { openSession } from '../../support/servers/sessions.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const tableLineSchema = z.object({
  table: z.object({ name: z.string(), columns: z.array(z.object({ name: z.string(), type: z.string() })) }),
})

let wharf: TestWharf
let session: pg.Client
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'edge', await readFile(new URL('../../fixtures/edge-values.sql', import.meta.url), 'utf8'))
  archive = await exportOf(wharf.root, 'edge')
  session = await openSession(wharf.database.url)
  for (const [name, value] of Object.entries({ ...TEXT_FORM_SETTINGS, search_path: '"edge.live"' })) {
    await session.query('SELECT set_config($1, $2, false)', [name, value])
  }
})

afterAll(async () => {
  await session?.end()
  await wharf?.close()
})

/** The type of each column of a table, as the archive's structure lines say. */
function typesOf(table: string): Map<string, string> {
  const lines = linesOf(archive).filter((line) => line.startsWith('{"table":'))
  const found = lines.map((line) => tableLineSchema.parse(JSON.parse(line)).table).find(({ name }) => name === table)
  return new Map(found?.columns.map(({ name, type }) => [name, type]))
}

/** JavaScript writes -0 as "0". */
const toText = (value: RowValue): string | null => (value === null ? null : Object.is(value, -0) ? '-0' : String(value))

/**
 * Whether a column is what its type reads the parameter as: in its text, and in its binary form, which also tells NULL
 * from empty. (The binary form of xml is not the stored one; the cast to text is.)
 */
function comparison(column: string, type: string, parameter: number): string {
  const [stored, read] = [quoteIdentifier(column), `$${parameter}::${type}`]
  const texts = `format('%s', ${stored}) = format('%s', ${read})`
  const bits = `record_send(ROW(${stored})) = record_send(ROW(${read}))`
  const xmls = type === 'xml' ? ` AND ${stored}::text IS NOT DISTINCT FROM (${read})::text` : ''
  return `${texts} AND ${bits}${xmls} AS ${quoteIdentifier(column)}`
}

async function differences({ name, columns, rows }: ArchivedTable): Promise<string[]> {
  const types = typesOf(name)
  const comparisons = columns.map((column, index) => comparison(column, types.get(column) ?? '', index + 1))
  const found: string[] = []
  for (const row of rows) {
    const { rows: compared } = await session.query<Record<string, boolean>>(
      `SELECT ${comparisons.join(', ')} FROM ${quoteIdentifier(name)} WHERE "case" = $1`,
      row.map(toText),
    )
    if (compared.length !== 1) found.push(`${name}: ${row[0]} is there ${compared.length} times`)
    const differing = Object.entries(compared[0] ?? {}).filter(([, same]) => !same)
    found.push(...differing.map(([column]) => `${name}: ${column} of "${row[0]}" is different`))
  }
  return found
}

test('every exported value reads back in PostgreSQL as the stored one, bit by bit', async () => {
  const tables = tablesOf(archive)
  expect(tables.length).toBeGreaterThan(15)
  expect(tables.filter(({ rows }) => rows.length === 0).map(({ name }) => name)).toEqual(['edge_without_rows'])
  for (const table of tables) expect(await differences(table), table.name).toEqual([])
})

test('an export is the same whatever settings the login has', async () => {
  const [{ login } = { login: '' }] = await wharf.database.query<{ login: string }>(
    `SELECT login FROM control.project WHERE slug = 'edge'`,
  )
  const contrary = {
    DateStyle: 'SQL, DMY',
    TimeZone: 'Asia/Kolkata',
    IntervalStyle: 'sql_standard',
    bytea_output: 'escape',
    extra_float_digits: '-15',
    quote_all_identifiers: 'on',
    search_path: 'pg_temp',
  }
  for (const [name, value] of Object.entries(contrary)) {
    await wharf.database.query(`ALTER ROLE ${quoteIdentifier(login)} SET ${name} = '${value}'`)
  }
  await wharf.database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [login])
  const again = await wharf.root.post('/export', { json: { projects: [{ slug: 'edge' }] } })
  expect(linesOf(again.text).slice(1)).toEqual(linesOf(archive).slice(1))
})
