import { randomUUID } from 'node:crypto'
import { catalogOid } from '../../../database/catalog-oids.ts'
import type { Database } from '../../../database/database.ts'
import { findOutsideUsers } from '../../../database/outside-users.ts'
import { quoteIdentifier } from '../../../database/quoting.ts'
import { SQLSTATE, shownSqlState, sqlMessage, sqlState } from '../../../database/sqlstate.ts'
import { databaseFailure } from '../../../database/sqlstate-meanings.ts'
import { AppError } from '../../../errors.ts'
import { mayNotDrop } from '../../../projects/attached/remove-traces.ts'
import { commentOnSchema, dropSchema } from '../../../projects/project-objects.ts'
import type { Query } from '../../structure/query.ts'

/** A unique name for a schema beside those of stages. */
export const externalSchemaName = (suffix: 'new' | 'old'): string =>
  `wharf_${suffix}_${randomUUID().replaceAll('-', '').slice(0, 16)}`

/**
 * Makes an empty schema, for an import to load into.
 *
 * @param database as the login that loads sees it.
 * @throws {AppError} CONFLICT where the database does not let it, as an event trigger can.
 */
export async function createExternalSchema(
  database: Database,
  name: string,
  comment: string | undefined,
): Promise<void> {
  await database.prisma
    .$transaction(async (tx) => {
      await tx.$executeRawUnsafe('SET TRANSACTION READ WRITE')
      await tx.$executeRawUnsafe(`CREATE SCHEMA ${quoteIdentifier(name)}`)
      if (comment !== undefined) await tx.$executeRawUnsafe(commentOnSchema(name, comment))
    })
    .catch((error: unknown) => {
      const state = shownSqlState(error)
      if (state === undefined || databaseFailure(error)) throw error
      const message = `nothing was changed: no schema could be made to load into: ${sqlMessage(error)} (SQLSTATE ${state})`
      throw new AppError('CONFLICT', message, { cause: error })
    })
}

/** How long it is waited for those who read what is to be dropped. */
const LOCK_TIMEOUT = '2s'

/**
 * Drops a schema that an import has left.
 *
 * @param options `isKept`: nobody loads into it; else, sessions that still do are ended.
 * @returns false where somebody still reads its tables, or something elsewhere depends on what was kept: it is there then.
 */
export async function dropExternalSchema(
  { prisma }: Database,
  name: string,
  { isKept }: { readonly isKept: boolean },
): Promise<boolean> {
  if (!isKept) await prisma.$queryRawUnsafe(END_SESSIONS_SQL, name)
  return prisma
    .$transaction(
      async (tx) => {
        await tx.$executeRawUnsafe('SET TRANSACTION READ WRITE')
        await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
        // A table elsewhere that was made meanwhile, with a column of an enum of what was replaced, would lose it.
        const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
        if (isKept && (await findOutsideUsers(query, name)).length > 0) return false
        await tx.$executeRawUnsafe(dropSchema(name))
        return true
      },
      { timeout: 10 * 60_000 },
    )
    .catch((error: unknown) => {
      if (sqlState(error) === SQLSTATE.lockNotAvailable) return false
      throw sqlState(error) === SQLSTATE.insufficientPrivilege ? mayNotDrop(error) : error
    })
}

/** A session that makes a table locks its schema until the end of the transaction; one that reads a table does not. */
const END_SESSIONS_SQL = `
SELECT pg_catalog.pg_terminate_backend(l.pid)
  FROM pg_catalog.pg_locks l
  JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = pg_catalog.current_database()
  JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid AND pg_catalog.pg_has_role(a.usesysid, 'USAGE')
 WHERE l.classid = ${catalogOid('pg_namespace')}
   AND l.objid = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1))::pg_catalog.oid AND l.pid <> pg_catalog.pg_backend_pid()`
