import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareDatabase } from '../../src/database/preparation.ts'
import { createLogger } from '../../src/logger.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let shopUrl: URL

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', 'CREATE TABLE mine AS SELECT 1 AS n')
  await createProject(wharf, 'blog', 'CREATE TABLE theirs AS SELECT 1 AS n')
  shopUrl = await loginUrl(wharf, 'shop')
})

afterAll(() => wharf.close())

const NOT_ALLOWED = '42501'

/** What a session of a project's login is refused. */
const FORBIDDEN: readonly [what: string, sql: string][] = [
  ['read tokens', 'SELECT * FROM control.token'],
  ['read passwords', 'SELECT sealed_password FROM control.project'],
  ['read the event log', 'SELECT * FROM system.event'],
  ['change the event log', 'DELETE FROM system.event'],
  ["change its stage's generation", 'UPDATE system.stage_state SET generation = 7'],
  ["read another project's rows", 'SELECT * FROM "blog.live".theirs'],
  ["write another project's rows", 'INSERT INTO "blog.live".theirs VALUES (2)'],
  ["create a table in another project's stage", 'CREATE TABLE "blog.live".t (n int)'],
  ["drop another project's stage", 'DROP SCHEMA "blog.live" CASCADE'],
  ['create a table in public', 'CREATE TABLE public.t (n int)'],
  ["create a function beside Wharf's", 'CREATE FUNCTION wharf.f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$'],
  ["replace a function of Wharf's", 'DROP FUNCTION wharf.log_tables(text)'],
  ['create a schema', 'CREATE SCHEMA another'],
  ['create a database', 'CREATE DATABASE another'],
  ['create a role', 'CREATE ROLE another'],
  ["become Wharf's login", 'SET ROLE wharf'],
  ["become Wharf's login for the whole session", 'SET SESSION AUTHORIZATION wharf'],
  [
    "become another project's login",
    `DO $$ BEGIN EXECUTE (SELECT format('SET ROLE %I', rolname) FROM pg_roles
     WHERE rolname LIKE 'wharf\\_%' AND rolname <> session_user LIMIT 1); END $$`,
  ],
  ['make itself a superuser', 'ALTER ROLE CURRENT_USER SUPERUSER'],
  ['let itself create roles', 'ALTER ROLE CURRENT_USER CREATEROLE'],
  ['read a file', `SELECT pg_read_file('postgresql.conf')`],
  ['read a file into a table', `COPY mine FROM '/etc/passwd'`],
  ['write a file', `COPY mine TO '/tmp/wharf-test'`],
  ['run a program', `COPY mine TO PROGRAM 'cat'`],
  ['load a file as a large object', `SELECT lo_import('/etc/passwd')`],
  ['see hashes of passwords', 'SELECT * FROM pg_authid'],
  ['change the settings of the server', `ALTER SYSTEM SET work_mem = '1GB'`],
  ["end others' sessions", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'wharf' LIMIT 1`],
  [
    "record a change of another project's structure",
    `SELECT wharf.record_structure_change(id::uuid, 'DROP TABLE t', NULL) FROM unnest(ARRAY['00000000-0000-0000-0000-000000000000']) id`,
  ],
]

test.for(FORBIDDEN)("a project's login may not %s", async ([, sql]) => {
  await withSession(shopUrl.href, async (session) => {
    await session.query('SET search_path = "shop.live"')
    await expect(session.query(sql)).rejects.toMatchObject({ code: NOT_ALLOWED })
  })
})

test("a project's login owns its stages and may do there what it likes", async () => {
  await withSession(shopUrl.href, async (session) => {
    await session.query('SET search_path = "shop.live"')
    await session.query('CREATE TABLE more (n int); INSERT INTO more SELECT * FROM mine; DROP TABLE more')
    const { rows } = await session.query<{ owner: string }>(
      `SELECT nspowner::regrole::text AS owner FROM pg_namespace WHERE nspname = 'shop.live'`,
    )
    expect(rows).toEqual([{ owner: shopUrl.username }])
  })
})

test("a project's login cannot connect to another database that is closed to PUBLIC", async () => {
  const other = await createTestDatabase()
  await prepareDatabase(other.url, { logger: createLogger('silent') })
  const url = new URL(shopUrl)
  url.pathname = new URL(other.url).pathname
  await expect(withSession(url.href, async () => 'connected')).rejects.toMatchObject({ code: NOT_ALLOWED })
  await other.drop()
})

test('a project that is deleted leaves neither role nor schema nor row', async () => {
  await createProject(wharf, 'gone', "CREATE TABLE t (id serial PRIMARY KEY); CREATE TYPE e AS ENUM ('a')")
  await wharf.root.post('/projects/gone/stages', { json: { slug: 'draft' } })
  await wharf.member('gone', 'viewer')
  const url = await loginUrl(wharf, 'gone')
  const traces = `
    SELECT 'role' AS what FROM pg_roles WHERE rolname = '${url.username}'
    UNION ALL SELECT 'schema' FROM pg_namespace WHERE nspname LIKE 'gone.%'
    UNION ALL SELECT 'session' FROM pg_stat_activity WHERE usename = '${url.username}'
    UNION ALL SELECT 'project' FROM control.project WHERE slug = 'gone'
    UNION ALL SELECT 'stage' FROM control.stage WHERE schema_name LIKE 'gone.%'
    UNION ALL SELECT 'state' FROM system.stage_state WHERE schema_name LIKE 'gone.%'
    UNION ALL SELECT 'change' FROM system.structure_change WHERE sql LIKE '%CREATE TYPE e AS ENUM%'
    UNION ALL SELECT 'membership' FROM control.membership WHERE project_id NOT IN (SELECT id FROM control.project)
    UNION ALL SELECT 'role of it' FROM control.role WHERE project_id NOT IN (SELECT id FROM control.project)`
  // A session of its own does not keep it alive.
  await withSession(url.href, async (session) => {
    await session.query('BEGIN; LOCK TABLE "gone.live".t')
    expect((await wharf.database.query(traces)).length).toBeGreaterThan(5)
    expect((await wharf.root.delete('/projects/gone')).status).toBe(204)
  })
  await eventually(() => wharf.database.query(traces)).toEqual([])
  await expect(withSession(url.href, async () => 'connected')).rejects.toMatchObject({ code: '28P01' })
  expect((await wharf.root.post('/projects', { json: { slug: 'gone' } })).status).toBe(201)
})

test('a stage that is deleted leaves the others alone', async () => {
  await createProject(wharf, 'staged', 'CREATE TABLE t (n int)')
  await wharf.root.post('/projects/staged/stages', { json: { slug: 'draft' } })
  expect((await wharf.root.delete('/projects/staged/stages/live')).status).toBe(204)
  expect((await wharf.root.get('/projects/staged')).json).toMatchObject({ stages: [{ slug: 'draft' }] })
  const schemas = await wharf.database.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'staged.%'`)
  expect(schemas).toEqual([{ nspname: 'staged.draft' }])
  expect((await wharf.root.delete('/projects/staged/stages/live')).status).toBe(404)
})

test('a name that is taken is refused, also where two ask for it at once', async () => {
  const twice = (path: string, slug: string) =>
    Promise.all(Array.from({ length: 4 }, () => wharf.root.post(path, { json: { slug } })))
  for (const path of ['/projects', '/projects/shop/stages']) {
    const answers = await twice(path, 'wanted')
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409])
    expect(answers.find(({ status }) => status === 409)?.text).toMatch(/wanted\\" already/)
  }
  const logins = await wharf.database.query(
    `SELECT rolname FROM pg_roles WHERE rolname LIKE 'wharf\\_%' AND rolname NOT IN (SELECT login FROM control.project)
       AND pg_has_role(oid, 'MEMBER') AND has_database_privilege(oid, current_database(), 'CONNECT')`,
  )
  expect(logins).toEqual([])
})

test('a project may have a hundred stages from the beginning', async () => {
  const stages = Array.from({ length: 100 }, (_, n) => `s${n}`)
  const answer = await wharf.root.post('/projects', { json: { slug: 'many', stages } })
  expect(answer).toMatchObject({ status: 201, json: { stages: { length: 100 } } })
})

test('projects are listed page by page', async () => {
  const seen: string[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const query: string = after === '' ? '?limit=2' : `?limit=2&after=${after}`
    const { items, next } = (await wharf.root.get(`/projects${query}`)).json as {
      items: { slug: string }[]
      next: string | null
    }
    seen.push(...items.map(({ slug }) => slug))
    after = next ?? undefined
  }
  expect(seen).toEqual(seen.toSorted())
  expect(seen).toContain('shop')
  expect(new Set(seen).size).toBe(seen.length)
})

test('a login that may not create roles cannot create projects, and says which grant is missing', async () => {
  const database = await createTestDatabase()
  const name = new URL(database.url).pathname.slice(1)
  const login = `limited_${name}`
  const asSuperuser = (sql: string) => withSession(database.superuserUrl, (session) => session.query(sql))
  await asSuperuser(`CREATE ROLE ${login} LOGIN PASSWORD 'limited'; ALTER DATABASE ${name} OWNER TO ${login}`)
  const url = new URL(database.url)
  url.username = login
  url.password = 'limited'
  const limited = await startWharf({ database, databaseUrl: url.href })
  const answer = await limited.root.post('/projects', { json: { slug: 'shop' } })
  expect(answer).toMatchObject({
    status: 500,
    json: {
      type: 'urn:wharf:error:database-unsuitable',
      detail: expect.stringContaining(`ALTER ROLE "${login}" CREATEROLE`),
    },
  })
  expect((await limited.root.get('/projects')).json).toEqual({ items: [], next: null })
  await limited.close()
  await withSession(wharf.database.superuserUrl, (session) => session.query(`DROP ROLE ${login}`))
})

test('a NUL character, which PostgreSQL cannot store, is refused with its place', async () => {
  const token = await wharf.root.post('/tokens', {
    json: { name: 'a\u0000b', memberships: [{ project: 'shop', role: 'admin' }] },
  })
  expect(token).toMatchObject({ status: 400, json: { errors: [{ pointer: '/name' }] } })
  expect((await wharf.root.get('/projects?after=%00')).status).toBe(400)
})
