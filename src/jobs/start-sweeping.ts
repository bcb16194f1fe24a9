import { setTimeout as delay } from 'node:timers/promises'
import { readClock } from '../database/clock.ts'
import { isUnderWay } from './job-artifacts.ts'
import { type SweepServices, sweepJobs } from './sweep.ts'
import type { JobTimings } from './timings.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS

export interface Sweeping {
  /** Ends it, once what is being swept has been. */
  stop(): Promise<void>
}

/** Sweeps jobs now and then again and again; every process does, and one at a time is let. */
export function startSweeping(services: SweepServices & { readonly jobTimings: JobTimings }): Sweeping {
  const { control, jobTimings, artifacts, logger } = services
  const stopping = new AbortController()
  let storeSweptAtMs = Number.NEGATIVE_INFINITY

  /** What uploads that were never completed have left in the store; listing them can be dear. */
  const sweepStore = async (): Promise<void> => {
    if (performance.now() - storeSweptAtMs < HOUR_MS) return
    storeSweptAtMs = performance.now()
    const now = await readClock(control.prisma)
    await artifacts.sweep({
      olderThan: new Date(now.getTime() - DAY_MS),
      isUnderWay: (key) => isUnderWay(control.prisma, key),
    })
  }
  const sweepOnce = async (): Promise<void> => {
    try {
      await sweepJobs(services, jobTimings)
      await sweepStore()
    } catch (error) {
      logger.warn({ err: error }, 'sweeping jobs failed; it is tried again later')
    }
  }
  const sweepUntilStopped = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sweepOnce()
      await delay(jobTimings.sweepMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const swept = sweepUntilStopped()
  return {
    stop() {
      stopping.abort()
      return swept
    },
  }
}
