import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { createProject, loginUrl } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'shop',
    `CREATE TABLE t (n integer); CREATE TYPE mood AS ENUM ('good'); INSERT INTO t VALUES (1);
     CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
  )
  await withSession((await loginUrl(wharf, 'shop')).href, async (login) => {
    await login.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA "shop.live" GRANT INSERT ON TABLES TO PUBLIC`)
  })
  archive = await exportOf(wharf.root, 'shop')
  // From then on the rights of owners are written out.
  expect(await importIt()).toMatchObject({ status: 200 })
})

afterAll(() => wharf?.close())

const importIt = () => sendArchive(wharf.root, archive)
const undo = () => wharf.root.post('/projects/shop/stages/live/undo')

/** All rights that are not those that PostgreSQL gives by itself. */
const rights = () =>
  wharf.database.query(`
    WITH schema AS (SELECT * FROM pg_namespace WHERE nspname = 'shop.live')
    SELECT 'schema' AS of, nspacl::text AS acl FROM schema
    UNION ALL SELECT relname, relacl::text FROM pg_class JOIN schema ON relnamespace = schema.oid WHERE relkind = 'r'
    UNION ALL SELECT attname, attacl::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
                JOIN schema ON relnamespace = schema.oid WHERE attnum > 0
    UNION ALL SELECT proname, proacl::text FROM pg_proc JOIN schema ON pronamespace = schema.oid
    UNION ALL SELECT typname, typacl::text FROM pg_type JOIN schema ON typnamespace = schema.oid WHERE typtype = 'e'
    UNION ALL SELECT 'new', defaclacl::text FROM pg_default_acl JOIN schema ON defaclnamespace = schema.oid ORDER BY 1, 2`)

test.each([
  ['GRANT SELECT ON t TO PUBLIC'],
  ['GRANT UPDATE (n) ON t TO PUBLIC'],
  ['GRANT USAGE ON SCHEMA "shop.live" TO PUBLIC'],
  ['REVOKE EXECUTE ON FUNCTION f() FROM PUBLIC'],
  ['REVOKE USAGE ON TYPE mood FROM PUBLIC'],
  ['ALTER DEFAULT PRIVILEGES IN SCHEMA "shop.live" GRANT DELETE ON TABLES TO PUBLIC'],
])('%s is not lost where its transaction has not ended when an import does', async (statement) => {
  const before = await rights()
  await withSession((await loginUrl(wharf, 'shop')).href, async (login) => {
    await login.query(`SET search_path = "shop.live"; BEGIN; SAVEPOINT one; ${statement}; RELEASE one`)
    expect(await importIt()).toMatchObject({ status: 409, text: expect.stringContaining('has not ended') })
    await login.query('COMMIT')
  })
  const after = await rights()
  expect(after).not.toEqual(before)
  expect(await importIt()).toMatchObject({ status: 200 })
  expect(await rights()).toEqual(after)
})

test("one that was rolled back is in nobody's way, and an undo is refused meanwhile", async () => {
  expect(await importIt()).toMatchObject({ status: 200 })
  await withSession((await loginUrl(wharf, 'shop')).href, async (login) => {
    await login.query('BEGIN; GRANT TRUNCATE ON "shop.live".t TO PUBLIC')
    expect(await undo()).toMatchObject({ status: 409, text: expect.stringContaining('has not ended') })
    await login.query('ROLLBACK')
  })
  expect(await undo()).toMatchObject({ status: 200 })
  expect(await importIt()).toMatchObject({ status: 200 })
})
