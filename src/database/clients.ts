import type pg from 'pg'

/** Lends a connection of a pool. Where `use` fails it is ended, and not lent again: a transaction may be open in it. */
export async function withClient<T>(pool: pg.Pool, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    const result = await use(client)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Ends a transaction that has begun: it is committed where `use` succeeds, and undone where it fails. */
export async function thenCommit<T>(client: pg.ClientBase, use: () => Promise<T>): Promise<T> {
  try {
    const result = await use()
    await client.query('COMMIT')
    return result
  } catch (error) {
    // A session that has ended has nothing to undo.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** Whether there is a table of this name. @param table with its schema. */
export async function tableExists(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [table])
  return rows[0]?.found ?? false
}
