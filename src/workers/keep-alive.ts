import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { AppError } from '../errors.ts'
import { assertStillAuthorised } from '../jobs/authorisation.ts'
import type { Job } from '../jobs/job.ts'
import type { ProgressTracker } from '../jobs/progress.ts'
import type { JobTimings } from '../jobs/timings.ts'
import { beat } from '../jobs/transitions.ts'
import { within } from '../lib/within.ts'
import type { Logger } from '../logger.ts'
import { Stopped } from './stopped.ts'

export interface KeepAliveOptions {
  readonly control: Database
  readonly logger: Logger
  readonly job: Job
  readonly progress: ProgressTracker
  readonly timings: JobTimings
  /** Called once, with the reason for which the attempt has to stop. */
  readonly stop: (reason: Error) => void
  /** Ends the keeping alive. */
  readonly signal: AbortSignal
}

/**
 * Says again and again that an attempt is alive and how far it is, and finds out whether it is to stop: because
 * somebody cancelled it, because its token has lost its rights, or because it is not the job's current attempt any
 * more. An attempt that could not reach the database for as long as its lease assumes the last, as the sweep will.
 */
export async function keepAlive(options: KeepAliveOptions): Promise<void> {
  const { control, logger, job, progress, timings, stop, signal } = options
  let heardAtMs = performance.now()
  let authorisedAtMs = performance.now()
  while (!signal.aborted) {
    await delay(timings.heartbeatMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      // A connection that hangs must not keep the attempt from noticing.
      const answer = await within(timings.leaseMs, beat(control.prisma, job, progress.take()), () => {
        throw new Error(`the database did not answer within ${timings.leaseMs} ms`)
      })
      if (answer !== 'alive') return stop(new Stopped(answer))
      heardAtMs = performance.now()
      if (performance.now() - authorisedAtMs < timings.authorisationMs) continue
      await assertStillAuthorised(control.prisma, job)
      authorisedAtMs = performance.now()
    } catch (error) {
      if (error instanceof AppError) return stop(error)
      logger.warn({ err: error, jobId: job.id }, 'a sign of life could not be given')
      if (performance.now() - heardAtMs > timings.leaseMs) return stop(new Stopped('lost'))
    }
  }
}
