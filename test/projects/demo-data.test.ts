import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { quoteIdentifier, quoteLiteral } from '../../src/database/quoting.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { openStage, type StageSession } from '../support/database/stage-session.ts'

/** As far from the usual as settings go: the script's rows must not depend on any of them. */
const CONTRARY_SETTINGS: Record<string, string> = {
  DateStyle: 'SQL, DMY',
  TimeZone: 'America/St_Johns',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  default_text_search_config: 'pg_catalog.german',
}

const demoFile = (name: string): Promise<string> => readFile(new URL(`../../demo/${name}`, import.meta.url), 'utf8')

let database: TestDatabase
let harbour: StageSession
let twin: StageSession

beforeAll(async () => {
  database = await createTestDatabase()
  const script = await demoFile('harbour.sql')
  harbour = await openStage(database.url, 'harbour')
  await runAsOneCommand(harbour, script)
  twin = await openStage(database.url, 'twin')
  await twin.run(Object.entries(CONTRARY_SETTINGS).map(([name, value]) => `SET ${name} = ${quoteLiteral(value)}`))
  await runAsOneCommand(twin, script)
  await twin.run(Object.keys(CONTRARY_SETTINGS).map((name) => `RESET ${name}`))
})

afterAll(async () => {
  await harbour?.end()
  await twin?.end()
  await database?.drop()
})

/** As a stage's structure is applied: the whole script in one EXECUTE, which refuses whatever ends a transaction. */
const runAsOneCommand = (stage: StageSession, script: string): Promise<void> =>
  stage.run([`DO ${quoteLiteral(`BEGIN EXECUTE ${quoteLiteral(script)}; END`)}`])

async function tableNames(stage: StageSession): Promise<string[]> {
  const rows = await stage.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY relname`,
    [],
  )
  return rows.map(({ name }) => name)
}

/** Rows and checksum of each table, rows in the order in which they are stored. */
async function contents(stage: StageSession): Promise<Record<string, { rows: number; sum: string }>> {
  const tables: Record<string, { rows: number; sum: string }> = {}
  for (const name of await tableNames(stage)) {
    const [content] = await stage.query<{ rows: number; sum: string }>(
      `SELECT count(*)::integer AS rows, md5(string_agg(t::text, e'\\n' ORDER BY ctid)) AS sum
         FROM ${quoteIdentifier(name)} AS t`,
      [],
    )
    if (content) tables[name] = content
  }
  return tables
}

test('the demo data is the same every time, under whatever settings', async () => {
  expect(await contents(twin)).toEqual(await contents(harbour))
  const sequences = (stage: StageSession): Promise<unknown[]> =>
    stage.query(
      `SELECT sequencename, start_value, increment_by, last_value FROM pg_sequences
        WHERE schemaname = current_schema() ORDER BY sequencename`,
      [],
    )
  expect(await sequences(twin)).toEqual(await sequences(harbour))
})

test('the demo data is a few thousand rows in ten tables, counted in its README', async () => {
  const tables = await contents(harbour)
  const counts = Object.fromEntries(Object.entries(tables).map(([name, { rows }]) => [name, rows]))
  const total = Object.values(counts).reduce((sum, rows) => sum + rows, 0)
  expect(total).toBeGreaterThanOrEqual(3000)
  expect(total).toBeLessThanOrEqual(6000)
  const readme = await demoFile('README.md')
  const rowsInReadme = [...readme.matchAll(/^\| `(\w+)` \| ([\d,]+) \|/gm)]
  expect(Object.fromEntries(rowsInReadme.map(([, name, rows]) => [name, Number(rows?.replace(',', ''))]))).toEqual(
    counts,
  )
  expect(Object.keys(counts)).toHaveLength(10)
  expect(Object.entries(counts).filter(([, rows]) => rows === 0)).toEqual([])
})

test("README.md's sample of a row is one of the demo, with all of its columns that are not computed", async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const lineOf = (kind: string) => JSON.parse(new RegExp(`^\\{"${kind}":.*$`, 'm').exec(readme)?.[0] ?? '{}')[kind]
  const { table, columns } = lineOf('rows')
  const { rows: known } = await harbour.client.query(
    `SELECT attname FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
    [table],
  )
  expect(columns).toEqual(known.map(({ attname }) => attname))
  const texts = columns.map((name: string) => `${quoteIdentifier(name)}::text`).join(', ')
  const { rows: found } = await harbour.client.query(`SELECT ARRAY[${texts}] AS texts FROM ${quoteIdentifier(table)}`)
  expect(found.map(({ texts }) => texts)).toContainEqual(lineOf('row').map(String))
})

const COLUMN_TYPES = [
  'boolean',
  'smallint',
  'integer',
  'bigint',
  'real',
  'double precision',
  'numeric(8,4)',
  'text',
  'character varying(40)',
  'character(4)',
  'uuid',
  'date',
  'time without time zone',
  'time(0) without time zone',
  'timestamp without time zone',
  'timestamp with time zone',
  'interval',
  'bytea',
  'json',
  'jsonb',
  'text[]',
  'integer[]',
  'character(1)[]',
  'ship_kind[]',
  'ship_kind',
  'imo_number',
  'container_number',
  'port_code',
  'geo_position',
  'int4range',
  'numrange',
  'daterange',
  'tstzrange',
  'datemultirange',
  'tsvector',
  'inet',
  'point',
]

test('the demo data has a column of every kind of type', async () => {
  const rows = await harbour.query<{ type: string }>(
    `SELECT DISTINCT format_type(atttypid, atttypmod) AS type
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0`,
    [],
  )
  expect(rows.map(({ type }) => type)).toEqual(expect.arrayContaining(COLUMN_TYPES))
})

/** Each finds at least one row. */
const REMARKABLE_VALUES: readonly [what: string, query: string][] = [
  ['double precision NaN', `SELECT FROM tide_reading WHERE level_m = 'NaN'`],
  ['double precision infinity', `SELECT FROM tide_reading WHERE level_m = 'Infinity'`],
  ['double precision minus infinity', `SELECT FROM tide_reading WHERE level_m = '-Infinity'`],
  ['real NaN', `SELECT FROM container WHERE sensor_celsius = 'NaN'`],
  ['real minus zero', `SELECT FROM container WHERE sensor_celsius::text = '-0'`],
  ['bigint beyond 2^53', `SELECT FROM cargo_item WHERE customs_number > 9007199254740992`],
  ['timestamp at infinity', `SELECT FROM inspection WHERE valid_until = 'infinity'`],
  ['timestamp with microseconds', `SELECT FROM container WHERE extract(microseconds FROM checked_until) % 1000 <> 0`],
  ['date at minus infinity', `SELECT FROM shipping_line WHERE founded = '-infinity'`],
  ['date before Christ', `SELECT FROM port WHERE founded < '0001-01-01'`],
  ['end of the day', `SELECT FROM berth WHERE closes_at = '24:00'`],
  ['negative interval', `SELECT FROM shipping_line WHERE usual_delay < '0'`],
  ['interval of months, days and fractions', `SELECT FROM inspection WHERE took = '1 mon 2 days 03:04:05.678'`],
  [
    'JSON null beside SQL NULL',
    `SELECT FROM cargo_item a, cargo_item b WHERE a.declared = 'null' AND b.declared IS NULL`,
  ],
  ['number too big for JavaScript in jsonb', `SELECT FROM cargo_item WHERE (declared -> 'sparks')::numeric > 1e20`],
  ['json with a key twice', `SELECT FROM inspection WHERE device_report::text LIKE '%"ppm"%"ppm"%'`],
  ['empty array', `SELECT FROM crew_member WHERE papers = '{}'`],
  ['array with NULL', `SELECT FROM crew_member WHERE array_position(papers, NULL) > 0`],
  ['array with the word NULL', `SELECT FROM ship WHERE former_names @> '{"NULL"}'`],
  ['array of two dimensions', `SELECT FROM berth WHERE array_ndims(bollard_tonnes) = 2`],
  ['array counted from 0', `SELECT FROM berth WHERE array_lower(bollard_tonnes, 1) = 0`],
  ['range without an end', `SELECT FROM port_call WHERE upper_inf(stay)`],
  ['empty range', `SELECT FROM port_call WHERE isempty(stay)`],
  ['multirange of two', `SELECT FROM berth WHERE (SELECT count(*) FROM unnest(closed_on)) = 2`],
  ['composite with a NULL inside', `SELECT FROM port WHERE (location).longitude IS NULL`],
  [
    'IPv4 and IPv6',
    `SELECT FROM ship a, ship b WHERE family(a.satellite_address) = 4 AND family(b.satellite_address) = 6`,
  ],
  ['image', `SELECT FROM shipping_line WHERE length(house_flag) = 11 + 6 * 4 * 3`],
  ['tab, line feed and backslash', `SELECT FROM port_call WHERE remark ~ '[\\t\\n\\\\]'`],
  ['empty text beside NULL', `SELECT FROM port_call a, port_call b WHERE a.remark = '' AND b.remark IS NULL`],
  ['alphabets', `SELECT WHERE (SELECT string_agg(name, '') FROM ship) ~ 'É.*λ.*灯.*Ч.*ل.*등.*म.*☠.*ד'`],
  ['identity always', `SELECT FROM pg_attribute WHERE attrelid = 'crew_member'::regclass AND attidentity = 'a'`],
  ['identity by default', `SELECT FROM pg_attribute WHERE attrelid = 'cargo_item'::regclass AND attidentity = 'd'`],
  ['generated column', `SELECT FROM pg_attribute WHERE attrelid = 'port_call'::regclass AND attgenerated = 's'`],
  ['descending sequence', `SELECT FROM pg_sequences WHERE schemaname = current_schema() AND increment_by < 0`],
  [
    'line whose flagship belongs to it',
    `SELECT FROM shipping_line l JOIN ship s ON s.id = l.flagship_id AND s.line_id = l.id`,
  ],
]

test.each(REMARKABLE_VALUES)('the demo data has %s', async (_what, query) => {
  expect((await harbour.query(query, [])).length).toBeGreaterThan(0)
})

const INDEX_METHODS = ['brin', 'btree', 'gin', 'gist', 'hash']

test('the demo data has indexes of every common kind', async () => {
  const [found] = await harbour.query<{ methods: string[]; partial: boolean; expression: boolean; covering: boolean }>(
    `SELECT array_agg(DISTINCT amname::text ORDER BY amname::text) AS methods, bool_or(indpred IS NOT NULL) AS partial,
            bool_or(indexprs IS NOT NULL) AS expression, bool_or(indnatts > indnkeyatts) AS covering
       FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
      WHERE relnamespace = current_schema()::regnamespace`,
    [],
  )
  expect(found).toEqual({ methods: INDEX_METHODS, partial: true, expression: true, covering: true })
})

const MOVE_A_SHIP = 'UPDATE port_call SET quay_metres = other.quay_metres, stay = other.stay FROM port_call AS other'

const REFUSED: readonly [what: string, statement: string, sqlState: string][] = [
  ['an IMO number with a wrong check digit', `UPDATE ship SET imo = 2041712 WHERE id = 1`, '23514'],
  ['a container number with a wrong check digit', `UPDATE container SET number = 'CSQU3054384'`, '23514'],
  ['something that is no container number at all', `UPDATE container SET number = 'a box'`, '23514'],
  ['two ships in one place', `${MOVE_A_SHIP} WHERE port_call.id = 1001 AND other.id = 1002`, '23P01'],
  ['a superior on another ship', `UPDATE crew_member SET reports_to = 1839 WHERE id = 1002`, '23503'],
  ["another line's flagship", `UPDATE shipping_line SET flagship_id = 2 WHERE id = 10`, '23503'],
]

test.each(REFUSED)('the demo data refuses %s', async (_what, statement, code) => {
  const change = harbour
    .run(['BEGIN', 'SET CONSTRAINTS ALL IMMEDIATE', statement])
    .finally(() => harbour.run(['ROLLBACK']))
  await expect(change).rejects.toMatchObject({ code })
})

test('the demo data takes the numbers that the standards give as examples', async () => {
  const [examples] = await harbour.query(
    `SELECT 9074729::imo_number AS imo, 'CSQU3054383'::container_number AS container`,
    [],
  )
  expect(examples).toEqual({ imo: 9074729, container: 'CSQU3054383' })
})
