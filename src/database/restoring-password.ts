import type { Connecting } from './retrying-pool.ts'
import { SQLSTATE, sqlState } from './sqlstate.ts'
import { databaseFailure, isLoginFull } from './sqlstate-meanings.ts'

/**
 * For a login that can change its own password: where the server refuses the password, it is set again.
 *
 * @param restorePassword as somebody else than this login. What it throws is its own to tell of.
 */
export function restoringPassword(restorePassword: () => Promise<void>): Connecting {
  let restoring: Promise<void> | undefined
  return async (connect) => {
    try {
      return await connect()
    } catch (error) {
      // Said here, since Prisma leaves out by what it is told from a server that is full.
      if (isLoginFull(error)) throw databaseFailure(error) ?? error
      if (sqlState(error) !== SQLSTATE.invalidPassword) throw error
      // Connections that are refused at the same moment are helped by the same act.
      restoring ??= restorePassword().finally(() => {
        restoring = undefined
      })
      // Where it failed, another process may have done it: that shows in the next refusal.
      await Promise.allSettled([restoring])
      return connect()
    }
  }
}
