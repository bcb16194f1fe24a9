import type pg from 'pg'
import { assertUsable } from '../../database/address/assert-usable.ts'
import type { ServerConnection } from '../../database/address/server-connection.ts'
import type { PrismaClient } from '../../database/generated/client.ts'
import { openSession } from '../../database/session-client.ts'
import type { Logger } from '../../logger.ts'
import { attachedFailure } from './attached-failure.ts'
import { assertHasSchemas, assertNotOwn, assertUsableSchemas, readIdentity } from './probe-database.ts'

const SESSION = { kind: 'attached', applicationName: 'wharf looks around' } as const

/** The schema of a database in which nothing is. */
const USUAL_SCHEMA = 'public'

/** A database of a server, as its catalogs name it. */
export interface ListedDatabase {
  readonly name: string
  /** Whether the login may connect to it. */
  readonly mayConnect: boolean
}

/** Those that take connections, and are no templates; one whose `DROP DATABASE` was broken off is none any more. */
const DATABASES = `
  SELECT datname::text AS name, has_database_privilege(oid, 'CONNECT') AS "mayConnect" FROM pg_database
   WHERE datallowconn AND NOT datistemplate AND datconnlimit <> -2 ORDER BY datname`

/** @throws {AppError} ATTACHED_FAILED */
export const listDatabases = (connection: ServerConnection, logger: Logger): Promise<readonly ListedDatabase[]> =>
  inSession(connection, logger, async (client) => (await client.query<ListedDatabase>(DATABASES)).rows)

/** What a look into a database has found. */
export interface FoundSchemas {
  /** @see AttachedAddress.identity */
  readonly identity: string | null
  /** The schemas that hold something, beside those that are known. */
  readonly schemas: readonly string[]
}

/** Whatever stands in a schema depends on it. What extensions have brought does not count, nor what imports leave. */
const FILLED_SCHEMAS = `
  SELECT nspname::text AS name FROM pg_namespace n
   WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
     AND nspname !~ '^wharf_(imports|(new|old)_[0-9a-f]{16})$'
     AND EXISTS (SELECT FROM pg_depend d
                  WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid AND d.deptype = 'n'
                    AND d.classid <> 'pg_extension'::regclass
                    AND NOT EXISTS (SELECT FROM pg_depend e
                                     WHERE e.classid = d.classid AND e.objid = d.objid AND e.deptype = 'e'))
   ORDER BY nspname`

interface Looking {
  /** As Wharf's own login. */
  readonly control: PrismaClient
  readonly logger: Logger
  /** The schemas that are stages already; `public` counts as filled where there are none. */
  readonly known: readonly string[]
}

/**
 * Looks which schemas of a database could be stages, and makes sure that they can be.
 *
 * @throws {AppError} ATTACHED_FAILED where it cannot be used; CONFLICT where it is Wharf's own, or a schema is missing or
 *   closed to the login.
 */
export async function lookIntoDatabase(
  connection: ServerConnection,
  { control, logger, known }: Looking,
): Promise<FoundSchemas> {
  const isNew = known.length === 0
  if (isNew) await assertNewIsUsable(connection, logger)
  return inSession(connection, logger, async (client) => {
    if (isNew) await assertNotOwn(client, connection, control)
    const { rows } = await client.query<{ name: string }>(FILLED_SCHEMAS)
    const filled = rows.map(({ name }) => name)
    const schemas = isNew && filled.length === 0 ? [USUAL_SCHEMA] : filled.filter((schema) => !known.includes(schema))
    await assertHasSchemas(client, connection, schemas)
    await assertUsableSchemas(client, connection, schemas)
    return { identity: await readIdentity(client), schemas }
  })
}

/** Nothing is set in a session before it is known that it is nobody else's. */
async function assertNewIsUsable(connection: ServerConnection, logger: Logger): Promise<void> {
  try {
    await assertUsable(connection, { ...SESSION, forWriting: false, logger })
  } catch (error) {
    throw attachedFailure(connection.name, error)
  }
}

async function inSession<T>(
  connection: ServerConnection,
  logger: Logger,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  try {
    const client = await openSession(connection, { ...SESSION, logger })
    try {
      return await use(client)
    } finally {
      await Promise.allSettled([client.end()])
    }
  } catch (error) {
    throw attachedFailure(connection.name, error)
  }
}
