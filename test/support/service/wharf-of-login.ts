import { randomUUID } from 'node:crypto'
import { createTestDatabase } from '../database/database.ts'
import { query, withSession } from '../servers/sessions.ts'
import { startWharf, type TestWharf } from './wharf.ts'

export interface WharfOfLogin extends TestWharf {
  /** Wharf's own, which no other service has. */
  readonly login: string
  /** Wharf's database, as that login. */
  readonly databaseUrl: string
  /** The databases that it has made, which are all that it owns beside Wharf's. */
  madeDatabases(): Promise<readonly string[]>
}

/**
 * Starts a service with a login of its own.
 *
 * @param attributes of that login, such as `CREATEROLE`.
 */
export async function startWharfOfLogin(
  attributes: string,
  options: Parameters<typeof startWharf>[0] = {},
): Promise<WharfOfLogin> {
  const database = await createTestDatabase()
  const login = `wharf_of_${randomUUID().slice(0, 8)}`
  const url = new URL(database.url)
  const name = url.pathname.slice(1)
  await query(database.superuserUrl, `CREATE ROLE ${login} LOGIN ${attributes} PASSWORD '${url.password}'`)
  await query(database.superuserUrl, `ALTER DATABASE ${name} OWNER TO ${login}`)
  url.username = login
  const wharf = await startWharf({ ...options, database, databaseUrl: url.href })
  const elsewhere = Object.assign(new URL(database.superuserUrl), { pathname: '/postgres' }).href
  return {
    ...wharf,
    login,
    databaseUrl: url.href,
    async madeDatabases() {
      const rows = await query<{ name: string }>(
        elsewhere,
        `SELECT datname::text AS name FROM pg_database
          WHERE datdba = '${login}'::regrole AND datname <> '${name}' ORDER BY 1`,
      )
      return rows.map((row) => row.name)
    },
    async close() {
      await wharf.close()
      await withSession(elsewhere, (client) => client.query(`DROP ROLE ${login}`))
    },
  }
}
