import type { Database, Transaction } from '../../database/database.ts'
import { findOutsideUsers } from '../../database/outside-users.ts'
import { quoteLiteral } from '../../database/quoting.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { AppError, conflict } from '../../errors.ts'
import { dropSchema } from '../project-objects.ts'

/** The schema in which imports write down, in the database that they replaced stages of, that they were committed. */
export const RECORDS_SCHEMA = 'wharf_imports'

/** How long it is waited for those who read what is to be dropped. */
const LOCK_TIMEOUT = '5s'

/** What imports have left in a database that is not Wharf's, as far as is known here. */
export interface Traces {
  /** Schemas beside stages: of imports that have died, and what others have replaced, which an undo could bring back. */
  readonly schemas: readonly string[]
  /** Whether anything was ever imported, so that there may be a record of it. */
  readonly isImportedInto: boolean
}

/** Reads what is known of stages, in a transaction that keeps imports out of them. */
export async function readTraces(tx: Transaction, stageIds: readonly string[]): Promise<Traces> {
  const where = { stageId: { in: [...stageIds] } }
  const kind = { in: ['loading', 'arriving', 'kept'] }
  const schemas = await tx.shadowSchema.findMany({ where: { ...where, kind }, select: { schemaName: true } })
  const imported = await tx.event.findFirst({ where: { ...where, kind: 'import' }, select: { id: true } })
  return { schemas: schemas.map(({ schemaName }) => schemaName), isImportedInto: imported !== null }
}

/**
 * Drops what imports have left, as the login that made it.
 *
 * @param withRecords whether nobody else needs what is written down there of imports.
 * @throws {AppError} CONFLICT where somebody goes on reading it, or something elsewhere depends on it.
 */
export async function removeTraces(
  { prisma }: Database,
  { schemas }: Traces,
  { withRecords }: { readonly withRecords: boolean },
): Promise<void> {
  const removing = prisma.$transaction(
    async (tx) => {
      await tx.$executeRawUnsafe('SET TRANSACTION READ WRITE')
      await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
      const records = withRecords && (await ownsRecords(tx)) ? [RECORDS_SCHEMA] : []
      for (const schema of schemas) {
        const [user] = await findOutsideUsers((sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters), schema)
        if (user !== undefined) throw stillUsed(user, schema)
      }
      for (const schema of [...schemas, ...records]) await tx.$executeRawUnsafe(dropSchema(schema))
    },
    { timeout: 10 * 60_000 },
  )
  await removing.catch((error: unknown) => {
    if (sqlState(error) === SQLSTATE.insufficientPrivilege) throw mayNotDrop(error)
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    throw conflict('what imports have left in the database is being read, so it cannot be dropped; try again later')
  })
}

/** What imports have left belongs to the login that they ran as. */
export const mayNotDrop = (cause: unknown): AppError => {
  const message =
    `the project's own login may not drop what imports have left in the database: ${sqlMessage(cause) ?? ''}. Give it to that ` +
    'login, or drop it yourself: what they have left is in schemas whose names begin with wharf_'
  return new AppError('CONFLICT', message, { cause })
}

const stillUsed = (user: string, schema: string): AppError =>
  conflict(
    `${user} depends on what an import has replaced and keeps in the schema "${schema}", and would be dropped with it: ` +
      'drop or alter it first',
  )

async function ownsRecords(tx: Transaction): Promise<boolean> {
  const found = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT 1 FROM pg_catalog.pg_namespace
      WHERE nspname = ${quoteLiteral(RECORDS_SCHEMA)} AND pg_catalog.pg_get_userbyid(nspowner) = CURRENT_USER`,
  )
  return found.length > 0
}
