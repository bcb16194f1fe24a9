import type { PrismaClient } from './generated/client.ts'

/** How full the queue of notifications may become, of 1, before anybody is ended. */
const MAX_USAGE = 0.5

/** How many sessions are ended at most in one go. */
const MAX_ENDED = 1_000

/** A session that was ended. */
export interface EndedSession {
  readonly pid: number
  readonly login: string
  /** How long its transaction had been open, in seconds. */
  readonly seconds: number
}

/**
 * Keeps room in the server's one queue of notifications, on which the queue of jobs depends where it is on PostgreSQL: a
 * session that listens keeps all that is notified since its transaction began, and a full queue fails every commit that
 * notifies. Which sessions listen nobody can see, so those of projects' logins are ended whose transactions are the
 * oldest, one after the other, until there is room.
 *
 * @param maxUsage how full it may be, of 1.
 * @returns the sessions that were ended, in this order.
 */
export async function freeNotificationQueue(
  system: PrismaClient,
  maxUsage = MAX_USAGE,
): Promise<readonly EndedSession[]> {
  const ended: EndedSession[] = []
  while (ended.length < MAX_ENDED && (await readUsage(system)) > maxUsage) {
    const session = await endOldest(system)
    if (!session) break
    ended.push(session)
  }
  return ended
}

async function readUsage(system: PrismaClient): Promise<number> {
  const [row] = await system.$queryRaw<{ usage: number }[]>`SELECT pg_notification_queue_usage() AS usage`
  return row?.usage ?? 0
}

/** Waits until it is gone: only then the queue is free of it. */
async function endOldest(system: PrismaClient): Promise<EndedSession | undefined> {
  const [row] = await system.$queryRaw<EndedSession[]>`
    SELECT pid, login, seconds FROM (
      SELECT pid, usename::text AS login, extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
        FROM pg_stat_activity JOIN control.project ON project.login = usename
       WHERE xact_start IS NOT NULL ORDER BY xact_start LIMIT 1) oldest
     WHERE pg_terminate_backend(pid, 5000)`
  return row
}
