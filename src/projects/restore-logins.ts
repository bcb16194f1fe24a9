import type { Database, Transaction } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { quoteIdentifier } from '../database/quoting.ts'
import type { Room } from '../database/room.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../database/sqlstate.ts'
import { databaseUnsuitable, isAppError } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import type { Logger } from '../logger.ts'
import type { OwnDatabases } from './own-database/own-databases.ts'
import {
  createClosedLogin,
  createProjectLogin,
  grantSharedDatabase,
  joinLogin,
  lockGrants,
  openLogin,
  PROJECT_FUNCTIONS,
} from './project-login.ts'
import { restoreOwnership } from './restore-ownership.ts'
import { projectSubject } from './sealed-subjects.ts'

export interface RestoringServices {
  readonly control: Pick<Database, 'prisma'>
  readonly seal: Seal
  readonly room: Pick<Room, 'limitOfNew'>
  readonly ownDatabases: OwnDatabases
  readonly logger: Logger
}

/** A project whose login is missing, or lacks something. */
export interface LackingLogin {
  readonly id: string
  readonly slug: string
  readonly login: string
  readonly ownDatabase: string | null
  readonly sealedPassword: Uint8Array
  /** Whether the server has the login. */
  readonly isThere: boolean
  /** Whether Wharf's own login is a member of it. */
  readonly isJoined: boolean
  /** Whether the database of its own is on the server; true where it needs none. */
  readonly hasDatabase: boolean
}

/** How long one project may take, in milliseconds: each of its objects is altered. */
const PATIENT = { timeout: 10 * 60_000 }

const ANY = Prisma.sql`true`

/** A list of rights that is read from its table once: `aclexplode` reads and unpacks a long one anew for each row it gives. */
const inMemory = (column: string): Prisma.Sql => Prisma.raw(`(SELECT array_agg(item) FROM unnest(${column}) AS item)`)

/**
 * The projects whose logins are missing on the server, or lack what `createProject` grants, in the order of their slugs:
 * what a dump of Wharf's database leaves that was restored on another server, since neither logins nor rights on a database
 * are in it.
 *
 * One query, which goes through each list of rights once: to ask PostgreSQL for the rights of each login takes a second for
 * 2,000 projects, since each answer goes through the whole list.
 */
export const findLackingLogins = (
  system: Transaction,
  which: Prisma.Sql = ANY,
): Promise<readonly LackingLogin[]> => system.$queryRaw<LackingLogin[]>`
  WITH function AS (
    SELECT oid, proacl FROM pg_catalog.pg_proc
     WHERE pronamespace = 'wharf'::regnamespace AND proname = ANY (${PROJECT_FUNCTIONS}::text[])
  ), complete AS (
    SELECT grantee FROM (
      SELECT grantee, privilege_type AS what FROM pg_catalog.pg_database CROSS JOIN aclexplode(${inMemory('datacl')})
       WHERE datname = current_database() AND privilege_type IN ('CONNECT', 'TEMPORARY')
      UNION SELECT grantee, privilege_type FROM pg_catalog.pg_namespace CROSS JOIN aclexplode(${inMemory('nspacl')})
       WHERE nspname = 'wharf' AND privilege_type = 'USAGE'
      UNION SELECT grantee, oid::text FROM function CROSS JOIN aclexplode(${inMemory('proacl')}) WHERE privilege_type = 'EXECUTE') AS granted
     GROUP BY grantee HAVING count(*) = 3 + (SELECT count(*) FROM function)
  )
  SELECT id::text, slug, login, own_database AS "ownDatabase", sealed_password AS "sealedPassword",
         r.oid IS NOT NULL AS "isThere",
         coalesce(pg_has_role(current_user, r.oid, 'MEMBER'), false) AS "isJoined",
         own_database IS NULL OR d.oid IS NOT NULL AS "hasDatabase"
    FROM control.project LEFT JOIN pg_catalog.pg_roles r ON rolname = login
    LEFT JOIN pg_catalog.pg_database d ON datname = own_database
    LEFT JOIN complete ON grantee = r.oid
   WHERE login IS NOT NULL AND NOT unfinished AND ${which}
     AND (r.oid IS NULL OR NOT pg_has_role(current_user, r.oid, 'MEMBER')
          OR CASE WHEN own_database IS NULL THEN grantee IS NULL
             ELSE NOT rolcanlogin OR d.oid IS NULL
               OR NOT has_database_privilege(r.oid, d.oid, 'CONNECT') OR NOT has_database_privilege(r.oid, d.oid, 'TEMPORARY')
               OR NOT has_database_privilege(r.oid, d.oid, 'CREATE')
               OR EXISTS (SELECT FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) AS acl WHERE acl.grantee = 0)
             END)
   ORDER BY slug`

/**
 * Makes the logins of projects again that the server lacks, with the passwords and the rights that they had, and gives them
 * back what was restored meanwhile. Several processes may do so at once.
 *
 * A project whose own database is missing is logged, and keeps no other from being used.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, naming the projects that cannot be used and what to do, where Wharf's own login
 *   may not repair them.
 */
export async function restoreLogins(services: RestoringServices): Promise<void> {
  const { prisma } = services.control
  const problems: string[] = []
  for (const { id } of await findLackingLogins(prisma)) {
    const problem = await restoreLogin(services, id).catch((error: unknown) => reasonOf(error))
    if (problem !== undefined) problems.push(problem)
  }
  await adoptStages(prisma)
  if (problems.length === 0) return
  throw databaseUnsuitable(
    `projects cannot be used with this database, which seems to have been restored without the logins of its projects: ${problems[0]}`,
    problems.slice(1).map((detail) => ({ detail })),
  )
}

/** @returns what to do, where the project cannot be used; nothing was changed then. */
async function restoreLogin(services: RestoringServices, id: string): Promise<string | undefined> {
  const { control, logger } = services
  const limit = await services.room.limitOfNew()
  let repaired: LackingLogin | undefined
  await control.prisma.$transaction(async (tx) => {
    await lockGrants(tx)
    // Another process may have repaired it, or deleted it, since it was found.
    const [lacking] = await findLackingLogins(tx, Prisma.sql`id = ${id}::uuid`)
    if (!lacking) return
    if (lacking.isThere && !lacking.isJoined) await join(tx, lacking)
    if (lacking.ownDatabase === null) await restoreShared(tx, services, lacking, limit)
    else await restoreClosed(tx, services, lacking, limit)
    repaired = lacking
  }, PATIENT)
  if (!repaired) return undefined
  if (repaired.ownDatabase !== null && !(await restoreOwn(services, repaired, repaired.ownDatabase))) return undefined
  const { slug: project, login, isThere } = repaired
  logger.warn({ project, login }, isThere ? "a project's login had lost rights" : "a project's login was made again")
  return undefined
}

async function join(tx: Transaction, { slug, login }: LackingLogin): Promise<void> {
  const [own] = await tx.$queryRaw<{ name: string }[]>`SELECT current_user::text AS name`
  await joinLogin(tx, login).catch((error: unknown) => {
    if (sqlState(error) !== SQLSTATE.insufficientPrivilege) throw error
    const grant = `GRANT ${quoteIdentifier(login)} TO ${quoteIdentifier(own?.name ?? '')} WITH ADMIN OPTION`
    throw databaseUnsuitable(
      `Wharf's login may not manage the login of project "${slug}"; a superuser grants it: ${grant}`,
    )
  })
}

async function restoreShared(
  tx: Transaction,
  { seal }: RestoringServices,
  { id, slug, login: name, sealedPassword, isThere }: LackingLogin,
  limit: number,
): Promise<void> {
  if (isThere) return grantSharedDatabase(tx, name)
  await createProjectLogin(tx, { name, password: seal.unseal(sealedPassword, projectSubject(id)) }, limit)
  const schemas = await tx.$queryRaw<{ name: string }[]>`
    SELECT schema_name AS name FROM control.stage WHERE project_id = ${id}::uuid
    UNION ALL SELECT side.schema_name FROM system.side_schema side JOIN control.stage ON stage.id = stage_id
     WHERE project_id = ${id}::uuid AND kind = 'kept'`
  const owners = await restoreOwnership(
    (sql, parameters = []) => tx.$queryRawUnsafe(sql, ...parameters),
    schemas.map((schema) => schema.name),
    name,
  )
  if (owners.length > 0) throw ofAnother(slug, owners)
}

/** What a superuser has restored stays a superuser's: no other login can give it away. */
const ofAnother = (slug: string, owners: readonly string[]): Error =>
  databaseUnsuitable(
    `what project "${slug}" has belongs to "${owners.join('", "')}"; restore again, with the logins first, or as Wharf’s login ` +
      '(pg_restore --no-owner --role)',
  )

async function restoreClosed(
  tx: Transaction,
  { seal }: RestoringServices,
  { id, login: name, sealedPassword, isThere }: LackingLogin,
  limit: number,
): Promise<void> {
  if (isThere) return
  await createClosedLogin(tx, { name, password: seal.unseal(sealedPassword, projectSubject(id)) }, limit)
}

/** The rest of a project with a database of its own, whose login there is by now. @returns whether it can be used. */
async function restoreOwn(
  { control, ownDatabases, logger }: RestoringServices,
  { id, slug, login, hasDatabase }: LackingLogin,
  database: string,
): Promise<boolean> {
  if (!hasDatabase) {
    logger.error(
      { project: slug, database },
      "the database of a project's own is not on this server: restore it there under this name, or delete the project",
    )
    return false
  }
  await control.prisma.$transaction(async (tx) => {
    await lockGrants(tx)
    if ((await findLackingLogins(tx, Prisma.sql`id = ${id}::uuid`)).length === 0) return
    const stages = await tx.stage.findMany({ where: { projectId: id }, select: { schemaName: true } })
    const schemas = stages.map(({ schemaName }) => schemaName)
    const owners = await ownDatabases.restore({ name: database, login, schemas })
    if (owners.length > 0) throw ofAnother(slug, owners)
    await openLogin(tx, login)
  }, PATIENT)
  return true
}

/** Stages of other databases are recorded as Wharf's own login, which may have another name since. */
const adoptStages = (system: Transaction): Promise<unknown> => system.$executeRaw`
  UPDATE system.stage_state SET login = current_user
   WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = stage_state.login)
     AND NOT EXISTS (SELECT FROM control.project WHERE project.login = stage_state.login)`

/** @throws whatever is no answer of PostgreSQL's, or Wharf's, to what was tried. */
function reasonOf(error: unknown): string {
  if (isAppError(error, 'DATABASE_UNSUITABLE')) return error.message
  const said = sqlMessage(error)
  if (said === undefined) throw error
  return said
}
