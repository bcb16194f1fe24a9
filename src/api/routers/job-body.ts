import type { z } from 'zod'
import type { jobSchema } from '../../contract/job.ts'
import { ENDED, type Job, type LoggedAttempt } from '../../jobs/job.ts'
import { NO_PARTS } from '../../jobs/progress.ts'
import type { ReadonlyDeep } from '../../lib/readonly-deep.ts'
import type { Caller } from '../../projects/access.ts'

/** After how many seconds it is worth asking again about a job that goes on. */
const RETRY_SECONDS = '1'

export const timeOrNull = (time: Date | null): string | null => time?.toISOString() ?? null

type JobBody = ReadonlyDeep<z.input<typeof jobSchema>>

/**
 * A job as the interface shows it.
 *
 * @param caller who sees it. Which machines Wharf runs on is for the root token alone.
 */
export function toJobBody(job: Job, caller?: Caller): JobBody {
  const self = jobPath(job)
  const hasEnded = ENDED.has(job.status)
  const hasFile = job.kind === 'export' && job.status === 'succeeded'
  return {
    id: job.id,
    kind: job.kind,
    status: job.status,
    request: job.request,
    progress: job.progress && { ...NO_PARTS, ...job.progress },
    result: job.result,
    error: job.error && { code: job.error.code, detail: job.error.detail, errors: job.error.faults },
    createdBy: job.createdBy,
    scheduleId: job.scheduleId,
    attempt: job.attempt,
    attempts: job.attempts.map((attempt) => toAttemptBody(attempt, caller?.kind === 'root')),
    cancelRequestedAt: timeOrNull(job.cancelRequestedAt),
    createdAt: job.createdAt.toISOString(),
    startedAt: timeOrNull(job.startedAt),
    finishedAt: timeOrNull(job.finishedAt),
    expiresAt: timeOrNull(job.expiresAt),
    archiveCheckedAt: timeOrNull(job.archiveCheckedAt),
    archiveDamagedAt: timeOrNull(job.archiveDamagedAt),
    provenAt: timeOrNull(job.provenAt),
    links: {
      self,
      events: `${self}/events`,
      ...(!hasEnded && { cancel: `${self}/cancel` }),
      ...(hasFile && { file: `${self}/file` }),
    },
  }
}

const toAttemptBody = (logged: LoggedAttempt, showsWorker: boolean): JobBody['attempts'][number] => ({
  number: logged.number,
  worker: showsWorker ? logged.worker : null,
  startedAt: new Date(logged.startedAt).toISOString(),
  endedAt: logged.endedAt === undefined ? null : new Date(logged.endedAt).toISOString(),
  outcome: logged.outcome ?? null,
  error: logged.error ?? null,
})

export const jobPath = ({ id: jobId }: Job): string => `/jobs/${jobId}`

/** When to ask again, while there is any sense in it. */
export const retryAfter = ({ status }: Job): string | undefined => (ENDED.has(status) ? undefined : RETRY_SECONDS)
