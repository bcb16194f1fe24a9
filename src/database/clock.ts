import type { Queryable } from './database.ts'

/**
 * The time by the database's clock. What is stored with a time is only ever compared with this one: processes on several
 * machines agree on it, whatever their own clocks say.
 */
export async function readClock(database: Queryable): Promise<Date> {
  const [row] = await database.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`
  if (!row) throw new Error('PostgreSQL gave no time')
  return row.now
}
