import type pg from 'pg'
import type { Query } from '../../structure/query.ts'

/**
 * Asks queries in one session, each of which is prepared when it is asked for the first time: with `QUICK`, it is not planned
 * again.
 */
export function preparedQuery(client: Pick<pg.ClientBase, 'query'>): Query {
  const names = new Map<string, string>()
  return async <Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> => {
    const name = names.get(text) ?? `wharf_${names.size}`
    names.set(text, name)
    const { rows } = await client.query({ name, text, values: [...parameters] })
    return rows as Row[]
  }
}

/**
 * For a transaction that others wait for. What looks at catalogs is costly on paper: to compile it (`jit`) would take longer
 * than all else.
 */
export const QUICK: readonly string[] = ['SET LOCAL jit = off', 'SET LOCAL plan_cache_mode = force_generic_plan']
