import type pg from 'pg'
import { databaseUnavailable, databaseUnsuitable } from '../errors.ts'
import { assertTriggersFire } from './assert-triggers-fire.ts'
import { closePublicSchema } from './close-public-schema.ts'
import { assertNotNewer, type MigrationOptions, migrate } from './migrations.ts'
import { openExtensionsSchema } from './open-extensions-schema.ts'
import { quoteIdentifier } from './quoting.ts'
import { recallOwnership } from './recall-ownership.ts'
import { limitConnections, type RoomOptions } from './room.ts'
import { openSession } from './session-client.ts'
import { type StartLockOptions, withStartLock } from './start-lock.ts'

/** PostgreSQL 15: the oldest version that Wharf is tried on. */
const OLDEST_VERSION_NUM = 150_000

export type PreparationOptions = MigrationOptions & Partial<RoomOptions>

/**
 * Makes a database ready for Wharf: checks that it can be one, brings its tables up to date, and closes it to
 * logins that have no business in it. Projects' logins get a limit of their sessions.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where it cannot be reached, or another process prepares it for too long;
 *   DATABASE_UNSUITABLE where it is too old, Wharf's login lacks a right, naming the grant, a newer version of Wharf has
 *   migrated it, or the triggers of the event log would not fire.
 */
export async function prepareDatabase(connectionString: string, options: PreparationOptions): Promise<void> {
  const session = { kind: 'wharf', applicationName: 'wharf start', logger: options.logger } as const
  const client = await openSession(connectionString, session).catch((error: unknown) => {
    throw databaseUnavailable(`the database cannot be reached: ${reason(error)}`, error)
  })
  try {
    await assertVersion(client)
    await assertMayMigrate(client)
    await assertOwnsTables(client)
    await assertNotNewer(client)
    // Before anything is made: what projects may have put where names are looked up is kept out of it.
    await closePublicSchema(client, options)
    await migrate(connectionString, options)
    await closeFunctions(client, options)
    await openExtensionsSchema(client, options)
    await assertTriggersFire(client)
    await closeToPublic(client, options)
    await warnOfPower(client, options)
    const { projectConnections = 0, ownConnections = 0 } = options
    await limitConnections(client, { ...options, projectConnections, ownConnections })
  } finally {
    await client.end()
  }
}

/** What went wrong in PostgreSQL's or the system's own words; the connection string is in none of them. */
const reason = (error: unknown): string => (error instanceof Error && error.message) || String(error)

/** @throws {AppError} DATABASE_UNSUITABLE */
export async function assertVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ num: number; name: string }>(
    `SELECT current_setting('server_version_num')::int AS num, current_setting('server_version') AS name`,
  )
  const version = rows[0]
  if (version && version.num >= OLDEST_VERSION_NUM) return
  throw databaseUnsuitable(`PostgreSQL 15 or newer is needed, the database is ${version?.name}`)
}

/** @throws {AppError} DATABASE_UNSUITABLE, naming the grants. */
export async function assertMayMigrate(client: pg.Client): Promise<void> {
  await recallOwnership(client)
  const { rows } = await client.query<{ login: string; database: string; allowed: boolean }>(
    `SELECT current_user AS login, current_database() AS database,
            has_database_privilege(current_database(), 'CREATE')
              AND coalesce(has_schema_privilege(to_regnamespace('public'), 'CREATE'), true) AS allowed`,
  )
  const rights = rows[0]
  if (!rights || rights.allowed) return
  const login = quoteIdentifier(rights.login)
  const grants = `GRANT CREATE ON DATABASE ${quoteIdentifier(rights.database)} TO ${login}; GRANT CREATE ON SCHEMA public TO ${login}`
  throw databaseUnsuitable(
    `Wharf's database login "${rights.login}" may not create its tables; a superuser grants it: ${grants}`,
  )
}

/**
 * A dump that a superuser has restored without Wharf's login, or as his own, leaves him all that Wharf has made.
 *
 * @throws {AppError} DATABASE_UNSUITABLE
 */
export async function assertOwnsTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ login: string; owner: string; database: string }>(
    `SELECT current_user AS login, current_database() AS database, pg_get_userbyid(owner)::text AS owner
     FROM (SELECT nspowner AS owner FROM pg_namespace WHERE nspname IN ('control', 'system', 'wharf', 'wharf_start')
           UNION ALL SELECT relowner FROM pg_class WHERE relkind = 'r' AND
             (oid = to_regclass('public._prisma_migrations') OR relnamespace = to_regnamespace('control'))) AS found
     WHERE NOT pg_has_role(owner, 'USAGE') LIMIT 1`,
  )
  const [other] = rows
  if (!other) return
  const { login, owner, database } = other
  throw databaseUnsuitable(
    `Wharf's tables in the database "${database}" belong to "${owner}", and Wharf's database login is "${login}": start with ` +
      `the login that they belong to, or restore the database again as "${login}" (pg_restore --no-owner --role=${quoteIdentifier(login)})`,
  )
}

/** Functions that any login may call: what a migration takes from PUBLIC, a restore without rights gives to it again. */
const OPEN_FUNCTIONS = `
  SELECT 1 FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
   WHERE pronamespace = 'wharf'::regnamespace AND grantee = 0 LIMIT 1`

/** Takes from PUBLIC what only projects' logins may call, each as it was granted by name. */
async function closeFunctions(client: pg.Client, options: StartLockOptions): Promise<void> {
  if ((await client.query(OPEN_FUNCTIONS)).rowCount === 0) return
  await withStartLock(client, options, async () => {
    await client.query('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA wharf FROM PUBLIC')
    await client.query('REVOKE ALL ON SCHEMA wharf FROM PUBLIC')
  })
}

/**
 * Takes from PUBLIC the right to connect: each project's login has been granted it by name. One process at a time: of
 * two that change a database's rights at once, PostgreSQL refuses one.
 */
async function closeToPublic(client: pg.Client, options: StartLockOptions): Promise<void> {
  const { open, owner, database } = await readAccess(client)
  if (!open) return
  const revoke = `REVOKE ALL ON DATABASE ${quoteIdentifier(database)} FROM PUBLIC`
  if (!owner) {
    options.logger.warn({ advice: revoke }, 'any login of the database server can connect to this database')
    return
  }
  await withStartLock(client, options, async () => {
    if ((await readAccess(client)).open) await client.query(revoke)
  })
}

interface Access {
  readonly database: string
  /** Whether every login may connect. */
  readonly open: boolean
  /** Whether Wharf's login may change that. */
  readonly owner: boolean
}

async function readAccess(client: pg.Client): Promise<Access> {
  const { rows } = await client.query<Access>(
    `SELECT datname AS database, pg_has_role(datdba, 'USAGE') AS owner,
            EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) WHERE grantee = 0) AS open
     FROM pg_database WHERE datname = current_database()`,
  )
  const [access] = rows
  if (!access) throw new Error('PostgreSQL does not know its own database')
  return access
}

/** The version since which CREATEROLE no longer gives rights that its holder lacks. */
const NARROW_CREATEROLE = 160_000

/**
 * Says where Wharf's login could do more than it has to: as a superuser, and on PostgreSQL 15 with CREATEROLE, which may
 * grant itself `pg_execute_server_program` there.
 *
 * @see https://www.postgresql.org/docs/16/release-16.html
 */
async function warnOfPower(client: pg.Client, { logger }: PreparationOptions): Promise<void> {
  const { rows } = await client.query<{ version: number; superuser: boolean; roles: boolean }>(
    `SELECT current_setting('server_version_num')::int AS version, rolsuper AS superuser, rolcreaterole AS roles
     FROM pg_roles WHERE rolname = current_user`,
  )
  const [login] = rows
  if (login?.superuser) {
    logger.warn("Wharf's database login is a superuser, which it need not be; give it a login with CREATEROLE")
  } else if (login?.roles && login.version < NARROW_CREATEROLE) {
    logger.warn(
      "on PostgreSQL 15, CREATEROLE makes Wharf's database login nearly a superuser; PostgreSQL 16 or newer is recommended",
    )
  }
}
