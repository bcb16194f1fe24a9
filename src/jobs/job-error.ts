import { databaseFailure } from '../database/sqlstate-meanings.ts'
import { AppError } from '../errors.ts'
import type { JobError } from './job.ts'

/**
 * What is recorded of a failure. Only an expected one may speak for itself: anything else could quote SQL, hosts or
 * rows.
 */
export function toJobError(cause: unknown): JobError {
  const expected = cause instanceof AppError ? cause : databaseFailure(cause)
  if (expected) return { code: expected.code, detail: expected.message, faults: expected.faults }
  const detail = "something went wrong that should not have; the job's id finds it in the log"
  return { code: 'INTERNAL', detail, faults: [] }
}

/** Of a job whose last attempt went silent. */
export const workerLost = (): AppError =>
  new AppError(
    'WORKER_LOST',
    'the processes that worked on it ended or stopped answering, as often as it was tried; nothing was changed',
  )

/** Of an attempt that went silent. */
export const attemptLost = (): JobError => ({
  code: 'WORKER_LOST',
  detail: 'the process that worked on it ended or stopped answering',
  faults: [],
})

/** Of a job one of whose attempts took too long. */
export const jobTimedOut = (): AppError =>
  new AppError('JOB_TIMED_OUT', 'the job took longer than a job may; nothing was changed')
