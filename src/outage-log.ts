import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from './logger.ts'

/** How often it is said that trouble goes on, in milliseconds. */
const REMINDER_MS = 60_000

/** What is logged of a server that cannot be used for a while. */
export interface OutageLog {
  /** Takes an error of the server: the first is a warning, those that follow it are for who looks into a fault. */
  note(error: unknown): void
  stop(): void
}

/** What is said of an outage. */
export interface OutageWords {
  readonly begins: string
  readonly goesOn: string
  readonly ends: string
}

/**
 * Logs trouble with a server when it begins, each minute, and when it is over: each connection and each worker has an error
 * for each time that it tries to connect again, which would be hundreds of lines in a minute.
 *
 * @param isOver resolves where the server answers.
 * @param everyMs how often that is asked while there is trouble; it is over once no error has come in such a time.
 */
export function createOutageLog(options: {
  readonly logger: Logger
  readonly words: OutageWords
  readonly isOver: () => Promise<unknown>
  readonly everyMs: number
}): OutageLog {
  const { logger, words, isOver, everyMs } = options
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
      logger.warn({ errors, seconds: secondsSince(startedAtMs) }, words.goesOn)
    }
    begunAtMs = undefined
    logger.info({ errors, seconds: secondsSince(startedAtMs) }, words.ends)
  }

  return {
    note(error) {
      errors += 1
      if (begunAtMs !== undefined) return logger.debug({ err: error }, words.begins)
      if (signal.aborted) return
      errors = 1
      begunAtMs = performance.now()
      logger.warn({ err: error }, words.begins)
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
