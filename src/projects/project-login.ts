import type { Queryable, Transaction } from '../database/database.ts'
import type { PrismaClient } from '../database/generated/client.ts'
import type { Login } from '../database/login-databases.ts'
import { quoteIdentifier, quoteLiteral } from '../database/quoting.ts'
import { scramVerifier } from '../database/scram-verifier.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../database/sqlstate.ts'
import { conflict, databaseUnsuitable } from '../errors.ts'
import { within } from '../lib/within.ts'
import type { Logger } from '../logger.ts'
import { dropOwned } from './project-objects.ts'

/** The functions of Wharf's that a project's login may call. A migration grants a new one to the existing logins. */
export const PROJECT_FUNCTIONS = [
  'enter_stage',
  // Earlier versions call these two, which may run beside this one.
  'fetch_page',
  'fetch_pages',
  'log_rows',
  'log_statement',
  'log_tables',
  'record_import',
  'record_structure_change',
  'record_unlogged',
  'stage_reference',
  'unlogged_tables',
]

/**
 * Creates the login role under which everything of a project's own making runs. It owns the project's stage
 * schemas and has rights on nothing else.
 *
 * @param connectionLimit how many sessions it may have; it cannot raise that itself.
 *
 * Wharf's own login becomes a member of it: an ordinary login needs that to give it schemas.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, naming the grant, where Wharf's own login may not create roles or schemas.
 */
export async function createProjectLogin(
  system: Transaction,
  { name: login, password }: Login,
  connectionLimit: number,
): Promise<void> {
  await assertMayCreateLogins(system)
  await lockGrants(system)
  await createRole(system, { name: login, password }, `LOGIN CONNECTION LIMIT ${connectionLimit}`)
  await grantSharedDatabase(system, login)
}

/** Grants a project's login what it needs of the shared database besides its schemas. */
export async function grantSharedDatabase(system: Transaction, login: string): Promise<void> {
  const name = quoteIdentifier(login)
  const [{ database } = { database: '' }] = await system.$queryRaw<{ database: string }[]>`
    SELECT current_database() AS database`
  await system.$executeRawUnsafe(`GRANT CONNECT, TEMPORARY ON DATABASE ${quoteIdentifier(database)} TO ${name}`)
  await system.$executeRawUnsafe(`GRANT USAGE ON SCHEMA wharf TO ${name}`)
  const functions = PROJECT_FUNCTIONS.map((called) => `wharf.${called}`).join(', ')
  await system.$executeRawUnsafe(`GRANT EXECUTE ON FUNCTION ${functions} TO ${name}`)
}

/**
 * Creates the login of a project that has a database of its own. Nothing of the shared one is granted to it, and it can log
 * in from `openLogin` on.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, as `createProjectLogin` does.
 */
export async function createClosedLogin(system: Transaction, login: Login, connectionLimit: number): Promise<void> {
  await assertMayCreateLogins(system)
  await createRole(system, login, `NOLOGIN CONNECTION LIMIT ${connectionLimit}`)
}

export const openLogin = (system: Transaction, login: string): Promise<unknown> =>
  system.$executeRawUnsafe(`ALTER ROLE ${quoteIdentifier(login)} LOGIN`)

async function createRole(system: Transaction, { name: login, password }: Login, options: string): Promise<void> {
  const name = quoteIdentifier(login)
  await system.$executeRawUnsafe(
    `CREATE ROLE ${name} ${options} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD ${quoteLiteral(scramVerifier(password))}`,
  )
  await joinLogin(system, login)
}

/** Makes Wharf's own login a member of a project's, if it may. */
export const joinLogin = (system: Transaction, login: string): Promise<unknown> =>
  system.$executeRawUnsafe(`GRANT ${quoteIdentifier(login)} TO CURRENT_USER`)

/**
 * Gives a project's login its password again: every login may change its own, and a project's own SQL runs as it.
 *
 * @param system Wharf's own login, which created this one and so may alter it.
 */
export async function restoreProjectPassword(system: PrismaClient, login: Login, logger: Logger): Promise<void> {
  logger.warn({ login: login.name }, "a project's login was refused: its password was changed, and is being restored")
  try {
    await system.$transaction([
      // The login can hold its own role, by changing its password in a transaction that it does not end.
      system.$executeRawUnsafe(`SET LOCAL lock_timeout = '5s'`),
      system.$executeRawUnsafe(
        `ALTER ROLE ${quoteIdentifier(login.name)} PASSWORD ${quoteLiteral(scramVerifier(login.password))}`,
      ),
    ])
  } catch (error) {
    logger.warn({ login: login.name, err: error }, "the password of a project's login could not be restored")
    throw error
  }
}

/** How often it is tried to alter a login that changes itself at the same moment. */
const MAX_ATTEMPTS = 10

/** Between two rounds of ending the sessions of a login that is being altered, in milliseconds. */
const ENDING_INTERVAL_MS = 100

/**
 * Lets no session of the login begin any more, in a transaction that is committed by then, and ends those that there are:
 * each could be followed by another that holds what is to be dropped. A login that is gone needs no closing.
 *
 * @throws {AppError} CONFLICT where the login holds its own role all the time.
 */
export async function closeLogin(system: PrismaClient, login: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await whileEndingSessions(system, login, forbidLogin(system, login))
      break
    } catch (error) {
      if (sqlState(error) === SQLSTATE.undefinedObject) return
      if (!isHeld(error)) throw error
      if (attempt === MAX_ATTEMPTS) throw conflict('the database login of the project is being changed; try again')
    }
  }
  await endSessionsOf(system, login)
}

/**
 * Lets the logins of projects in again whose deletion has failed, or whose process died in the middle of it. A deletion
 * under way has its project's row locked, and is left alone.
 *
 * @param slug of one project; all where it is left out.
 * @returns the logins.
 */
export async function reopenLogins(system: PrismaClient, slug?: string): Promise<readonly string[]> {
  return system.$transaction(async (tx) => {
    const closed = await tx.$queryRaw<{ login: string }[]>`
      SELECT login FROM control.project JOIN pg_catalog.pg_roles ON rolname = login
       WHERE NOT rolcanlogin AND NOT unfinished AND slug = coalesce(${slug ?? null}::text, slug) ORDER BY login
         FOR NO KEY UPDATE OF project SKIP LOCKED`
    for (const { login } of closed) await openLogin(tx, login)
    return closed.map(({ login }) => login)
  })
}

const forbidLogin = (system: PrismaClient, login: string): Promise<unknown> =>
  system.$transaction([
    system.$executeRawUnsafe(`SET LOCAL lock_timeout = '2s'`),
    system.$executeRawUnsafe(`ALTER ROLE ${quoteIdentifier(login)} NOLOGIN`),
  ])

/**
 * A login can hold its own role, by changing its password in a transaction that it does not end. Unless it does, its
 * sessions end after it is closed, so that those who used one can find out why it ended.
 */
async function whileEndingSessions(system: PrismaClient, login: string, altering: Promise<unknown>): Promise<void> {
  let isDone = false
  const settled = Promise.allSettled([altering]).then(() => {
    isDone = true
  })
  while (!isDone) {
    await within(ENDING_INTERVAL_MS, settled, () => undefined)
    if (!isDone) await endSessionsOf(system, login)
  }
  await altering
}

/** PostgreSQL says XX000, and no more, where another transaction has changed the same role meanwhile. */
const isHeld = (error: unknown): boolean =>
  sqlState(error) === SQLSTATE.lockNotAvailable || sqlState(error) === SQLSTATE.internalError

/**
 * Drops a login that is closed, with all that it owns; nothing is left of the project in the database.
 *
 * @throws {AppError} CONFLICT where it owns, or has rights on, what cannot be dropped from here.
 */
export async function dropProjectLogin(system: Transaction, login: string): Promise<void> {
  const name = quoteIdentifier(login)
  await endSessionsOf(system, login)
  await lockGrants(system)
  await system.$executeRawUnsafe(dropOwned(login)).catch((error: unknown) => {
    if (sqlState(error) !== SQLSTATE.dependentObjectsStillExist) throw error
    throw conflict(`what the login "${login}" owns cannot be dropped: ${sqlMessage(error)}`)
  })
  const left = await dependentsOf(system, login)
  if (left.length > 0) {
    throw conflict(
      `the login "${login}" owns, or has rights on, what is outside of the project's stages, and nothing was deleted: ` +
        `${left.join(', ')}; a superuser has to run DROP OWNED or REASSIGN OWNED there`,
    )
  }
  await system.$executeRawUnsafe(`DROP ROLE ${name}`)
}

/** What keeps a role from being dropped: what it owns and has rights on in other databases, and such databases and tablespaces. */
async function dependentsOf(system: Transaction, login: string): Promise<readonly string[]> {
  const found = await system.$queryRaw<{ what: string }[]>`
    SELECT DISTINCT CASE WHEN d.dbid = '0' THEN pg_describe_object(d.classid, d.objid, 0)
                         ELSE format('objects in the database "%s"', b.datname) END AS what
    FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid LEFT JOIN pg_database b ON b.oid = d.dbid
    WHERE d.refclassid = 'pg_authid'::regclass::oid AND r.rolname = ${login}::name
    ORDER BY 1`
  return found.map(({ what }) => what)
}

/**
 * One transaction at a time: of two that change the rights on the same database, schema or function at once, PostgreSQL
 * refuses one (XX000, "tuple concurrently updated").
 */
export const lockGrants = (system: Transaction): Promise<unknown> =>
  system.$queryRaw`SELECT 1 FROM control.lock WHERE name = 'grants' FOR UPDATE`

/** Ends the login's sessions, and with them what they hold; others can begin. */
export const endSessionsOf = (system: Queryable, login: string): Promise<unknown> =>
  system.$executeRaw`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ${login}`

/** @throws {AppError} DATABASE_UNSUITABLE, naming the grants. */
export async function assertMayCreateLogins(system: Transaction): Promise<void> {
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
  throw databaseUnsuitable(
    `Wharf's database login "${login}" may not create a project's login and schemas; a superuser grants it: ${missing.join('; ')}`,
    missing.map((detail) => ({ detail })),
  )
}
