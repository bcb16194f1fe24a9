import { afterAll, beforeAll, expect, test } from 'vitest'
import { quoteIdentifier } from '../../../src/database/quoting.ts'
import { TEXT_FORM_SETTINGS } from '../../../src/database/session-settings.ts'
import { createPageMemory, readPortal } from '../../../src/rows/portal.ts'
import { readStructure, type TableStructure, tablesOf } from '../../../src/transfer/structure/read-structure.ts'
import { collect } from '../../support/archives/archive-sample.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { openStage, type StageSession } from '../../support/database/stage-session.ts'

type RowValue = string | number | boolean | null

/** As far from the form of archives as settings go; the archive's own must overrule every one. */
const CONTRARY_SETTINGS: Record<string, string> = {
  DateStyle: 'SQL, DMY',
  TimeZone: 'Asia/Kolkata',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  xmloption: 'document',
  quote_all_identifiers: 'on',
}

let database: TestDatabase
let stage: StageSession
let tables: readonly TableStructure[]

beforeAll(async () => {
  database = await createTestDatabase()
  stage = await openStage(database.url, 'values')
  await stage.runFixture('edge-values.sql')
  await applySettings(CONTRARY_SETTINGS)
  await applySettings(TEXT_FORM_SETTINGS)
  tables = tablesOf(await readStructure(stage.query, 'values'))
})

afterAll(async () => {
  await stage?.end()
  await database?.drop()
})

async function applySettings(settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await stage.query('SELECT pg_catalog.set_config($1, $2, false)', [name, value])
  }
}

const columnList = ({ columns }: TableStructure): string => columns.map(({ name }) => quoteIdentifier(name)).join(', ')

/** The rows as an archive has them, through JSON. */
async function exportRows({ line, columns }: TableStructure): Promise<RowValue[][]> {
  const values = ['0', ...columns.map(({ expression }) => expression)].join(', ')
  const query = `SELECT ${values} FROM ${quoteIdentifier(line.name)} ORDER BY "case"`
  await stage.run(['BEGIN', `DECLARE exported CURSOR FOR ${query}`])
  const portal = { name: 'exported', forms: columns.map(({ form }) => form) }
  const pages = await collect(readPortal(stage.client, portal, createPageMemory()))
  await stage.run(['COMMIT'])
  // A page may end in the middle of a long line.
  const text = Buffer.concat(pages.map((page) => page.lines)).toString()
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).row]))
}

/** JavaScript writes -0 as "0", so a reader of archives has to look out for it. */
const toText = (value: RowValue): string | null => (value === null ? null : Object.is(value, -0) ? '-0' : String(value))

/** Every value in binary, and as text, since the binary form of xml is not the stored one. */
async function exactRows(table: TableStructure, from: string): Promise<unknown[]> {
  const columns = columnList(table)
  const texts = table.columns.map(({ name }) => `format('%s', ${quoteIdentifier(name)})`).join(', ')
  const xmls = table.line.columns
    .filter(({ type }) => type === 'xml')
    .map(({ name }) => `${quoteIdentifier(name)}::text`)
  return stage.query(
    `SELECT "case", md5(record_send(ROW(${columns}))) AS bits, ARRAY[${texts}] AS texts,
            ARRAY[${xmls.join(', ')}]::text[] AS xmls
       FROM ${from} ORDER BY "case"`,
    [],
  )
}

test('every value of every type comes back as it was, bit by bit', async () => {
  expect(tables.length).toBeGreaterThan(15)
  for (const table of tables) {
    const rows = await exportRows(table)
    await stage.run([`CREATE TEMPORARY TABLE copy (LIKE ${quoteIdentifier(table.line.name)})`])
    const parameters = table.columns.map((_, index) => `$${index + 1}`).join(', ')
    for (const row of rows) {
      await stage.query(`INSERT INTO pg_temp.copy (${columnList(table)}) VALUES (${parameters})`, row.map(toText))
    }
    const original = await exactRows(table, quoteIdentifier(table.line.name))
    expect(await exactRows(table, 'pg_temp.copy'), table.line.name).toEqual(original)
    await stage.run(['DROP TABLE pg_temp.copy'])
  }
})

const WRITTEN_FORMS: readonly [type: string, value: string, expected: RowValue][] = [
  ['boolean', 'true', true],
  ['smallint', '-32768', -32768],
  ['integer', '7', 7],
  ['edge_positive', '7', 7],
  ['edge_flag', 'false', false],
  ['real', '0.1', 0.1],
  ['double precision', '0.30000000000000004', 0.30000000000000004],
  ['double precision', 'NaN', 'NaN'],
  ['edge_float', '-Infinity', '-Infinity'],
  ['bigint', '1', '1'],
  ['edge_of_domain', '9007199254740993', '9007199254740993'],
  ['numeric', '1.50', '1.50'],
  ['char(4)', 'a', 'a   '],
  ['bytea', '\\x00ff', '\\x00ff'],
  ['date', '2000-02-29', '2000-02-29'],
  ['timestamp', '2000-02-29 01:02:03', '2000-02-29 01:02:03'],
  ['timestamptz', '2000-02-29 01:02:03+01', '2000-02-29 00:02:03+00'],
  ['interval', '1 day -1 second', '1 day -00:00:01'],
  ['money', '-1234.5', '-$1,234.50'],
  ['json', '{"a":  1}', '{"a":  1}'],
  ['jsonb', 'null', 'null'],
  ['edge_json', '{"a":  1}', '{"a": 1}'],
  ['integer[]', '[0:1]={1,NULL}', '[0:1]={1,NULL}'],
  ['int2vector', '1 2', '1 2'],
  ['edge_pair', '(,)', '(,)'],
  ['edge_cast', 'one', 'one'],
  ['edge_cast_pair', '(one,1)', '(one,1)'],
  ['edge_cast_domain', 'two', 'two'],
  ['int4range', '[1,2]', '[1,3)'],
  ['inet', '10.0.0.1', '10.0.0.1'],
  ['regclass', 'edge_rows', 'edge_rows'],
  ['xml', '<?xml version="1.0" encoding="latin1"?><a/>', '<?xml version="1.0" encoding="latin1"?><a/>'],
]

test('numbers that JavaScript holds exactly and booleans stand as such, all else as the text of its type', async () => {
  const columns = WRITTEN_FORMS.map(([type], index) => `c${index} ${type}`)
  await stage.run([`CREATE TABLE written ("case" text, ${columns.join(', ')})`])
  const parameters = WRITTEN_FORMS.map((_, index) => `$${index + 1}`).join(', ')
  const values = WRITTEN_FORMS.map(([, value]) => value)
  await stage.query(`INSERT INTO written VALUES ('one', ${parameters})`, values)

  const withWritten = tablesOf(await readStructure(stage.query, 'values'))
  const written = withWritten.filter(({ line }) => line.name === 'written')
  const [rows] = await Promise.all(written.map(exportRows))
  expect(rows?.[0]?.slice(1)).toEqual(WRITTEN_FORMS.map(([, , expected]) => expected))
})

test('generated columns carry no values', () => {
  const generated = tables.find(({ line }) => line.name === 'edge_generated')
  expect(generated?.columns.map(({ name }) => name)).toEqual(['case', 'n', 'id'])
})
