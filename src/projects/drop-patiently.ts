import type { Transaction } from '../database/database.ts'
import { quoteLiteral } from '../database/quoting.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { conflict } from '../errors.ts'

/** How long to wait for whoever reads the tables. All who want to read them after that wait behind us meanwhile. */
const LOCK_TIMEOUT = '5s'

/**
 * Runs a statement that drops tables, which has to wait for those who read them.
 *
 * @param what is dropped, for the message.
 * @throws {AppError} CONFLICT where they are read for too long.
 */
export async function dropPatiently(tx: Transaction, what: string, statement: string): Promise<void> {
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${quoteLiteral(LOCK_TIMEOUT)}`)
  await tx.$executeRawUnsafe(statement).catch((error: unknown) => {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    throw conflict(`${what} is being read, perhaps by an export; try again when that has ended`)
  })
}
