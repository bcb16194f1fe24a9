import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { Logger } from '../logger.ts'

/** Notifies those who wait for jobs when these have changed, whichever process has changed them. */
export interface JobWatcher {
  /**
   * Waits until the job's revision is another than this one, or the job is gone; at most for `limitMs`, and until
   * `signal` says that nobody waits any more.
   */
  change(id: string, revision: number, limits: WaitLimits): Promise<void>
  close(): void
}

interface WaitLimits {
  readonly limitMs: number
  readonly signal: AbortSignal
}

interface Waiter {
  readonly revision: number
  readonly settle: () => void
}

/**
 * One query at a time for all that wait in this process, and none while nobody waits: a thousand clients that watch
 * cost the database as much as one.
 */
export function createJobWatcher({ prisma }: Database, { watchMs, logger }: WatcherOptions): JobWatcher {
  const waiters = new Map<string, Set<Waiter>>()
  let isClosed = false
  let isLooking = false

  const look = async (): Promise<void> => {
    const ids = [...waiters.keys()]
    const rows = await prisma.job.findMany({ where: { id: { in: ids } }, select: { id: true, revision: true } })
    const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
    for (const id of ids) {
      for (const waiter of waiters.get(id) ?? []) {
        if (revisions.get(id) !== waiter.revision) waiter.settle()
      }
    }
  }

  const lookWhileWanted = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    while (waiters.size > 0) {
      await delay(watchMs)
      try {
        if (waiters.size > 0) await look()
      } catch (error) {
        logger.warn({ err: error }, 'looking for changes of jobs failed; it is tried again')
      }
    }
    isLooking = false
  }

  return {
    async change(id, revision, { limitMs, signal }) {
      if (isClosed || signal.aborted) return
      await new Promise<void>((resolve) => {
        // Nothing of a wait stays with the signal, which may be that of a stream of events: that waits again and again.
        const settle = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', settle)
          const others = waiters.get(id)
          others?.delete(waiter)
          if (others?.size === 0) waiters.delete(id)
          resolve()
        }
        const timer = setTimeout(settle, limitMs).unref()
        signal.addEventListener('abort', settle, { once: true })
        const waiter: Waiter = { revision, settle }
        waiters.set(id, (waiters.get(id) ?? new Set()).add(waiter))
        void lookWhileWanted()
      })
    },
    close() {
      isClosed = true
      for (const waiter of [...waiters.values()].flatMap((each) => [...each])) waiter.settle()
    },
  }
}

interface WatcherOptions {
  readonly watchMs: number
  readonly logger: Logger
}
