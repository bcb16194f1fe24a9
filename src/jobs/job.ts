import type { AttemptOutcome, JOB_KINDS, JOB_STATUSES, JobProgress } from '../contract/job.ts'
import type { Fault } from '../errors.ts'

export type JobKind = (typeof JOB_KINDS)[number]

/** What BullMQ calls the queue of jobs of this kind. */
export const queueName = (kind: JobKind): string => `wharf-${kind}`

export type JobStatus = (typeof JOB_STATUSES)[number]

export const ENDED: ReadonlySet<JobStatus> = new Set(['succeeded', 'failed', 'cancelled'])

/** Why a job failed, in the words of the problem document that a waiting client would have had. */
export interface JobError {
  /** One of `src/errors.ts`, or `INTERNAL` for what was not expected. */
  readonly code: string
  readonly detail: string
  readonly faults: readonly Fault[]
}

/** An attempt as the record of its job has it. Times are as PostgreSQL writes them in JSON. */
export interface LoggedAttempt {
  readonly number: number
  /** Host and process id of the process that works on it. */
  readonly worker: string
  readonly startedAt: string
  /** This and what follows are missing while it is under way. */
  readonly endedAt?: string
  readonly outcome?: AttemptOutcome
  readonly error?: Pick<JobError, 'code' | 'detail'> | null
}

/** The record of a job. */
export interface Job {
  /** The same in the queue. */
  readonly id: string
  readonly kind: JobKind
  readonly status: JobStatus
  /** As its kind's schema in the catalogue says, secrets masked. */
  readonly request: unknown
  /** The projects of this server that it reads or replaces. */
  readonly projectIds: readonly string[]
  /** Null for the root token. */
  readonly createdBy: string | null
  readonly scheduleId: string | null
  /** Raised by everything that a reader can see. */
  readonly revision: number
  readonly progress: JobProgress | null
  readonly result: unknown
  readonly error: JobError | null
  /** How often it has been begun. */
  readonly attempt: number
  readonly maxAttempts: number
  /** The newest of them, the oldest of these first. */
  readonly attempts: readonly LoggedAttempt[]
  readonly cancelRequestedAt: Date | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly expiresAt: Date | null
  /** When the archive that it made was last compared with what was written. */
  readonly archiveCheckedAt: Date | null
  /** When that archive was found to be damaged; null where it is not known to be. */
  readonly archiveDamagedAt: Date | null
  /** When that archive was restored and found to be identical; null where that was not done, and where it is damaged. */
  readonly provenAt: Date | null
}
