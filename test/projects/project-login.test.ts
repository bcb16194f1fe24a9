import { afterAll, beforeAll, expect, test } from 'vitest'
import { findProject } from '../../src/projects/projects.ts'
import { exportOf } from '../support/archives/import.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
})
afterAll(() => wharf?.close())

const loginOf = async (slug: string): Promise<string> => (await findProject(wharf.container.control.prisma, slug)).login

const asSuperuser = (sql: string, parameters: unknown[] = []) =>
  withSession(wharf.database.superuserUrl, (session) => session.query(sql, parameters))

/** From here on, every session of the login has to log in again. */
async function endSessions(login: string): Promise<void> {
  await asSuperuser('SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = $1', [login])
}

/** How often a login's password was restored, or was to be. */
const warnings = (login: string): number =>
  wharf
    .log()
    .split('\n')
    .filter((line) => line.includes('its password was changed') && line.includes(login)).length

test.each(["PASSWORD 'mine now'", 'PASSWORD NULL'])(
  'a project that ran ALTER ROLE ... %s is not locked out',
  async (change) => {
    const slug = change.endsWith('NULL') ? 'none' : 'other'
    await createProject(wharf, slug, 'CREATE TABLE thing AS SELECT 1 AS n')
    const login = await loginOf(slug)
    expect((await applyScript(wharf, slug, `ALTER ROLE CURRENT_USER ${change}`)).status).toBe(200)
    await endSessions(login)

    expect(await exportOf(wharf.root, slug)).toContain('{"row":[1]}')
    await endSessions(login)
    expect((await applyScript(wharf, slug, 'CREATE TABLE more ()')).status).toBe(200)
    expect(warnings(login)).toBe(1)

    const { href } = await loginUrl(wharf, slug)
    const { rows } = await withSession(href, (session) => session.query('SELECT current_user::text AS login'))
    expect(rows, 'with the password that Wharf keeps').toEqual([{ login }])
  },
)

test('where the password is not what is wrong, it is restored once and not again and again', async () => {
  await createProject(wharf, 'expired')
  const login = await loginOf('expired')
  await asSuperuser(`ALTER ROLE ${login} VALID UNTIL '2001-01-01'`)
  await endSessions(login)
  expect((await applyScript(wharf, 'expired', 'CREATE TABLE more ()')).status).toBe(503)
  expect(warnings(login)).toBe(1)
})

test('a login that is missing is made again at a start, with its rights and what belonged to it', async () => {
  await createProject(wharf, 'lost', 'CREATE TABLE thing AS SELECT 1 AS n; CREATE TYPE span AS RANGE (subtype = int)')
  const login = await loginOf('lost')
  await endSessions(login)
  // As after a restore: all belongs to the login that restored it.
  await asSuperuser(`REASSIGN OWNED BY ${login} TO wharf; DROP OWNED BY ${login}; DROP ROLE ${login}`)
  const other = await startWharf({ beside: wharf })
  await other.close()

  expect(await exportOf(wharf.root, 'lost')).toContain('{"row":[1]}')
  const written = await applyScript(wharf, 'lost', 'ALTER TABLE thing ADD more int; DROP TYPE span')
  expect(written.status, written.text).toBe(200)
  const { rows } = await asSuperuser('SELECT rolname FROM pg_roles WHERE rolname = $1 AND rolconnlimit > 0', [login])
  expect(rows).toHaveLength(1)
})

test('a project whose login owns what is outside of its stages is deleted with that, where Wharf reaches it', async () => {
  await createProject(wharf, 'wide', 'CREATE TABLE thing (id integer PRIMARY KEY)')
  const login = await loginOf('wide')
  await asSuperuser(`CREATE SCHEMA beside AUTHORIZATION ${login}`)
  await asSuperuser(`CREATE TABLE beside.kept (id integer); ALTER TABLE beside.kept OWNER TO ${login}`)
  await asSuperuser(`CREATE TABLE public.loose (id integer); ALTER TABLE public.loose OWNER TO ${login}`)
  expect((await wharf.root.delete('/projects/wide')).status).toBe(204)
})

test('a project whose login owns what is in another database is deleted once that is gone, and said what it is', async () => {
  await createProject(wharf, 'wider', 'CREATE TABLE thing AS SELECT 1 AS n')
  const login = await loginOf('wider')
  const url = new URL(wharf.database.superuserUrl)
  const other = `beside_${url.pathname.slice(1)}`
  await asSuperuser(`CREATE DATABASE ${other}`)
  url.pathname = `/${other}`
  await withSession(url.href, async (session) => {
    await session.query(`CREATE TABLE kept (id integer); ALTER TABLE kept OWNER TO ${login}`)
    await session.query(`CREATE TABLE seen (id integer); GRANT SELECT ON seen TO ${login}`)
  })
  await asSuperuser(`ALTER DATABASE ${other} OWNER TO ${login}`)
  const refused = await wharf.root.delete('/projects/wider')
  expect(refused, refused.text).toMatchObject({
    status: 409,
    json: { detail: expect.stringContaining(`: database ${other}, objects in the database "${other}"; a superuser`) },
  })
  expect((await wharf.root.get('/content/wider/live/thing')).json).toEqual([{ n: 1 }])
  await asSuperuser(`DROP DATABASE ${other}`)
  expect((await wharf.root.delete('/projects/wider')).status).toBe(204)
})
