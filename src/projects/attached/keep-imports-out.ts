import type { Transaction } from '../../database/database.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { conflict } from '../../errors.ts'

/** A sweep, which drops what an import replaced, has a stage for a moment; an import has it for longer. */
const PATIENCE = '3s'

/**
 * Keeps imports out of stages until the transaction ends: one that is under way would go on in a database that nobody here
 * knows any more.
 *
 * @throws {AppError} CONFLICT where one is under way.
 */
export async function keepImportsOut(tx: Transaction, stageIds: readonly string[]): Promise<void> {
  const [{ usual } = { usual: '0' }] = await tx.$queryRaw<{ usual: string }[]>`
    SELECT pg_catalog.current_setting('lock_timeout') AS usual, pg_catalog.set_config('lock_timeout', ${PATIENCE}, true)`
  try {
    await tx.$queryRaw`
      SELECT 1 FROM system.stage_lock WHERE stage_id = ANY (${[...stageIds]}::uuid[]) AND kind = 'import'
       ORDER BY stage_id FOR UPDATE`
    await tx.$queryRaw`SELECT pg_catalog.set_config('lock_timeout', ${usual}, true)`
  } catch (error) {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    throw conflict('something is being imported into it; try again when that has ended, or cancel it')
  }
}
