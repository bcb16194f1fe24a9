import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadModule, parsePlPgSQLSync } from 'libpg-query'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { startWharf } from '../support/service/wharf.ts'
import { foreignUse } from '../support/statements/foreign-use.ts'
import { assertNothingForeign } from '../support/statements/record-statements.ts'

beforeAll(() => loadModule())

/** What the recorder must not let pass in a session of Wharf's own login, and what it says. */
const FOREIGN: readonly [sql: string, fault: string][] = [
  ['SELECT count(*) FROM ONLY "shop.live".item', 'the relation shop.live.item'],
  ['SELECT * FROM item', 'the relation item'],
  ['SELECT 1 WHERE EXISTS (SELECT FROM "shop.live".item)', 'the relation shop.live.item'],
  ['WITH x AS (SELECT * FROM "shop.live".item) SELECT * FROM x', 'the relation shop.live.item'],
  ['COPY "shop.live".item TO STDOUT', 'the relation shop.live.item'],
  ['INSERT INTO system.event SELECT * FROM "shop.live".item', 'the relation shop.live.item'],
  ['DELETE FROM "shop.live".item', 'the relation shop.live.item'],
  ['SELECT "shop.live".f()', 'the function shop.live.f'],
  ['SELECT 1 OPERATOR("shop.live".+) 1', 'the operator shop.live.+'],
  ['SELECT $1::"shop.live".mood', 'the type shop.live.mood'],
  ['SELECT $1 COLLATE "shop.live".c', 'the collation shop.live.c'],
  [`SELECT query_to_xml('SELECT 1', true, true, '')`, 'the function query_to_xml'],
  [`SELECT wharf.log_tables('shop.live')`, 'the function wharf.log_tables'],
  ['ANALYZE "shop.live".item', 'VacuumStmt is not among'],
  ['REINDEX TABLE "shop.live".item', 'ReindexStmt is not among'],
  ['REFRESH MATERIALIZED VIEW "shop.live".item', 'RefreshMatViewStmt is not among'],
  ['ALTER TABLE "shop.live".item ADD n int', 'it alters a table'],
  ['ALTER TABLE "shop.live".item OWNER TO wharf_1, ADD n int', 'it alters a table'],
  ['CREATE TABLE "shop.live".item ()', 'CreateStmt is not among'],
  ['DROP TABLE "shop.live".item', 'DropStmt of no schema'],
  ['LOCK TABLE "shop.live".item', 'it locks a table against readers'],
  [`DO 'BEGIN END'`, 'DoStmt is not among'],
  ['CALL "shop.live".p()', 'CallStmt is not among'],
  ['SET ROLE wharf_1', 'it becomes another login'],
  [`SET SESSION AUTHORIZATION 'wharf_1'`, 'it becomes another login'],
  ['SELECT 1 FROM', 'it cannot be parsed'],
]

test.each(FOREIGN)('the recorder objects to: %s', (sql, fault) => {
  expect(foreignUse(sql).join()).toContain(fault)
})

test.each([
  'SELECT count(*)::int FROM pg_class JOIN pg_catalog.pg_namespace ON true WHERE relname = $1',
  'ALTER SCHEMA "shop.live" RENAME TO "shop.live.old-1"',
  'DROP SCHEMA IF EXISTS "shop.live" CASCADE',
  'ALTER TABLE "shop.live".item OWNER TO wharf_1',
  'ALTER ROUTINE "shop.live".f("shop.live".mood) OWNER TO wharf_1',
  'LOCK TABLE ONLY "shop.live".item IN SHARE MODE',
  'WITH known AS (SELECT 1) INSERT INTO control.job (id) SELECT * FROM known RETURNING id',
  `SELECT wharf.record_import($1::uuid, $2::uuid)::text AS id`,
])('the recorder lets pass: %s', (sql) => {
  expect(foreignUse(sql)).toEqual([])
})

describe('a log of PostgreSQL', () => {
  let folder: string
  let log: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
    log = join(folder, 'log')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const line = (login: string, session: string, text: string): string =>
    `\u241E${login}\u241F${session}\u241FLOG:  ${text.replaceAll('\n', '\n\t')}\n`

  test("fails with what Wharf's own login read of a stage, once for each form", async () => {
    await writeFile(
      log,
      line('wharf', 'wharf', 'execute <unnamed>: SELECT\n1 FROM "shop1.live".item') +
        line('wharf', 'wharf job 7', 'statement: SELECT\n1 FROM "shop2.live".item') +
        line('wharf', 'wharf', 'statement: SELECT 1'),
    )
    const faults = await assertNothingForeign(log).catch((error: unknown) => String(error))
    expect(String(faults).match(/the relation/g)).toHaveLength(1)
    expect(faults).toContain(
      'the relation shop1.live.item, in the session "wharf":\n  SELECT\n1 FROM "shop1.live".item',
    )
  })

  test('tells nothing of what tests and logins of projects send', async () => {
    await writeFile(
      log,
      line('wharf', '[unknown]', 'statement: SELECT * FROM "shop.live".item') +
        line('wharf_1', 'wharf', 'statement: SELECT * FROM "shop.live".item') +
        line('wharf', 'wharf', 'statement: SELECT 1'),
    )
    expect(await assertNothingForeign(log)).toBe(1)
  })
})

test("every session of the service's own login is called Wharf's, so that the recorder hears it", async () => {
  const wharf = await startWharf({ worker: true })
  await wharf.root.get('/content/nothing/live/item')
  const names = (): Promise<string[]> =>
    wharf.database
      .query<{ name: string }>(
        `SELECT DISTINCT application_name AS name FROM pg_stat_activity
         WHERE usename = 'wharf' AND datname = current_database() AND pid <> pg_backend_pid()`,
      )
      .then((rows) => rows.map(({ name }) => name))
  await eventually(names).toContain('wharf queue')
  expect((await names()).filter((name) => !name.startsWith('wharf'))).toEqual([])
  await wharf.close()
})

describe("functions of Wharf's", () => {
  let database: TestDatabase
  let functions: readonly {
    name: string
    definition: string
    language: string
    config: string | null
    definer: boolean
  }[]

  beforeAll(async () => {
    database = await createMigratedDatabase()
    functions = await database.query(
      `SELECT proname AS name, pg_get_functiondef(p.oid) AS definition, lanname AS language, prosecdef AS definer,
              array_to_string(proconfig, ', ') AS config
       FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE pronamespace = 'wharf'::regnamespace`,
    )
  })
  afterAll(() => database.drop())

  test('are called by nobody to whom they were not granted', async () => {
    const open = await database.query(
      `SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
       WHERE pronamespace = 'wharf'::regnamespace AND grantee = 0
       UNION ALL SELECT nspname FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'wharf' AND grantee = 0`,
    )
    expect(open).toEqual([])
    await database.query(`CREATE FUNCTION wharf.later() RETURNS int LANGUAGE sql AS 'SELECT 1'`)
    const later = await database.query(
      `SELECT FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE proname = 'later' AND grantee = 0`,
    )
    expect(later).toEqual([])
  })

  test('look names up where nobody else makes any, and temporary ones last', () => {
    const runAsOwner = functions.filter(({ definer }) => definer)
    expect(runAsOwner.length).toBeGreaterThan(3)
    for (const { name, config } of runAsOwner) expect(config, name).toContain('search_path=pg_catalog, pg_temp')
  })

  test("read and call nothing but Wharf's own, and run no text but to make the log's triggers", () => {
    for (const { name, definition, language } of functions) {
      if (language !== 'plpgsql') continue
      const text = JSON.stringify(parsePlPgSQLSync(definition))
      if (name !== 'log_tables') expect(text, name).not.toMatch(/dynexecute|dynfors|"dynquery"/)
      const queries = [...text.matchAll(/"query":"(SELECT|INSERT|UPDATE|DELETE|WITH)((?:[^"\\]|\\.)*)"/g)]
      for (const [, verb = '', rest = ''] of queries) {
        const sql = verb + String(JSON.parse(`"${rest}"`))
        // What a statement changed is read as the one who changed it.
        if (name === 'log_statement') continue
        const parsable = sql.replace(/ INTO [a-z_, ]+? (?=FROM|$)/g, ' ')
        const found = foreignUse(parsable).filter((fault) => !/wharf\.(log_rows|log_tables)$/.test(fault))
        expect(found, `${name}: ${sql}`).toEqual([])
      }
    }
  })
})
