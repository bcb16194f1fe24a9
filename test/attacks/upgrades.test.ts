import { afterEach, beforeEach, expect, test } from 'vitest'
import { prepareDatabase } from '../../src/database/preparation.ts'
import { createLogger } from '../../src/logger.ts'
import type { TestDatabase } from '../support/database/database.ts'
import {
  addReleasedProject,
  createReleasedDatabase,
  type ReleasedLogin,
} from '../support/database/released-database.ts'
import { withSession } from '../support/servers/sessions.ts'

const logger = createLogger('silent')

let database: TestDatabase
let mallory: ReleasedLogin

beforeEach(async () => {
  database = await createReleasedDatabase()
  mallory = await addReleasedProject(database)
})

afterEach(async () => {
  await mallory.drop()
  await database.drop()
})

const asSuperuser = (sql: string): Promise<unknown> =>
  withSession(database.superuserUrl, (session) => session.query(sql))

/** Databases that began before PostgreSQL 15 let everybody make things in `public`. */
const openPublic = () => asSuperuser('GRANT USAGE, CREATE ON SCHEMA public TO PUBLIC')

/** Functions and an operator that fit what migrations call better than PostgreSQL's own do, and say who called them. */
const PLANTED = `
  CREATE TABLE public.caught (who name);
  GRANT INSERT ON public.caught TO PUBLIC;
  CREATE FUNCTION public.catch() RETURNS void LANGUAGE sql AS 'INSERT INTO public.caught VALUES (current_user)';
  CREATE FUNCTION public.format(text, name) RETURNS text LANGUAGE sql AS 'SELECT public.catch(); SELECT ''SELECT 1''';
  CREATE FUNCTION public.same(name, text) RETURNS boolean LANGUAGE sql AS 'SELECT public.catch(); SELECT $1::text OPERATOR(pg_catalog.=) $2';
  CREATE OPERATOR public.= (FUNCTION = public.same, LEFTARG = name, RIGHTARG = text);
  CREATE FUNCTION public.same(varchar, text) RETURNS boolean LANGUAGE sql AS 'SELECT public.catch(); SELECT $1::text OPERATOR(pg_catalog.=) $2';
  CREATE OPERATOR public.= (FUNCTION = public.same, LEFTARG = varchar, RIGHTARG = text);
  CREATE TYPE public.uuid AS (a int); CREATE DOMAIN public.timestamptz AS text`

const plant = () => withSession(mallory.url, (session) => session.query(PLANTED))

const caught = () => database.query('SELECT who FROM public.caught')

test("code in the schema public runs as Wharf's own login while the database is upgraded", async () => {
  await openPublic()
  await plant()
  await prepareDatabase(database.url, { logger })
  expect(await caught()).toEqual([])
  expect(await database.query('SELECT content_structure FROM control.role')).toEqual([])
})

test("waits in a schema public that Wharf's own login cannot close", async () => {
  await asSuperuser('ALTER SCHEMA public OWNER TO postgres')
  await openPublic()
  await plant()
  await expect(prepareDatabase(database.url, { logger })).rejects.toMatchObject({
    code: 'DATABASE_UNSUITABLE',
    message: expect.stringContaining('REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT CREATE ON SCHEMA public TO'),
  })
  await asSuperuser('REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT CREATE ON SCHEMA public TO wharf')
  await prepareDatabase(database.url, { logger })
  expect(await caught()).toEqual([])
})

test('waits in a schema extensions that everybody could make things in', async () => {
  await asSuperuser('CREATE SCHEMA extensions; GRANT USAGE, CREATE ON SCHEMA extensions TO PUBLIC')
  await withSession(mallory.url, (session) =>
    session.query(`CREATE FUNCTION extensions.lower(varchar) RETURNS text LANGUAGE sql AS 'SELECT 1'`),
  )
  await expect(prepareDatabase(database.url, { logger })).rejects.toMatchObject({
    code: 'DATABASE_UNSUITABLE',
    message: expect.stringContaining('REVOKE CREATE ON SCHEMA "extensions" FROM PUBLIC'),
  })
  await asSuperuser('ALTER SCHEMA extensions OWNER TO wharf')
  await expect(prepareDatabase(database.url, { logger })).rejects.toMatchObject({
    code: 'DATABASE_UNSUITABLE',
    message: expect.stringContaining('function extensions.lower(character varying) of '),
  })
  await withSession(mallory.url, async (session) => {
    await expect(session.query('CREATE TABLE extensions.t ()')).rejects.toMatchObject({ code: '42501' })
  })
  await asSuperuser('DROP FUNCTION extensions.lower(varchar)')
  await prepareDatabase(database.url, { logger })
})

test.each([
  ['a view', 'CREATE VIEW v AS SELECT wharf.execute_script($$SELECT 1$$)::text AS a'],
  ['a default', 'CREATE TABLE t (a text DEFAULT wharf.execute_script($$SELECT 1$$)::text)'],
  ['a check', 'CREATE TABLE t (a text CHECK (wharf.execute_script(a) IS NOT NULL))'],
])("keeps Wharf from starting by %s that names a function of Wharf's", async (_, sql) => {
  await withSession(mallory.url, (session) => session.query(`SET search_path = ${mallory.schema}; ${sql}`))
  await prepareDatabase(database.url, { logger })
  await withSession(mallory.url, async (session) => {
    await expect(session.query(`SELECT wharf.execute_script('SELECT 1')`)).rejects.toMatchObject({ code: '42501' })
  })
})

test('keeps Wharf from starting by a transaction that it never ends', async () => {
  const victim = await addReleasedProject(database)
  for (const { url, schema } of [mallory, victim]) {
    await withSession(url, async (session) => {
      await session.query(`CREATE TABLE ${schema}.t (n int)`)
      await session.query('SELECT wharf.log_tables($1)', [schema.replaceAll('"', '')])
    })
  }
  await withSession(mallory.url, async (session) => {
    const ended = new Promise((resolve) => session.on('error', resolve))
    await session.query(`BEGIN; INSERT INTO ${mallory.schema}.t VALUES (1)`)
    const prepared = prepareDatabase(database.url, { logger, endAfterMs: 2_000 })
    // Nobody waits behind it for longer than a lock is waited for.
    await withSession(victim.url, (other) =>
      other.query(`SET statement_timeout = '30s'; INSERT INTO ${victim.schema}.t VALUES (1)`),
    )
    await prepared
    await expect(ended).resolves.toMatchObject({ code: '57P01' })
  })
  expect(await database.query(`SELECT FROM system.event WHERE kind = 'create'`)).toHaveLength(1)
  await victim.drop()
})
