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
