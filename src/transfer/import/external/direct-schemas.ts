import { randomUUID } from 'node:crypto'
import type { Database, Transaction } from '../../../database/database.ts'
import { openSingleUseSession } from '../../../database/single-use-session.ts'
import { SQLSTATE, sqlState } from '../../../database/sqlstate.ts'
import { dropSchema } from '../../../projects/project-objects.ts'

/*
 * An import into a database that Wharf knows nothing of, without a server of Wharf's, writes down nowhere what it has made there.
 * While its process lives, a session has a lock by the name of each schema that it loads into: a schema without is nobody's any
 * more, and the next import into that database drops it.
 */

/** A unique name for a schema that such an import loads into. */
export const directSchemaName = (): string => `wharf_direct_${randomUUID().replaceAll('-', '').slice(0, 16)}`

const KEY_SQL = (name: string): string => `pg_catalog.hashtextextended(${name}, 0)`

export interface NameLocks {
  /** To be called before the schema is made. */
  lock(name: string): Promise<void>
  release(): void
}

/** Opens the session that locks names, until they are released or its process ends. */
export async function openNameLocks({ pool }: Database, signal: AbortSignal): Promise<NameLocks> {
  const { client, close } = await openSingleUseSession(pool, signal)
  return {
    async lock(name) {
      await client.query(`SELECT pg_catalog.pg_advisory_lock(${KEY_SQL('$1')})`, [name])
    },
    release: close,
  }
}

/** How long it is waited for those who read what is to be dropped. */
const LOCK_TIMEOUT = '2s'

/** Drops what imports without a server have left whose process was killed. What somebody else uses stays for the next time. */
export async function dropDirectLeftovers({ prisma }: Database): Promise<void> {
  const found = await prisma.$queryRawUnsafe<{ name: string }[]>(SCHEMAS_SQL)
  for (const { name } of found) {
    await prisma
      .$transaction((tx) => dropUnlocked(tx, name), { timeout: 10 * 60_000 })
      .catch((error: unknown) => {
        if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
      })
  }
}

async function dropUnlocked(tx: Transaction, name: string): Promise<void> {
  await tx.$executeRawUnsafe('SET TRANSACTION READ WRITE')
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
  const [lock] = await tx.$queryRawUnsafe<{ taken: boolean }[]>(
    `SELECT pg_catalog.pg_try_advisory_xact_lock(${KEY_SQL('$1')}) AS taken`,
    name,
  )
  if (lock?.taken) await tx.$executeRawUnsafe(dropSchema(name))
}

const SCHEMAS_SQL = `
SELECT nspname::text AS name FROM pg_catalog.pg_namespace
 WHERE nspname::text ~ '^wharf_direct_[0-9a-f]{16}$' AND pg_catalog.pg_get_userbyid(nspowner) = CURRENT_USER`
