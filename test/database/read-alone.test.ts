import type pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createPool } from '../../src/database/pool.ts'
import { type LoneRead, readAlone } from '../../src/database/read-alone.ts'
import { resetSession } from '../../src/database/session-client.ts'
import { createLogger } from '../../src/logger.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'

/*
 * Reads in one session, which keeps their statements: whatever one of them does, the next finds the session as it was.
 */

let database: TestDatabase
let pool: pg.Pool

const STAGES = ['first', 'second'] as const

beforeAll(async () => {
  database = await createTestDatabase()
  for (const stage of STAGES) {
    await database.query(`
      CREATE SCHEMA ${stage}; CREATE TABLE ${stage}.item (id int PRIMARY KEY, text text);
      INSERT INTO ${stage}.item VALUES (1, '${stage}')`)
  }
  await database.query(`
    CREATE SCHEMA code;
    CREATE FUNCTION code.run(sql text) RETURNS text LANGUAGE plpgsql VOLATILE AS
      $$ DECLARE result text; BEGIN EXECUTE sql INTO result; RETURN result; END $$;
    CREATE FUNCTION code.run_all(sql text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$ BEGIN EXECUTE sql; RETURN 'done'; END $$`)
  // One session, so that each read has that of the one before.
  pool = createPool(
    database.url,
    { maxConnections: 1, session: 'project', applicationName: 'reads' },
    createLogger('silent'),
  )
})

afterAll(async () => {
  await pool?.end()
  await database?.drop()
})

afterEach(async () => {
  const client = await pool.connect()
  await resetSession(client)
  client.release()
})

const read = async (text: string, values: readonly unknown[] = [], more: Partial<LoneRead> = {}) =>
  readAlone<Record<string, unknown>>(await pool.connect(), {
    text,
    values,
    settings: { search_path: 'first', statement_timeout: '5000' },
    meaning: '1',
    ...more,
  })

const ITEM = 'SELECT text FROM item WHERE id = $1::int'

/** What project's code might do to its session. */
const run = (sql: string) => read('SELECT code.run_all($1) AS ran', [sql])

const pid = async (): Promise<unknown> => (await read('SELECT pg_backend_pid() AS pid'))[0]?.pid

test('a statement is parsed once, and gives what it gives for other values', async () => {
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  expect(await read(ITEM, ['2'])).toEqual([])
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  const kept = await read('SELECT statement FROM pg_prepared_statements WHERE statement = $1', [ITEM])
  expect(kept).toHaveLength(1)
  expect(await read('SELECT $1::text AS nothing, 5::int8 AS big, true AS yes, null::int AS none', [null])).toEqual([
    { nothing: null, big: '5', yes: true, none: null },
  ])
})

test('the same text reads in the stage whose read it is', async () => {
  for (const stage of [...STAGES, ...STAGES]) {
    expect(await read(ITEM, [1], { settings: { search_path: stage, statement_timeout: '0' } })).toEqual([
      { text: stage },
    ])
  }
})

test('nothing is written by a read, and nothing stays open', async () => {
  await expect(run(`INSERT INTO first.item VALUES (7, 'written')`)).rejects.toMatchObject({ code: '25006' })
  await expect(run('CREATE TEMPORARY TABLE item (text text)')).rejects.toMatchObject({ code: '25006' })
  await expect(run('COMMIT')).rejects.toMatchObject({ code: '0A000' })
  const open = `SELECT state FROM pg_stat_activity WHERE pid = $1`
  const session = await pid()
  await eventually(() => database.query(open, [session])).toEqual([{ state: 'idle' }])
  expect(await read(ITEM, [7])).toEqual([])
})

const SETTINGS = [
  'search_path',
  'role',
  'TimeZone',
  'statement_timeout',
  'lock_timeout',
  'transaction_read_only',
  'default_transaction_read_only',
  'row_security',
  'wharf.token_id',
  'enable_indexscan',
]

test('what a function sets in its session, for as long as that lasts, ends with the read', async () => {
  const shown = `SELECT ${SETTINGS.map((name, index) => `current_setting('${name}') AS s${index}`).join(', ')}`
  const before = await read(shown)
  const session = await pid()
  const [{ login } = { login: '' }] = await database.query<{ login: string }>('SELECT current_user AS login')
  const values = ['code', login, 'Asia/Tokyo', '1', '1', 'on', 'on', 'off', 'x', 'off']
  for (const [index, name] of SETTINGS.entries()) {
    await read(`SELECT set_config($1, $2, false) AS set`, [name, values[index]])
    await read(`SELECT code.run_all($1) AS set`, [`SET SESSION ${name} = '${values[index]}'`])
  }
  expect(await read(shown)).toEqual(before)
  expect(await pid()).toBe(session)
  // Of the session itself, outside of any transaction of ours.
  const { rows } = await pool.query(
    `SELECT current_setting('search_path') AS path, current_setting('statement_timeout') AS timeout`,
  )
  expect(rows).toEqual([{ path: 'first', timeout: '5s' }])
})

test('settings of one read alone end with it', async () => {
  const shown = `SELECT current_setting('search_path') AS path, current_setting('TimeZone') AS zone`
  for (const _ of [1, 2]) {
    expect(await read(shown, [], { ownSettings: { TimeZone: 'Asia/Tokyo' } })).toEqual([
      { path: 'first', zone: 'Asia/Tokyo' },
    ])
    expect(await read(shown)).toEqual([{ path: 'first', zone: 'UTC' }])
  }
})

test('a session that is not of a project keeps no settings of a read', async () => {
  const logger = createLogger('silent')
  const attached = createPool(database.url, { maxConnections: 1, session: 'attached' }, logger)
  try {
    const settings = { search_path: 'second', statement_timeout: '5000' }
    for (const _ of [1, 2]) {
      const rows = await readAlone(await attached.connect(), { text: ITEM, values: [1], settings, meaning: '1' })
      expect(rows).toEqual([{ text: 'second' }])
      const { rows: after } = await attached.query(`SELECT current_setting('search_path') AS path`)
      expect(after).toEqual([{ path: 'pg_catalog' }])
    }
  } finally {
    await attached.end()
  }
})

test('locks of the session are given back', async () => {
  await read('SELECT pg_advisory_lock(5)::text AS locked')
  await expect(read('SELECT pg_advisory_lock(6)::text, 1 / (SELECT 0) AS locked')).rejects.toMatchObject({
    code: '22012',
  })
  expect(
    await database.query(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    ),
  ).toEqual([])
})

/** Puts a statement of its own in place of each that the session has. */
const REPLACE_ALL = `DO $do$
  DECLARE each record;
  BEGIN
    FOR each IN SELECT name FROM pg_prepared_statements LOOP
      EXECUTE format('DEALLOCATE %I', each.name);
      EXECUTE format($$PREPARE %I (text) AS SELECT 'replaced'::text AS text$$, each.name);
    END LOOP;
  END $do$`

test('a function that replaces the statements of its session is never answered with', async () => {
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  await run(REPLACE_ALL)
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  await expect(run(`${REPLACE_ALL.replace('END $do$', 'RAISE division_by_zero; END $do$')}`)).rejects.toThrow()
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  expect(await read('SELECT FROM pg_prepared_statements WHERE from_sql')).toEqual([])
  await expect(run(`INSERT INTO first.item VALUES (7, 'written')`)).rejects.toMatchObject({ code: '25006' })
})

/** Puts something in place of each statement that the session has, which removes all of them while it runs. */
const HIDE_ALL = `DO $do$
  DECLARE each record;
  BEGIN
    FOR each IN SELECT name FROM pg_prepared_statements LOOP
      EXECUTE format('DEALLOCATE %I', each.name);
      EXECUTE format(
        $$PREPARE %I AS SELECT code.run_all('DEALLOCATE ALL'), set_config('search_path', 'second', false)$$,
        each.name);
    END LOOP;
  END $do$`

test('what stands in for the end of a read, and is gone by the time that anybody looks, leaves nothing behind', async () => {
  const session = await pid()
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  await run(HIDE_ALL)
  const open = `SELECT state FROM pg_stat_activity WHERE pid = $1`
  await eventually(() => database.query(open, [session])).toEqual([{ state: 'idle' }])
  const { rows } = await pool.query(`SELECT current_setting('search_path') AS path`)
  expect(rows).toEqual([{ path: 'pg_catalog' }])
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
})

test('whatever else a session is asked between two reads, each ends with its own check', async () => {
  for (const between of [['SELECT 1'], ['SELECT $1::int', [1]], ['SELECT 1; SELECT 2'], ['SELEC']] as const) {
    expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
    await pool.query(between[0], between[1] && [...between[1]]).catch(() => undefined)
    expect(await read('SELECT pg_advisory_lock(7)::text AS locked')).toEqual([{ locked: '' }])
    expect(await database.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7`)).toEqual([])
    // Its text is too long to be kept under a name.
    expect(await read(`SELECT '${'x'.repeat(9_000)}' = '' AS empty`)).toEqual([{ empty: false }])
  }
})

test('a function that removes the statements of its session keeps nobody from reading', async () => {
  for (const what of ['DEALLOCATE ALL', 'DISCARD PLANS', 'CLOSE ALL']) {
    expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
    await run(what)
    expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  }
})

test('a statement whose table is another one now gives what is there now', async () => {
  const text = 'SELECT * FROM changing'
  const changes = [
    [`CREATE TABLE first.changing AS SELECT 1 AS id`, [{ id: 1 }]],
    [`ALTER TABLE first.changing ADD COLUMN text text DEFAULT 'new'`, [{ id: 1, text: 'new' }]],
    [`ALTER TABLE first.changing ALTER id TYPE text`, [{ id: '1', text: 'new' }]],
    [`DROP TABLE first.changing; CREATE TABLE first.changing AS SELECT 2 AS id`, [{ id: 2 }]],
    [
      `ALTER TABLE first.changing RENAME TO old; CREATE VIEW first.changing AS SELECT id + 1 AS id FROM first.old`,
      [{ id: 3 }],
    ],
    // As an import swaps a stage in.
    [
      `ALTER SCHEMA first RENAME TO kept; CREATE SCHEMA first; CREATE TABLE first.changing AS SELECT 'swapped in' AS id`,
      [{ id: 'swapped in' }],
    ],
    [`DROP SCHEMA first CASCADE; ALTER SCHEMA kept RENAME TO first`, [{ id: 3 }]],
  ] as const
  for (const [change, rows] of changes) {
    await database.query(change)
    expect(await read(text)).toEqual(rows)
    expect(await read(text)).toEqual(rows)
  }
})

test('a function that a name stands for only now is called with the next meaning of the text', async () => {
  const text = 'SELECT named(1) AS value'
  await database.query(`CREATE FUNCTION first.named(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'bigint' $$`)
  expect(await read(text)).toEqual([{ value: 'bigint' }])
  await database.query(`CREATE FUNCTION first.named(integer) RETURNS text LANGUAGE sql AS $$ SELECT 'integer' $$`)
  expect(await read(text, [], { meaning: '2' })).toEqual([{ value: 'integer' }])
})

test('what fails leaves the session as it was', async () => {
  const session = await pid()
  for (const [text, code] of [
    ['SELECT 1 / $1::int', '22012'],
    ['SELECT $1::text::date', '22008'],
    ['SELEC $1', '42601'],
    ['SELECT nothing FROM item WHERE id = $1', '42703'],
    ['SELECT FROM pg_sleep(10 + $1::int)', '57014'],
  ] as const) {
    for (const _ of [1, 2]) {
      const settings = { search_path: 'first', statement_timeout: '50' }
      await expect(read(text, ['0'], { settings })).rejects.toMatchObject({ code })
      expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
    }
  }
  expect(await pid()).toBe(session)
})

test('a read that is cancelled from outside, whenever that is, leaves the session as it was', async () => {
  const session = await pid()
  let isCancelling = true
  const cancelling = (async () => {
    while (isCancelling) await database.query('SELECT pg_cancel_backend($1)', [session])
  })()
  for (let turn = 0; turn < 100; turn += 1) {
    const rows = await read(ITEM, [1]).catch((error: { code: string }) => error.code)
    expect([[{ text: 'first' }], '57014']).toContainEqual(rows)
  }
  isCancelling = false
  await cancelling
  await eventually(() => read('SELECT 1 AS one').catch(() => undefined)).toEqual([{ one: 1 }])
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
  expect(await read(`SELECT current_setting('transaction_read_only') AS only`)).toEqual([{ only: 'on' }])
  expect(
    await database.query(`SELECT state FROM pg_stat_activity WHERE pid = $1 AND state LIKE '%transaction%'`, [session]),
  ).toEqual([])
})

test('a session that is ended fails the read, and not the next one', async () => {
  const session = await pid()
  const failed = expect(read('SELECT FROM pg_sleep(10)')).rejects.toThrow()
  await eventually(() =>
    database.query(`SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`, [session]),
  ).toHaveLength(1)
  await database.query('SELECT pg_terminate_backend($1)', [session])
  await failed
  expect(await read(ITEM, [1])).toEqual([{ text: 'first' }])
})

test('a session keeps so many statements, however many come, and no text that is very long', async () => {
  for (let turn = 0; turn < 100; turn += 1) expect(await read(`SELECT ${turn} AS turn`)).toEqual([{ turn }])
  const counted = 'SELECT count(*)::int AS count, max(length(statement)) < 9000 AS short FROM pg_prepared_statements'
  expect(await read(`SELECT '${'x'.repeat(100_000)}' AS long`)).toHaveLength(1)
  const [row] = await read(counted)
  expect(row?.count).toBeGreaterThan(20)
  expect(row?.count).toBeLessThan(40)
  expect(row?.short).toBe(true)
})
