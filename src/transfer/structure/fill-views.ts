import { quoteIdentifier } from '../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'

/** A session in a transaction. */
interface FillingSession {
  execute(statement: string): Promise<void>
}

/**
 * Fills materialized views with what their queries give.
 *
 * One may read another through a function whose body only names it, which the catalogs don't know: what finds another
 * one empty is filled after the others.
 *
 * @param names in the order in which they were made.
 * @throws what PostgreSQL says of the first that cannot be filled.
 */
export async function fillViews(session: FillingSession, names: readonly string[]): Promise<void> {
  for (let left = names; left.length > 0; ) {
    const failures = new Map<string, unknown>()
    for (const name of left) {
      const failure = await tryToFill(session, name)
      if (failure !== undefined) failures.set(name, failure)
    }
    if (failures.size === left.length) throw [...failures.values()][0]
    left = [...failures.keys()]
  }
}

/** @returns the error where it read a view that is not filled yet. */
async function tryToFill(session: FillingSession, name: string): Promise<unknown> {
  await session.execute('SAVEPOINT before_view')
  try {
    await session.execute(`REFRESH MATERIALIZED VIEW ${quoteIdentifier(name)}`)
    await session.execute('RELEASE SAVEPOINT before_view')
    return undefined
  } catch (error) {
    if (sqlState(error) !== SQLSTATE.notInRequiredState) throw error
    await session.execute('ROLLBACK TO SAVEPOINT before_view')
    return error
  }
}
