import { readClock } from '../../database/clock.ts'
import { retryLevel } from '../../database/sqlstate-meanings.ts'
import { type Repeating, repeat } from '../../lib/repeat.ts'
import type { SubmitServices } from '../submit.ts'
import type { JobTimings } from '../timings.ts'
import { bringForward, CORRECTION_MS } from './bring-forward.ts'
import { fireDue } from './fire.ts'
import { settleRuns } from './settle.ts'

/**
 * Looks again and again which schedules are due, and how their runs have ended. Each process does; which of them finds a
 * schedule due first does not matter.
 */
export function startSchedules(services: SubmitServices & { readonly jobTimings: JobTimings }): Repeating {
  const { control, logger, jobTimings } = services
  let lastMs = Number.POSITIVE_INFINITY
  const tick = async (): Promise<void> => {
    const now = await readClock(control.prisma)
    // Once at the start, and whenever the clock was put back.
    if (now.getTime() < lastMs - CORRECTION_MS) await bringForward(services, now)
    lastMs = now.getTime()
    await settleRuns(services, now)
    await fireDue(services, now)
  }
  return repeat(jobTimings.scheduleMs, tick, (error) => {
    logger[retryLevel(error)]({ err: error }, 'schedules could not be looked at; it is tried again')
  })
}
