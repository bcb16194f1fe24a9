import type pg from 'pg'

/** After how many milliseconds without an answer the database counts as out of reach. */
export const TIMEOUT_MS = 10_000

/** `pg` knows of the time limit, its types do not. */
export interface TimedQuery extends pg.QueryConfig {
  readonly query_timeout: number | undefined
}

/**
 * Runs a tiny query that comes again and again, parsed once per connection.
 *
 * @param query its name says which text it is: no two texts may have the same.
 */
export async function preparedQuery<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  query: { readonly name: string; readonly text: string },
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const timed: TimedQuery = { ...query, values: [...values], query_timeout: TIMEOUT_MS }
  const { rows } = await pool.query<Row>(timed)
  return rows
}
