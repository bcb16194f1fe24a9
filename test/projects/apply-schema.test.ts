import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createMigratedDatabase } from '../support/database/database.ts'
import { noTransactionStaysOpen, openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import type { ApiRequest } from '../support/http/api-client.ts'
import { startTcpRelay, type TcpRelay } from '../support/servers/tcp-relay.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let relay: TcpRelay
let wharf: TestWharf

beforeAll(async () => {
  const database = await createMigratedDatabase()
  relay = await startTcpRelay(database.url)
  wharf = await startWharf({ database, databaseUrl: relay.url })
  await createProject(wharf, 'shop', 'CREATE TABLE kept AS SELECT 1 AS n')
})

afterAll(async () => {
  await wharf.close()
  await relay.cut()
})

/** All that there is in the stage, and all that was recorded of it. */
const state = () =>
  wharf.database.query(
    `SELECT relname::text AS thing FROM pg_class WHERE relnamespace = '"shop.live"'::regnamespace
     UNION ALL SELECT id || sql FROM system.structure_change ORDER BY 1`,
  )

const problemSchema = z.object({
  detail: z.string(),
  errors: z.array(z.object({ line: z.number().optional(), detail: z.string() })),
})

/** Scripts that fail, each with the line that is at fault (of what fails at the end, there is none), and what is said. */
const FAILING: readonly [what: string, script: string, line: number | undefined, said: RegExp][] = [
  ["it drops the stage's own schema", 'DROP SCHEMA "shop.live" CASCADE', undefined, /stage's own schema/],
  [
    'the third statement fails',
    'CREATE TABLE a (n int);\nINSERT INTO a VALUES (1);\nSELECT 1/0;',
    3,
    /division by zero/,
  ],
  ['the syntax is wrong', 'CREATE TABLE a (n int);\n\nCRATE TABLE b ();', 3, /syntax error at or near "CRATE"/],
  ['the syntax is wrong after other letters', `SELECT '😀é日本\n𝒳';\n-- 🎸\nSELEC 1`, 4, /at or near "SELEC"/],
  ['the syntax is wrong after other letters in its line', `SELECT '😀😀';\nSELECT '日本', 2 2`, 2, /at or near "2"/],
  ['the lines end as on Windows', 'CREATE TABLE a (n int);\r\n\r\nSELEC 1', 3, /at or near "SELEC"/],
  ['a table is missing', 'CREATE TABLE a (n int);\nSELECT *\nFROM nothing', 3, /relation "nothing" does not exist/],
  ['it commits', 'CREATE TABLE a (n int); COMMIT; CREATE TABLE b (n int)', 1, /leave BEGIN, COMMIT and ROLLBACK out/],
  ['it begins', 'BEGIN; CREATE TABLE a (n int); END', 1, /leave BEGIN, COMMIT and ROLLBACK out/],
  ['it rolls back', 'CREATE TABLE a (n int); ROLLBACK', 1, /leave BEGIN, COMMIT and ROLLBACK out/],
  ['it sets a savepoint', 'SAVEPOINT a', 1, /leave BEGIN, COMMIT and ROLLBACK out/],
  ['a block in it commits', 'CREATE TABLE a (n int); DO $$ BEGIN COMMIT; END $$', 1, /leave BEGIN, COMMIT/],
  ['it is of a client', 'SELECT 1;\n\\connect other', 2, /\\connect is a command of psql .*without --create/],
  ['it copies from the client', 'SELECT 1;\nCOPY kept FROM stdin', 2, /rows of this COPY do not end/],
  ['a string does not end', "SELECT 'a", 1, /unterminated quoted string/],
  ['a constraint is broken', 'ALTER TABLE kept ADD CHECK (n > 1)', 1, /violated by some row/],
  [
    'a deferred constraint is broken at the end',
    `CREATE TABLE p (n int PRIMARY KEY);
    CREATE TABLE c (n int REFERENCES p DEFERRABLE INITIALLY DEFERRED); INSERT INTO c VALUES (1)`,
    undefined,
    /foreign key/,
  ],
  [
    'it asks for what PostgreSQL does not support',
    `CREATE TABLE p (n int) PARTITION BY LIST (n);
    CREATE TABLE c (more int, n int); ALTER TABLE c DROP more; ALTER TABLE p ATTACH PARTITION c DEFAULT;
    CREATE FUNCTION f(p) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'; CREATE INDEX ON p (f(p.*))`,
    3,
    /whole-row table reference/,
  ],
  ['it reaches for what is not its own', 'SELECT * FROM control.token', 1, /permission denied for schema control/],
]

test.for(FAILING)('nothing is changed where %s', async ([, script, line, said]) => {
  const before = await state()
  const answer = await applyScript(wharf, 'shop', script)
  expect(answer.status).toBe(422)
  const { detail, errors } = problemSchema.parse(answer.json)
  expect(detail).toMatch(/^nothing was changed: /)
  expect(detail).toMatch(said)
  expect(errors).toHaveLength(1)
  expect(errors[0]?.line).toBe(line)
  expect(await state()).toEqual(before)
})

test('a script that goes well is recorded with who asked for it', async () => {
  const script = 'CREATE TABLE recorded (n int); -- é😀'
  const answer = await applyScript(wharf, 'shop', script)
  const { id } = z.object({ id: z.string() }).parse(answer.json)
  expect(answer).toMatchObject({ status: 200, json: { stage: 'live', tables: 2 } })
  const [record] = await wharf.database.query(
    `SELECT sql, token_id, schema_name, applied_at > now() - interval '1 minute' AS recent
     FROM system.structure_change JOIN system.stage_state USING (stage_id) WHERE id = $1`,
    [id],
  )
  expect(record).toEqual({ sql: script, token_id: null, schema_name: 'shop.live', recent: true })
})

test.each(['statement_timeout = 500', 'default_transaction_read_only = on'])(
  'a project that gave its login the setting %s can go on changing its structure',
  async (setting) => {
    const slug = `set-${setting.split('_')[0]}`
    await createProject(wharf, slug, `ALTER ROLE CURRENT_USER SET ${setting}`)
    const { status, text } = await applyScript(wharf, slug, 'CREATE TABLE later (); SELECT pg_sleep(0.7)')
    expect({ status, text }).toMatchObject({ status: 200 })
  },
)

test('what a script sets does not reach later sessions', async () => {
  const settings = `SET search_path = pg_catalog; SET statement_timeout = '1min'; SET DateStyle = 'SQL, DMY';
    SELECT set_config('wharf.own', 'left behind', false), pg_advisory_lock(7); CREATE TEMPORARY TABLE kept (left_behind int)`
  expect((await applyScript(wharf, 'shop', settings)).status).toBe(200)
  const check = `DO $$ BEGIN
      IF current_setting('search_path') <> '"shop.live", extensions' OR current_setting('statement_timeout') <> '0'
         OR current_setting('DateStyle') <> 'ISO, MDY' OR current_setting('wharf.own', true) <> ''
         OR NOT pg_try_advisory_xact_lock(7) OR NOT EXISTS (SELECT n FROM kept) THEN
        RAISE 'something was left behind';
      END IF; END $$`
  for (let n = 0; n < 3; n += 1) expect((await applyScript(wharf, 'shop', check)).json).toMatchObject({ stage: 'live' })
})

const NOT_SCRIPTS: readonly [what: string, request: ApiRequest, status: number][] = [
  ['no SQL', { body: '' }, 400],
  ['another type', { body: 'SELECT 1', headers: { 'content-type': 'text/plain' } }, 415],
  ['bytes that are not UTF-8', { body: new Uint8Array([0x27, 0xff, 0x27]) }, 422],
]

test.for(NOT_SCRIPTS)('refuses %s', async ([, request, status]) => {
  const headers = { 'content-type': 'application/sql' }
  const answer = await wharf.root.post('/projects/shop/stages/live/schema', { headers, ...request })
  expect(answer.status).toBe(status)
})

test.for(['/projects/nothing/stages/live/schema', '/projects/shop/stages/draft/schema'])(
  'answers 404 at %s',
  async (path) => {
    const answer = await wharf.root.post(path, { headers: { 'content-type': 'application/sql' }, body: 'SELECT 1' })
    expect(answer.status).toBe(404)
  },
)

const SLOW = 'CREATE TABLE slow (n int); SELECT pg_sleep(60)'
const isSlow = async (): Promise<boolean> =>
  (await openTransactions(wharf)).some(({ query }) => query.startsWith('DO '))

test('a client that goes away ends its script at once, and nothing of it remains', async () => {
  const before = await state()
  const gone = new AbortController()
  const headers = { authorization: `Bearer ${ROOT_TOKEN}`, 'content-type': 'application/sql' }
  const asked = fetch(`${wharf.url}/projects/shop/stages/live/schema`, {
    method: 'POST',
    headers,
    body: SLOW,
    signal: gone.signal,
  })
  await eventually(isSlow).toBe(true)
  gone.abort()
  await expect(asked).rejects.toThrow()
  await noTransactionStaysOpen(wharf)
  expect(await state()).toEqual(before)
})

const endScripts = () =>
  wharf.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE query LIKE 'DO %' AND datname = current_database() AND pid <> pg_backend_pid()`,
  )

test.for([
  ['database session dies', endScripts],
  ['connection breaks', () => relay.cut().then(() => relay.mend())],
] as const)('a script whose %s is answered with 503, and the service goes on', async ([, strike]) => {
  const before = await state()
  const asked = applyScript(wharf, 'shop', SLOW)
  await eventually(isSlow).toBe(true)
  await strike()
  expect(await asked).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
  await endScripts()
  await noTransactionStaysOpen(wharf)
  expect(await state()).toEqual(before)
  expect((await applyScript(wharf, 'shop', 'SELECT 1')).status).toBe(200)
})
