import type pg from 'pg'
import { assertUsable } from '../../database/address/assert-usable.ts'
import { reachServer } from '../../database/address/reach-server.ts'
import type { ServerChoice, ServerConnection } from '../../database/address/server-connection.ts'
import type { PrismaClient } from '../../database/generated/client.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { newLockKey, SEEN_LOCK_SQL } from '../../database/seen-lock.ts'
import { openSession } from '../../database/session-client.ts'
import { conflict } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { attachedFailure } from './attached-failure.ts'

const SESSION = { kind: 'attached', applicationName: 'wharf attaches' } as const

export interface ProbedDatabase {
  readonly connection: ServerConnection
  readonly isSecondChoice: boolean
  /** @see AttachedAddress.identity */
  readonly identity: string | null
}

interface Probing {
  /** As Wharf's own login. */
  readonly control: PrismaClient
  /** The schemas that have to be there. */
  readonly schemas: readonly string[]
  readonly logger: Logger
}

/**
 * Connects to a database that is to be attached, and makes sure that it can be: that it is a PostgreSQL that Wharf knows,
 * not Wharf's own database, and has the schemas, and that the login may use these.
 *
 * @throws {AppError} ATTACHED_FAILED where it cannot be used; CONFLICT where it is Wharf's own, or a schema is missing
 *   or closed to the login.
 */
export async function probeDatabase(choice: ServerChoice, probing: Probing): Promise<ProbedDatabase> {
  const { name } = choice.first
  try {
    const session = { ...SESSION, logger: probing.logger }
    const connection = await reachServer(choice, session)
    await assertUsable(connection, { ...session, forWriting: false })
    const isSecondChoice = connection === choice.otherwise
    return { connection, isSecondChoice, identity: await lookAround(connection, probing) }
  } catch (error) {
    throw attachedFailure(name, error)
  }
}

async function lookAround(connection: ServerConnection, probing: Probing): Promise<string | null> {
  const client = await openSession(connection, { ...SESSION, logger: probing.logger })
  try {
    await assertNotOwn(client, connection, probing.control)
    await assertHasSchemas(client, connection, probing.schemas)
    await assertUsableSchemas(client, connection, probing.schemas)
    return await readIdentity(client)
  } finally {
    await Promise.allSettled([client.end()])
  }
}

/** Wharf's own tables, and the stages of all other projects, are no stages of anybody's. */
export async function assertNotOwn(
  client: pg.Client,
  { name }: ServerConnection,
  control: PrismaClient,
): Promise<void> {
  const key = newLockKey()
  const isOwn = await control.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT pg_catalog.pg_advisory_xact_lock(${key}::bigint)`
    const { rows } = await client.query<{ seen: boolean }>(SEEN_LOCK_SQL, [key])
    return rows[0]?.seen ?? false
  })
  if (isOwn) throw conflict(`${name} is Wharf's own database: make a project in it instead (project:create)`)
}

/** @throws {AppError} CONFLICT, with those that are missing and those that there are. */
export async function assertHasSchemas(
  client: Pick<pg.Client, 'query'>,
  { name }: Pick<ServerConnection, 'name'>,
  schemas: readonly string[],
): Promise<void> {
  const { rows } = await client.query<{ schema: string }>(
    `SELECT nspname::text AS schema FROM pg_namespace
      WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY nspname`,
  )
  const existing = rows.map(({ schema }) => schema)
  const missing = schemas.filter((schema) => !existing.includes(schema))
  if (missing.length === 0) return
  const quoted = (names: readonly string[]): string => names.map((each) => `"${each}"`).join(', ')
  throw conflict(
    `${name} has no schema ${quoted(missing)} that can be a stage; it has ${quoted(existing.slice(0, MAX_NAMED)) || 'none'}`,
  )
}

const MAX_NAMED = 50

/**
 * A login that may not even use a schema can do nothing with it. What it may not read of it is for `project:show` to say,
 * since exports can leave tables out.
 *
 * @throws {AppError} CONFLICT, with the statements that allow it.
 */
export async function assertUsableSchemas(
  client: Pick<pg.Client, 'query'>,
  { name }: Pick<ServerConnection, 'name'>,
  schemas: readonly string[],
): Promise<void> {
  const { rows } = await client.query<{ schema: string; login: string }>(
    `SELECT nspname::text AS schema, current_user::text AS login FROM pg_namespace
      WHERE nspname = ANY ($1::text[]) AND NOT has_schema_privilege(oid, 'USAGE') ORDER BY nspname`,
    [schemas],
  )
  if (rows.length === 0) return
  const faults = rows.map(({ schema, login }) => ({
    detail: `GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${quoteIdentifier(login)}`,
  }))
  throw conflict(
    `the login of ${name} may not use every schema that is named; the owner of the schema allows it`,
    faults,
  )
}

/**
 * What tells a database from all others.
 *
 * @returns null where the login may not ask, as on servers that others run.
 */
export async function readIdentity(client: pg.Client): Promise<string | null> {
  const asked = client.query<{ identity: string }>(
    `SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS identity
       FROM pg_control_system()`,
  )
  return asked.then(
    ({ rows }) => rows[0]?.identity ?? null,
    () => null,
  )
}
