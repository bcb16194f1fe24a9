import type { Queryable, Transaction } from '../database/database.ts'
import type { Login } from '../database/login-databases.ts'
import { quoteIdentifier, quoteLiteral } from '../database/quoting.ts'
import { scramVerifier } from '../database/scram-verifier.ts'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { dropPatiently } from './drop-patiently.ts'

/**
 * Creates the login role under which everything of a project's own making runs. It owns the project's stage
 * schemas and has rights on nothing else.
 *
 * Wharf's own login becomes a member of it: an ordinary login needs that to give it schemas.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, naming the grant, where Wharf's own login may not create roles or schemas.
 */
export async function createProjectLogin(system: Transaction, login: string, password: string): Promise<void> {
  await assertMayCreateLogins(system)
  const name = quoteIdentifier(login)
  const [{ database } = { database: '' }] = await system.$queryRaw<{ database: string }[]>`
    SELECT current_database() AS database`
  await system.$executeRawUnsafe(
    `CREATE ROLE ${name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD ${quoteLiteral(scramVerifier(password))}`,
  )
  await system.$executeRawUnsafe(`GRANT ${name} TO CURRENT_USER`)
  await system.$executeRawUnsafe(`GRANT CONNECT, TEMPORARY ON DATABASE ${quoteIdentifier(database)} TO ${name}`)
}

/**
 * Gives a project's login its password again: every login may change its own, and a project's own SQL runs as it.
 *
 * @param system Wharf's own login, which created this one and so may alter it.
 */
export async function restoreProjectPassword(system: Queryable, login: Login, logger: Logger): Promise<void> {
  logger.warn({ login: login.name }, "a project's login was refused: its password was changed, and is being restored")
  try {
    await system.$executeRawUnsafe(
      `ALTER ROLE ${quoteIdentifier(login.name)} PASSWORD ${quoteLiteral(scramVerifier(login.password))}`,
    )
  } catch (error) {
    logger.warn({ login: login.name, err: error }, "the password of a project's login could not be restored")
    throw error
  }
}

/**
 * Ends the login's sessions and drops it with all that it owns; nothing is left of the project in the database.
 *
 * @throws {AppError} CONFLICT where a session that began meanwhile reads its tables for too long.
 */
export async function dropProjectLogin(system: Transaction, login: string): Promise<void> {
  const name = quoteIdentifier(login)
  await system.$executeRawUnsafe(`ALTER ROLE ${name} NOLOGIN`)
  await system.$executeRaw`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ${login}`
  await dropPatiently(system, 'the project', `DROP OWNED BY ${name} CASCADE`)
  await system.$executeRawUnsafe(`DROP ROLE ${name}`)
}

async function assertMayCreateLogins(system: Transaction): Promise<void> {
  const [rights] = await system.$queryRaw<{ login: string; database: string; roles: boolean; schemas: boolean }[]>`
    SELECT current_user AS login, current_database() AS database, rolcreaterole OR rolsuper AS roles,
           has_database_privilege(current_database(), 'CREATE') AS schemas
    FROM pg_roles WHERE rolname = current_user`
  if (!rights) return
  const { login, database, roles, schemas } = rights
  const missing = [
    ...(roles ? [] : [`ALTER ROLE ${quoteIdentifier(login)} CREATEROLE`]),
    ...(schemas ? [] : [`GRANT CREATE ON DATABASE ${quoteIdentifier(database)} TO ${quoteIdentifier(login)}`]),
  ]
  if (missing.length === 0) return
  throw new AppError(
    'DATABASE_UNSUITABLE',
    `Wharf's database login "${login}" may not create a project's login and schemas; a superuser grants it: ${missing.join('; ')}`,
    { faults: missing.map((detail) => ({ detail })) },
  )
}
