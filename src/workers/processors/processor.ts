import type { Container } from '../../container.ts'
import type { Transaction } from '../../database/database.ts'
import type { Job } from '../../jobs/job.ts'
import type { ProgressTracker } from '../../jobs/progress.ts'
import type { Caller } from '../../projects/access.ts'
import type { Matched } from '../match-projects.ts'

/** One go at a job, as its processor sees it. */
export interface AttemptContext {
  readonly container: Container
  readonly job: Job
  /** What its patterns stand for; undefined where it has none. */
  readonly matched: Matched | undefined
  /** Says that the attempt has to stop, and why. Its database sessions are ended then, too. */
  readonly signal: AbortSignal
  readonly progress: ProgressTracker
  /** What PostgreSQL has to call every session of the attempt. */
  readonly sessionName: string
  /** The secrets of the request, by name. */
  readonly secrets: Readonly<Record<string, string>>
  /**
   * Looks again whether the job may be done, in the transaction that makes its result visible, before anything else
   * there; keeps it so until that ends.
   *
   * @returns who asked for the job, as they are now.
   * @throws {AppError} AUTHORIZATION_REVOKED
   */
  readonly authorise: (tx: Transaction) => Promise<Caller>
  /**
   * Ends the job well. To be called in the transaction that makes its result visible, which has the session's name, as
   * the last thing before the commit; it throws where that must not happen.
   *
   * @param expiresInDays when the result goes; undefined where nothing does.
   */
  readonly succeed: (tx: Transaction, result: unknown, expiresInDays?: number) => Promise<void>
  /** Does something once the job has ended with this attempt, in whatever way; not where another attempt follows. */
  readonly whenEnded: (cleanUp: () => Promise<void>) => void
}
