import { readClock } from '../database/clock.ts'
import { retryLevel } from '../database/sqlstate-meanings.ts'
import { type Repeating, repeat } from '../lib/repeat.ts'
import { isUnderWay } from './job-artifacts.ts'
import { type SweepServices, sweepJobs } from './sweep.ts'
import type { JobTimings } from './timings.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS

/** Sweeps jobs now and then again and again; every process does, and one at a time is let. */
export function startSweeping(services: SweepServices & { readonly jobTimings: JobTimings }): Repeating {
  const { control, jobTimings, artifacts, logger } = services
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
  const sweep = async (): Promise<void> => {
    await sweepJobs(services, jobTimings)
    await sweepStore()
  }
  return repeat(jobTimings.sweepMs, sweep, (error) =>
    logger[retryLevel(error)]({ err: error }, 'sweeping jobs failed; it is tried again later'),
  )
}
