import type { Transaction } from './database.ts'
import { quoteLiteral } from './quoting.ts'

/**
 * Gives a session a name, by which others can find and end it (`application_name` in `pg_stat_activity`). It keeps the
 * name, so it must not go back to a pool.
 *
 * @param name at most 63 bytes.
 */
export const nameSession = (
  client: { query(sql: string, parameters: string[]): Promise<unknown> },
  name: string,
): Promise<unknown> => client.query(`SELECT pg_catalog.set_config('application_name', $1, false)`, [name])

/** The same until the transaction ends. It is no query, so that a snapshot is not taken by it. */
export const nameTransaction = (tx: Transaction, name: string): Promise<unknown> =>
  tx.$executeRawUnsafe(`SET LOCAL application_name = ${quoteLiteral(name)}`)
