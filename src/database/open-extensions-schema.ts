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
 *   Wharf's login can't change that.
 */
export async function openExtensionsSchema(client: pg.Client, options: StartLockOptions): Promise<void> {
  const missing = await missingStatements(client)
  if (missing.length === 0) return
  await withStartLock(client, options, async () => {
    for (const statement of await missingStatements(client)) await client.query(statement)
  })

  async function missingStatements(session: pg.Client): Promise<readonly string[]> {
    const access = await readAccess(session)
    if (!access) return [MAKE, OPEN]
    const { owner, usable, open } = access
    if (owner) return [...(usable ? [] : [OPEN]), ...(open ? [CLOSE] : [])]
    if (open) throw stillOpen()
    if (!usable) options.logger.warn({ advice: OPEN }, 'projects may not use what extensions have')
    return []
  }
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
