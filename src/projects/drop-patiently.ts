import type { Transaction } from '../database/database.ts'
import { quoteLiteral } from '../database/quoting.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { conflict } from '../errors.ts'

/** How long to wait for those who read the tables. All who want to read them after that wait behind us meanwhile. */
const LOCK_TIMEOUT = '5s'

/**
 * Runs what drops tables, and rows of Wharf's own that belong to them, and so has to wait for those who read or write.
 *
 * @param what is dropped, for the message.
 * @throws {AppError} CONFLICT where that takes too long; the transaction is of no use any more then.
 */
export async function dropPatiently<T>(tx: Transaction, what: string, drop: () => Promise<T>): Promise<T> {
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${quoteLiteral(LOCK_TIMEOUT)}`)
  return drop().catch((error: unknown) => {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    throw conflict(`${what} is being read, perhaps by an export, or written to; try again when that has ended`)
  })
}
