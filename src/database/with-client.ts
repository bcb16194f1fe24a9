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
