import pg from 'pg'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { MIGRATION_LOCK } from './advisory-locks.ts'
import { migrate } from './migrations.ts'
import { quoteIdentifier } from './quoting.ts'

/** PostgreSQL 15: the oldest version that Wharf is tried on. */
const OLDEST_VERSION_NUM = 150_000

/**
 * Makes a database ready for Wharf: checks that it can be one, brings its tables up to date, and closes it to
 * logins that have no business in it.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where it cannot be reached; DATABASE_UNSUITABLE where it is too old, or
 *   Wharf's login lacks a right, naming the grant.
 */
export async function prepareDatabase(connectionString: string, logger: Logger): Promise<void> {
  const client = new pg.Client({ connectionString, application_name: 'wharf start', connectionTimeoutMillis: 10_000 })
  await client.connect().catch((error: unknown) => {
    throw new AppError('DATABASE_UNAVAILABLE', `the database cannot be reached: ${reason(error)}`, { cause: error })
  })
  try {
    await assertVersion(client)
    await assertMayMigrate(client)
    await migrate(connectionString, logger)
    await closeToPublic(client, logger)
  } finally {
    await client.end()
  }
}

/** What went wrong in PostgreSQL's or the system's own words; the connection string is in none of them. */
const reason = (error: unknown): string => (error instanceof Error && error.message) || String(error)

async function assertVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ num: number; name: string }>(
    `SELECT current_setting('server_version_num')::int AS num, current_setting('server_version') AS name`,
  )
  const version = rows[0]
  if (version && version.num >= OLDEST_VERSION_NUM) return
  throw new AppError('DATABASE_UNSUITABLE', `PostgreSQL 15 or newer is needed, the database is ${version?.name}`)
}

async function assertMayMigrate(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ login: string; database: string; allowed: boolean }>(
    `SELECT current_user AS login, current_database() AS database,
            has_database_privilege(current_database(), 'CREATE')
              AND coalesce(has_schema_privilege(to_regnamespace('public'), 'CREATE'), true) AS allowed`,
  )
  const rights = rows[0]
  if (!rights || rights.allowed) return
  const login = quoteIdentifier(rights.login)
  const grants = `GRANT CREATE ON DATABASE ${quoteIdentifier(rights.database)} TO ${login}; GRANT CREATE ON SCHEMA public TO ${login}`
  throw new AppError(
    'DATABASE_UNSUITABLE',
    `Wharf's database login "${rights.login}" may not create its tables; a superuser grants it: ${grants}`,
  )
}

/**
 * Takes from PUBLIC the right to connect: each project's login has been granted it by name. One process at a time, until
 * its session ends: of two that change a database's rights at once, PostgreSQL refuses one.
 */
async function closeToPublic(client: pg.Client, logger: Logger): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
  const { rows } = await client.query<{ database: string; open: boolean; owner: boolean }>(
    `SELECT datname AS database, pg_has_role(datdba, 'USAGE') AS owner,
            EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) WHERE grantee = 0) AS open
     FROM pg_database WHERE datname = current_database()`,
  )
  const state = rows[0]
  if (!state?.open) return
  const revoke = `REVOKE ALL ON DATABASE ${quoteIdentifier(state.database)} FROM PUBLIC`
  if (state.owner) await client.query(revoke)
  else logger.warn({ advice: revoke }, 'any login of the database server can connect to this database')
}
