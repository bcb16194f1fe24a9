import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { Logger } from '../logger.ts'

/** Tells those who wait for jobs when these have changed, whichever process has changed them. */
export interface JobWatcher {
  /**
   * Waits until the job's revision is another than this one, the job is gone, or `signal` says that nobody waits any
   * more.
   *
   * @returns whether something has changed.
   */
  change(id: string, revision: number, signal: AbortSignal): Promise<boolean>
  close(): void
}

interface Waiter {
  readonly revision: number
  readonly settle: (changed: boolean) => void
}

/**
 * One query at a time for all that wait in this process, and none while nobody waits: a thousand clients that watch
 * cost the database as much as one.
 */
export function createJobWatcher({ prisma }: Database, { watchMs, logger }: WatcherOptions): JobWatcher {
  const waiters = new Map<string, Set<Waiter>>()
  const closing = new AbortController()
  let isLooking = false

  const look = async (): Promise<void> => {
    const ids = [...waiters.keys()]
    const rows = await prisma.job.findMany({ where: { id: { in: ids } }, select: { id: true, revision: true } })
    const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
    for (const id of ids) {
      for (const waiter of waiters.get(id) ?? []) {
        if (revisions.get(id) !== waiter.revision) waiter.settle(true)
      }
    }
  }

  const lookWhileWanted = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    while (waiters.size > 0 && !closing.signal.aborted) {
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
    change(id, revision, signal) {
      const over = AbortSignal.any([signal, closing.signal])
      return new Promise<boolean>((resolve) => {
        const onOver = (): void => waiter.settle(false)
        const waiter: Waiter = {
          revision,
          settle(changed) {
            over.removeEventListener('abort', onOver)
            const others = waiters.get(id)
            others?.delete(waiter)
            if (others?.size === 0) waiters.delete(id)
            resolve(changed)
          },
        }
        if (over.aborted) return resolve(false)
        over.addEventListener('abort', onOver, { once: true })
        waiters.set(id, (waiters.get(id) ?? new Set()).add(waiter))
        void lookWhileWanted()
      })
    },
    close: () => closing.abort(),
  }
}

interface WatcherOptions {
  readonly watchMs: number
  readonly logger: Logger
}
