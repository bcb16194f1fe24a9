import type { Transaction } from '../../database/database.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { AppError } from '../../errors.ts'
import { lockAgainstWriters } from '../../projects/project-objects.ts'

/**
 * How long each attempt waits for writers, in milliseconds. A writer to two tables may come to wait for us while we
 * wait for it: PostgreSQL looks for deadlocks after a second (`deadlock_timeout`), and we have given up by then, so it
 * is never the writer that fails. Only the last attempt is long enough for PostgreSQL to cancel an autovacuum.
 */
const ATTEMPTS_MS = [300, 300, 300, 1_500]

/**
 * How long the rest of the transaction waits for any lock, in milliseconds. It waits for nobody who writes, but for
 * those who hold the schema, or the row of the stage's state, in a transaction that they do not end.
 */
const REST_MS = 5_000

/**
 * Keeps everybody from writing to the tables of these schemas until the transaction ends, once all who have written to
 * them have committed. Readers go on.
 *
 * Otherwise an open transaction could commit its writes into a schema that is no longer a stage's. Tables are locked
 * before the state of any stage, in the order in which writers lock them.
 *
 * @throws {AppError} CONFLICT where somebody goes on writing.
 */
export async function lockAgainstWrites(tx: Transaction, schemaNames: readonly string[]): Promise<void> {
  const tables = await tx.$queryRaw<{ schema: string; name: string }[]>`
    SELECT nspname::text AS schema, relname::text AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = ANY (${[...schemaNames]}::text[]) AND relkind IN ('r', 'p') ORDER BY pg_class.oid`
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${REST_MS}`)
  if (tables.length === 0) return
  const statement = lockAgainstWriters(tables)
  for (const timeoutMs of ATTEMPTS_MS) if (await lockWithin(tx, statement, timeoutMs)) return
  throw new AppError('CONFLICT', 'somebody is writing to the stage; try again when that has ended', {
    retryAfterSeconds: RETRY_SECONDS,
  })
}

/** @returns false where it took too long; nothing is locked then. */
async function lockWithin(tx: Transaction, statement: string, timeoutMs: number): Promise<boolean> {
  await tx.$executeRawUnsafe('SAVEPOINT before_lock')
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${timeoutMs}`)
  try {
    await tx.$executeRawUnsafe(statement)
    await tx.$executeRawUnsafe('RELEASE SAVEPOINT before_lock')
    await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${REST_MS}`)
    return true
  } catch (error) {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    await tx.$executeRawUnsafe('ROLLBACK TO SAVEPOINT before_lock')
    return false
  }
}

/** After how many seconds it is worth trying again. */
const RETRY_SECONDS = 10

/** A lock that was not to be had in time is somebody else's, who is at work on the same stage. */
export const busyIfLocked = (error: unknown): unknown =>
  sqlState(error) === SQLSTATE.lockNotAvailable
    ? new AppError('CONFLICT', 'somebody else is at work on the stage, or on its roles; try again', {
        retryAfterSeconds: RETRY_SECONDS,
      })
    : error
