import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../src/database/pool.ts'
import { openSession, resetSession } from '../../src/database/session-client.ts'
import { type SessionKind, sessionSettings } from '../../src/database/session-settings.ts'
import { createLogger } from '../../src/logger.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { withSession } from '../support/servers/sessions.ts'
import { startTcpRelay } from '../support/servers/tcp-relay.ts'

const KINDS: readonly Exclude<SessionKind, 'bare'>[] = ['wharf', 'queue', 'project', 'attached']

/** What a database's owner may have set, and what a session of Wharf's has instead. */
const OTHERS: readonly (readonly [name: string, others: string, ours: string])[] = [
  ['statement_timeout', '1h', '0'],
  ['lock_timeout', '1h', '0'],
  ['idle_session_timeout', '1h', '0'],
  ['idle_in_transaction_session_timeout', '1h', '0'],
  ['transaction_timeout', '1h', '0'],
  ['client_encoding', 'LATIN1', 'UTF8'],
  ['standard_conforming_strings', 'off', 'on'],
  ['backslash_quote', 'on', 'safe_encoding'],
  ['transform_null_equals', 'on', 'off'],
  ['gin_fuzzy_search_limit', '1', '0'],
  ['exit_on_error', 'on', 'off'],
  ['client_min_messages', 'debug5', 'warning'],
  ['default_transaction_isolation', 'serializable', 'read committed'],
  ['default_transaction_deferrable', 'on', 'off'],
  ['check_function_bodies', 'off', 'on'],
  ['plpgsql.extra_errors', 'all', 'none'],
  ['wharf.token_id', '5a8f0c1e-5b0a-4d8e-9a1b-000000000000', ''],
  ['DateStyle', 'German', 'ISO, MDY'],
  ['TimeZone', 'Asia/Tokyo', 'UTC'],
  ['timezone_abbreviations', 'Australia', 'Default'],
  ['IntervalStyle', 'iso_8601', 'postgres'],
  ['bytea_output', 'escape', 'hex'],
  ['extra_float_digits', '-15', '1'],
  ['xmlbinary', 'hex', 'base64'],
  ['xmloption', 'document', 'content'],
  ['quote_all_identifiers', 'on', 'off'],
  ['array_nulls', 'off', 'on'],
]

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

beforeEach(() => withSession(database.superuserUrl, (client) => client.query(`ALTER DATABASE ${name()} RESET ALL`)))

const name = (): string => new URL(database.url).pathname.slice(1)

/** A pool of one session. */
function openPool(session: SessionKind = 'project') {
  const pool = createPool(database.url, { maxConnections: 1, session, applicationName: 'test' }, createLogger('silent'))
  onTestFinished(() => pool.end())
  return pool
}

const ofTable = (values: Readonly<Record<string, unknown>>): readonly unknown[] =>
  OTHERS.map(([setting]) => [setting, values[setting]])
const OURS = OTHERS.map(([setting, , ours]) => [setting, ours])
const settingsNow = `SELECT ${OTHERS.map(([setting]) => `current_setting('${setting}') AS "${setting}"`).join(', ')}`

/** What sessions of the queue have instead. */
const OF_QUEUE: Readonly<Record<string, string>> = { lock_timeout: '5s', idle_in_transaction_session_timeout: '10s' }

test.each(KINDS)(
  'what a database and a role set for themselves changes nothing in a session of kind %s',
  async (kind) => {
    await withSession(database.superuserUrl, async (client) => {
      for (const [setting, others] of OTHERS) {
        await client.query(`ALTER DATABASE ${name()} SET ${setting} = '${others}'`)
        await client.query(`ALTER ROLE wharf IN DATABASE ${name()} SET ${setting} = '${others}'`)
      }
    })
    const { rows } = await openPool(kind).query(settingsNow)
    const ours = OURS.map(([setting, value]) => [
      setting,
      kind === 'queue' ? (OF_QUEUE[setting ?? ''] ?? value) : value,
    ])
    expect(ofTable(rows[0])).toEqual(ours)
  },
)

test("Wharf's own sessions look names up in schemas of their own, and never evaluate a policy", async () => {
  const ask = `SELECT current_setting('search_path') AS path, current_setting('row_security') AS policies`
  const answers = await Promise.all(KINDS.map(async (kind) => (await openPool(kind).query(ask)).rows[0]))
  expect(Object.fromEntries(KINDS.map((kind, index) => [kind, answers[index]]))).toEqual({
    wharf: { path: 'pg_catalog', policies: 'off' },
    queue: { path: 'bullmq', policies: 'off' },
    project: { path: 'pg_catalog', policies: 'on' },
    attached: { path: 'pg_catalog', policies: 'off' },
  })
})

test('a setting that an older server does not know is not sent to it', () => {
  expect(sessionSettings('project', '15.7')).not.toMatch(
    /"transaction_timeout"|createrole_self_grant|restrict_nonsystem/,
  )
  expect(sessionSettings('attached', '14.12')).not.toContain('restrict_nonsystem')
  expect(sessionSettings('attached', '14.13')).toContain('restrict_nonsystem')
  expect(sessionSettings('project', '15.18 (Debian 15.18-1)')).toContain('restrict_nonsystem')
  expect(sessionSettings('project', '17.0')).toContain('SET "transaction_timeout" = \'0\'')
})

test('options for other programs in the environment reach no session', async () => {
  const before = process.env.PGOPTIONS
  process.env.PGOPTIONS = '-c nonsense=1'
  onTestFinished(() => {
    if (before === undefined) delete process.env.PGOPTIONS
    else process.env.PGOPTIONS = before
  })
  const { rows } = await openPool().query('SELECT 1 AS answer')
  expect(rows).toEqual([{ answer: 1 }])
})

test('what code of a project left in a session is gone when the session is used again', async () => {
  const pool = openPool()
  const client = await pool.connect()
  await client.query(`
    CREATE TEMPORARY TABLE shadow (); LISTEN something; SELECT pg_advisory_lock(1);
    PREPARE kept AS SELECT 1; DECLARE open CURSOR WITH HOLD FOR SELECT 1; SET statement_timeout = '1h'; SET work_mem = '65kB';
    SET standard_conforming_strings = off; SET search_path = public`)
  await resetSession(client)
  const { rows } = await client.query(`
    SELECT to_regclass('pg_temp.shadow')::text AS shadow, current_setting('statement_timeout') AS timeout,
           current_setting('work_mem') <> '65kB' AS work_mem, current_setting('standard_conforming_strings') AS strings,
           current_setting('search_path') AS path, ARRAY(SELECT pg_listening_channels()) AS channels,
           (SELECT count(*)::int FROM pg_prepared_statements) AS prepared, (SELECT count(*)::int FROM pg_cursors WHERE name = 'open') AS cursors,
           (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks`)
  client.release()
  expect(rows).toEqual([
    {
      ...{ shadow: null, timeout: '0', work_mem: true, strings: 'on', path: 'pg_catalog' },
      ...{ channels: [], prepared: 0, cursors: 0, locks: 0 },
    },
  ])
})

test('a query of a name goes on after the session was reset', async () => {
  const client = await openPool().connect()
  const ask = async (): Promise<unknown> => (await client.query({ name: 'named', text: 'SELECT 1 AS n' })).rows
  expect(await ask()).toEqual([{ n: 1 }])
  await resetSession(client)
  expect(await ask()).toEqual([{ n: 1 }])
  client.release()
})

test('a server that cannot look whether its client is there, as on Windows, is used all the same', async () => {
  // Out of range here, as every value but 0 is there, and refused in the same way.
  const relay = await startTcpRelay(database.url, () => ({
    asks(chunk) {
      const at = chunk.indexOf(`client_connection_check_interval = '2s'`)
      if (at >= 0) chunk.write('-1', chunk.indexOf(`'2s'`, at) + 1)
      return true
    },
    answers: () => true,
  }))
  onTestFinished(() => relay.cut())
  const client = await openSession(relay.url, {
    kind: 'project',
    applicationName: 'wharf test',
    logger: createLogger('silent'),
  })
  const ask = `SELECT current_setting('client_connection_check_interval') <> '2s' AS refused, current_setting('search_path') AS path`
  expect((await client.query(ask)).rows).toEqual([{ refused: true, path: 'pg_catalog' }])
  await resetSession(client)
  expect((await client.query(ask)).rows).toEqual([{ refused: true, path: 'pg_catalog' }])
  await client.end()
})

test('the end of a session that somebody holds and does not use is no end of the process', async () => {
  const pool = openPool()
  const client = await pool.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const ended = new Promise((resolve) => client.once('end', resolve))
  await withSession(database.superuserUrl, (other) => other.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]))
  await ended
  // An event that nobody hears would end the process now.
  await delay(0)
  await expect(client.query('SELECT 1')).rejects.toThrow()
  client.release(true)
  expect((await pool.query('SELECT 1 AS answer')).rows).toEqual([{ answer: 1 }])
})

test('no connection to PostgreSQL is opened past the ones that are listened to', async () => {
  const folder = new URL('../../src/', import.meta.url)
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const opening = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(new URL(file, folder), 'utf8')
      return /new (pg\.)?(Pool|Client)\(|extends pg\.(Pool|Client)|new PrismaPg\(\{/.test(text) ? [file] : []
    }),
  )
  const generated = (file: string): boolean => file.startsWith('database/generated/')
  expect(opening.flat().filter((file) => !generated(file))).toEqual([
    'database/retrying-pool.ts',
    'database/session-client.ts',
    'database/session-deadline.ts',
  ])
})
