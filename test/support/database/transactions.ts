import { eventually } from '../eventually.ts'
import type { TestWharf } from '../service/wharf.ts'
import type { TestDatabase } from './database.ts'

export interface OpenTransaction {
  readonly pid: number
  readonly login: string
  readonly state: string
  /** `Lock` where it waits for one. */
  readonly waits: string | null
  readonly query: string
}

/** The transactions that are open in the service's database, those of all logins. */
export const openTransactions = ({
  database,
}: {
  readonly database: Pick<TestDatabase, 'query'>
}): Promise<OpenTransaction[]> =>
  database.query<OpenTransaction>(
    `SELECT pid, usename AS login, state, wait_event_type AS waits, query FROM pg_stat_activity
     WHERE datname = current_database() AND xact_start IS NOT NULL AND backend_type = 'client backend'
       AND pid <> pg_backend_pid() ORDER BY pid`,
  )

/** Passes once no transaction is open in the service's database. */
export const noTransactionStaysOpen = (wharf: TestWharf): Promise<void> =>
  eventually(() => openTransactions(wharf)).toEqual([])
