import { expect } from 'vitest'
import { withSession } from '../service/projects.ts'
import { openTransactions } from './transactions.ts'
import type { TestWharf } from '../service/wharf.ts'

const LOCK = 4711

/**
 * An expression that is true once nobody holds the gate shut. In a domain's check it stops the rows as they come in; in
 * a table's, what is done with them after that.
 */
export const GATE = `pg_advisory_xact_lock_shared(${LOCK})::text IS NOT NULL`

export interface Gate {
  /** Waits until somebody stands before it. @returns the pid of that session. */
  arrival(): Promise<number>
  open(): Promise<void>
}

/** Holds the gate shut while `use` runs, or until it opens it. */
export const withGate = <T>(wharf: Pick<TestWharf, 'database'>, use: (gate: Gate) => Promise<T>): Promise<T> =>
  withSession(wharf.database.url, async (keeper) => {
    // The server may be ended meanwhile, which the keeper's next query would tell.
    keeper.on('error', () => undefined)
    await keeper.query('SELECT pg_advisory_lock($1)', [LOCK])
    const waiting = async (): Promise<readonly number[]> =>
      (await openTransactions(wharf)).filter(({ waits }) => waits === 'Lock').map(({ pid }) => pid)
    return use({
      async arrival() {
        await expect.poll(waiting, { timeout: 20_000 }).not.toEqual([])
        return (await waiting())[0] ?? 0
      },
      async open() {
        await keeper.query('SELECT pg_advisory_unlock($1)', [LOCK])
      },
    })
  })
