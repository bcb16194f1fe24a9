import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../logger.ts'

/** How often it is said that trouble goes on, in milliseconds. */
const REMINDER_MS = 60_000

/** What is logged of a queue that has trouble. */
export interface QueueFailures {
  /** Takes an error of the queue: the first is a warning, those that follow it are for who looks into a fault. */
  note(error: Error): void
  stop(): void
}

/**
 * Logs trouble with the queue when it begins, each minute, and when it is over: each connection and each worker has an error
 * for each time that it tries to connect again, which would be hundreds of lines in a minute.
 *
 * @param isOver resolves where the queue answers.
 * @param everyMs how often that is asked while there is trouble; it is over once no error has come in such a time.
 */
export function createQueueFailures(options: {
  readonly logger: Logger
  readonly isOver: () => Promise<unknown>
  readonly everyMs: number
}): QueueFailures {
  const { logger, isOver, everyMs } = options
  const stopping = new AbortController()
  const { signal } = stopping
  let begunAtMs: number | undefined
  let errors = 0

  const watch = async (startedAtMs: number): Promise<void> => {
    let saidAtMs = startedAtMs
    for (let before = -1; before !== errors || !(await answers(isOver)); ) {
      before = errors
      await delay(everyMs, undefined, { signal })
      if (performance.now() - saidAtMs < REMINDER_MS) continue
      saidAtMs = performance.now()
      logger.warn({ errors, seconds: secondsSince(startedAtMs) }, 'the queue still has trouble')
    }
    begunAtMs = undefined
    logger.info({ errors, seconds: secondsSince(startedAtMs) }, 'the queue answers again')
  }

  return {
    note(error) {
      errors += 1
      if (begunAtMs !== undefined) return logger.debug({ err: error }, 'the queue has trouble')
      if (signal.aborted) return
      errors = 1
      begunAtMs = performance.now()
      logger.warn({ err: error }, 'the queue has trouble: jobs wait until it answers again')
      // Only the end of it all breaks that off.
      void Promise.allSettled([watch(begunAtMs)])
    },
    stop: () => stopping.abort(),
  }
}

const answers = (ask: () => Promise<unknown>): Promise<boolean> =>
  ask().then(
    () => true,
    () => false,
  )

const secondsSince = (startedAtMs: number): number => Math.round((performance.now() - startedAtMs) / 1_000)
