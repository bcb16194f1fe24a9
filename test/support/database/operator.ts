import { withSession } from '../servers/sessions.ts'
import type { TestDatabase } from './database.ts'

/** What the operator does to the database, as its superuser. */
export interface Operator {
  run(sql: string): Promise<void>
  /** Sets something for all sessions of the database that begin from now on. */
  set(settings: Readonly<Record<string, string>>): Promise<void>
  /** Takes back all that was set. */
  resetAll(): Promise<void>
  /** Ends every other session of the database. @returns how many there were. */
  endSessions(): Promise<number>
}

export function operatorOf(database: TestDatabase): Operator {
  const name = new URL(database.url).pathname.slice(1)
  const run = (sql: string): Promise<void> =>
    withSession(database.superuserUrl, async (client) => {
      await client.query('SET default_transaction_read_only = off')
      await client.query(sql)
    })
  return {
    run,
    set: (settings) =>
      run(
        Object.entries(settings)
          .map(([setting, value]) => `ALTER DATABASE ${name} SET ${setting} = '${value}'`)
          .join('; '),
      ),
    resetAll: () => run(`ALTER DATABASE ${name} RESET ALL`),
    endSessions: () =>
      withSession(database.superuserUrl, async (client) => {
        const { rowCount } = await client.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        )
        return rowCount ?? 0
      }),
  }
}
