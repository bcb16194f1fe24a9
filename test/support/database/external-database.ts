import { randomUUID } from 'node:crypto'
import { withSession } from '../servers/sessions.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

/** A database that is not Wharf's, on the same server as Wharf's, with two ordinary logins of its own. */
export interface ExternalDatabase {
  /** As the server's superuser sees it. */
  readonly database: TestDatabase
  /** Who made its tables, by connection URL. */
  readonly owner: URL
  /** Who may only read them. */
  readonly reader: URL
  /** The password of both, which stands nowhere else. */
  readonly password: string
  /** Runs SQL as the owner. */
  run(sql: string): Promise<void>
  drop(): Promise<void>
}

/** @param script what the owner makes, in the schema `public` where it names none. */
export async function createExternalDatabase(script: string, create = createTestDatabase): Promise<ExternalDatabase> {
  const database = await create()
  const suffix = randomUUID().slice(0, 8)
  const names = { owner: `owner_${suffix}`, reader: `reader_${suffix}` }
  const password = `secret-${randomUUID()}`
  const asSuperuser = (sql: string): Promise<void> =>
    withSession(database.superuserUrl, async (client) => {
      await client.query(sql)
    })
  const as = (login: string): URL => {
    const url = new URL(database.superuserUrl)
    url.protocol = 'postgres:'
    url.username = login
    url.password = password
    return url
  }
  for (const name of Object.values(names)) await asSuperuser(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`)
  const { pathname } = new URL(database.superuserUrl)
  await asSuperuser(`GRANT CREATE, CONNECT ON DATABASE ${pathname.slice(1)} TO ${names.owner};
    ALTER SCHEMA public OWNER TO ${names.owner}`)
  const owner = as(names.owner)
  const run = (sql: string): Promise<void> =>
    withSession(owner.href, async (client) => {
      await client.query(sql)
    })
  await run(script)
  await run(`GRANT USAGE ON SCHEMA public TO ${names.reader};
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${names.reader};
    GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO ${names.reader}`)
  return {
    database,
    owner,
    reader: as(names.reader),
    password,
    run,
    async drop() {
      // Roles are the server's: its other databases outlive this one.
      const drops = Object.values(names).map((name) => `DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`)
      await asSuperuser(drops.join('; '))
      await database.drop()
    },
  }
}
