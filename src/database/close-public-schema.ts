import type pg from 'pg'
import { type AppError, databaseUnsuitable } from '../errors.ts'
import { quoteIdentifier } from './quoting.ts'
import { type StartLockOptions, withStartLock } from './start-lock.ts'

/**
 * Takes from PUBLIC the right to make things in the schema `public`, which databases that began before PostgreSQL 15
 * still give: a function there is found by every login whose `search_path` has it.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, naming what a superuser has to do, where Wharf's login may not.
 */
export async function closePublicSchema(client: pg.Client, options: StartLockOptions): Promise<void> {
  const found = await readAccess(client)
  if (!found) return
  if (!found.owner) throw stillOpen(found.login)
  await withStartLock(client, options, async () => {
    if (await readAccess(client)) await client.query(REVOKE)
  })
}

const REVOKE = 'REVOKE CREATE ON SCHEMA public FROM PUBLIC'

interface Access {
  readonly owner: boolean
  readonly login: string
}

const stillOpen = (login: string): AppError =>
  databaseUnsuitable(
    `any login of this database can make functions in the schema public, which others then call; a superuser closes it: ${REVOKE}; GRANT CREATE ON SCHEMA public TO ${quoteIdentifier(login)}`,
  )

/** @returns undefined where not everybody may; else whether Wharf's login may change that. */
async function readAccess(client: pg.Client): Promise<Access | undefined> {
  const { rows } = await client.query<Access>(
    `SELECT pg_has_role(nspowner, 'USAGE') AS owner, current_user AS login FROM pg_namespace
     WHERE nspname = 'public' AND EXISTS (
       SELECT FROM aclexplode(coalesce(nspacl, acldefault('n', nspowner)))
       WHERE grantee = 0 AND privilege_type = 'CREATE')`,
  )
  return rows[0]
}
