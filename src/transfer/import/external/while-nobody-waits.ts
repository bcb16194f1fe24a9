import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../../database/database.ts'
import { AppError } from '../../../errors.ts'
import type { Query } from '../../structure/query.ts'

/** How often it is looked whether somebody waits, in milliseconds. */
const INTERVAL_MS = 200

/** A look at the locks of a server. */
export interface Watch {
  end(): void
}

/**
 * Gives up a load as soon as somebody waits for its transaction to end, which has moved types: who alters one of them may
 * have locked tables before, for which others wait in their turn.
 *
 * @param query in the session that loads. @param giveUp gets what the import ends with.
 */
export async function watchForWaiting(
  { prisma }: Database,
  query: Query,
  giveUp: (reason: AppError) => void,
): Promise<Watch> {
  const [session] = await query<{ pid: number }>('SELECT pg_catalog.pg_backend_pid() AS pid', [])
  const ending = new AbortController()
  const isWaitedFor = async (): Promise<boolean> => {
    const [found] = await prisma.$queryRawUnsafe<{ waits: boolean }[]>(IS_WAITED_FOR_SQL, session?.pid)
    return found?.waits ?? false
  }
  const watch = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await sleep(INTERVAL_MS, undefined, { signal: ending.signal })
      // A look that fails, as where the login has no connection left, says nothing: the next one may not.
      const isWaited = await isWaitedFor().catch(() => false)
      if (isWaited && !ending.signal.aborted) return giveUp(isChanged())
    }
  }
  // Only its end, which the load brings about, makes it throw.
  void Promise.allSettled([watch()])
  return { end: () => ending.abort() }
}

const isChanged = (): AppError =>
  new AppError(
    'CONFLICT',
    'somebody waits to change a type of the stage, so the import was given up; nothing was changed, try again when that has ended',
    { retryAfterSeconds: 10 },
  )

// Another import waits for its turn, and gives up by itself.
const IS_WAITED_FOR_SQL = `
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_locks ours
    JOIN pg_catalog.pg_locks theirs ON theirs.locktype = 'transactionid' AND theirs.transactionid = ours.transactionid
    JOIN pg_catalog.pg_stat_activity session ON session.pid = theirs.pid AND session.application_name NOT LIKE 'wharf%'
   WHERE ours.pid = $1::pg_catalog.int4 AND ours.locktype = 'transactionid' AND ours.granted AND NOT theirs.granted
) AS waits`
