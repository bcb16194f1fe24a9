import { thenCommit, withClient } from '../database/clients.ts'
import type { Database } from '../database/database.ts'
import { conflict } from '../errors.ts'

/**
 * Keeps others from recovering into the same database, and from backing it up, until `use` has ended or this process has.
 *
 * @throws {AppError} CONFLICT where another one does. Whatever `use` throws.
 */
export const withRecoveryLock = <T>({ pool }: Pick<Database, 'pool'>, use: () => Promise<T>): Promise<T> =>
  withClient(pool, async (client) => {
    await client.query('BEGIN')
    return thenCommit(client, async () => {
      const { rowCount } = await client.query("SELECT FROM control.lock WHERE name = 'backup' FOR UPDATE SKIP LOCKED")
      if (rowCount === 0) throw conflict('another recovery goes on in this database: wait until it has ended')
      return use()
    })
  })
