import type pg from 'pg'
import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import { databaseUnsuitable } from '../errors.ts'
import { quoteIdentifier } from './quoting.ts'
import { type StartLockOptions, withStartLock } from './start-lock.ts'

const SCHEMA = quoteIdentifier(EXTENSIONS_SCHEMA)
const MAKE = `CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`
const OPEN = `GRANT USAGE ON SCHEMA ${SCHEMA} TO PUBLIC`
const CLOSE = `REVOKE CREATE ON SCHEMA ${SCHEMA} FROM PUBLIC`

/**
 * Makes the schema where extensions are, which every project may use and none may make anything in: the sessions of all
 * look names up there.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, naming what a superuser has to do, where everybody may make something there and
 *   Wharf's login can't change that, or where a project has made something there before.
 */
export async function openExtensionsSchema(client: pg.Client, options: StartLockOptions): Promise<void> {
  if ((await missingStatements(client, options)).length > 0) {
    await withStartLock(client, options, async () => {
      for (const statement of await missingStatements(client, options)) await client.query(statement)
    })
  }
  await assertNothingPlanted(client)
}

async function missingStatements(client: pg.Client, { logger }: StartLockOptions): Promise<readonly string[]> {
  const access = await readAccess(client)
  if (!access) return [MAKE, OPEN]
  const { owner, usable, open } = access
  if (owner) return [...(usable ? [] : [OPEN]), ...(open ? [CLOSE] : [])]
  if (open) throw stillOpen()
  if (!usable) logger.warn({ advice: OPEN }, 'projects may not use what extensions have')
  return []
}

const stillOpen = (): Error =>
  databaseUnsuitable(
    `any login of this database can make functions in the schema ${EXTENSIONS_SCHEMA}, which others then call; a superuser closes it: ${CLOSE}`,
  )

interface Access {
  /** Whether Wharf's login may change the rights. */
  readonly owner: boolean
  /** Whether everybody may use it. */
  readonly usable: boolean
  /** Whether everybody may make something there. */
  readonly open: boolean
}

/** @returns undefined where there is no such schema. */
async function readAccess(client: pg.Client): Promise<Access | undefined> {
  const granted = (privilege: string): string => `EXISTS (
    SELECT FROM aclexplode(coalesce(nspacl, acldefault('n', nspowner)))
    WHERE grantee = 0 AND privilege_type = '${privilege}')`
  const { rows } = await client.query<Access>(
    `SELECT pg_has_role(nspowner, 'USAGE') AS owner, ${granted('USAGE')} AS usable, ${granted('CREATE')} AS open
     FROM pg_namespace WHERE nspname = $1`,
    [EXTENSIONS_SCHEMA],
  )
  return rows[0]
}

/** What projects made while everybody could would be found, and called, by others. */
async function assertNothingPlanted(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ login: string; object: string }>(
    `SELECT login, pg_describe_object(refclassid, object.oid, 0) AS object
     FROM (SELECT 'pg_proc'::regclass AS refclassid, oid, pronamespace AS schema, proowner AS owner FROM pg_proc
           UNION ALL SELECT 'pg_operator'::regclass, oid, oprnamespace, oprowner FROM pg_operator
           UNION ALL SELECT 'pg_class'::regclass, oid, relnamespace, relowner FROM pg_class
           UNION ALL SELECT 'pg_type'::regclass, oid, typnamespace, typowner FROM pg_type) object
     JOIN pg_namespace ON pg_namespace.oid = schema JOIN pg_roles ON pg_roles.oid = owner
     JOIN control.project ON login = rolname
     WHERE nspname = $1 LIMIT 10`,
    [EXTENSIONS_SCHEMA],
  )
  if (rows.length === 0) return
  const named = rows.map(({ login, object }) => `${object} of ${login}`).join(', ')
  throw databaseUnsuitable(
    `the schema ${EXTENSIONS_SCHEMA}, which the sessions of all projects search, has what projects made there: ${named}; a superuser drops it`,
  )
}
