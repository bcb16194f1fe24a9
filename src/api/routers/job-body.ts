import { z } from 'zod'
import { ENDED, JOB_KINDS, JOB_STATUSES, type Job } from '../../jobs/job.ts'
import { id, timeText } from './schemas.ts'

const count = z.int().nonnegative()

const fault = z.object({ pointer: z.string().optional(), line: z.int().min(1).optional(), detail: z.string() })

/** A job as it is shown. */
export const jobSchema = z
  .object({
    id,
    kind: z.enum(JOB_KINDS),
    status: z.enum(JOB_STATUSES),
    request: z.unknown().meta({ description: 'What was asked for; tokens in it are masked.' }),
    progress: z
      .object({
        phase: z.enum(['checking', 'reading', 'loading', 'finishing']),
        stage: z.string().nullable(),
        table: z.string().nullable(),
        rows: count,
        rowsTotal: count.nullable().meta({ description: 'An estimate for an export, a count for an import.' }),
        bytes: count.meta({ description: 'Of the archive, as it is stored or sent.' }),
        percent: z.int().min(0).max(100).nullable(),
      })
      .nullable(),
    result: z.unknown().meta({ description: 'What came of it; null while it has not succeeded.' }),
    error: z
      .object({
        code: z.string().meta({ description: 'As in `docs/errors.md`.' }),
        detail: z.string(),
        errors: z.array(fault),
      })
      .nullable()
      .meta({ description: 'Why it failed; null where it has not.' }),
    createdBy: id.nullable().meta({ description: 'The token that asked for it; null for the root token.' }),
    scheduleId: id.nullable(),
    attempt: count.meta({ description: 'How often it has been begun: more than once where a worker died.' }),
    cancelRequestedAt: timeText.nullable(),
    createdAt: timeText,
    startedAt: timeText.nullable(),
    finishedAt: timeText.nullable(),
    expiresAt: timeText.nullable().meta({ description: 'When the archive that it made goes.' }),
    archiveCheckedAt: timeText
      .nullable()
      .meta({ description: 'When the bytes of the archive that it made were last compared with what was written.' }),
    archiveDamagedAt: timeText.nullable().meta({
      description: 'When the archive was found to be damaged: it cannot be downloaded then. Null where it is whole.',
    }),
    links: z.object({
      self: z.string(),
      events: z.string(),
      cancel: z.string().optional().meta({ description: 'While it has not ended.' }),
      file: z.string().optional().meta({ description: 'Where it made an archive.' }),
    }),
  })
  .meta({ id: 'Job' })

/** After how many seconds it is worth asking again about a job that goes on. */
const RETRY_SECONDS = '1'

const timeOrNull = (time: Date | null): string | null => time?.toISOString() ?? null

/** A job as the interface shows it. */
export function toJobBody(job: Job): z.input<typeof jobSchema> {
  const self = jobPath(job)
  const hasEnded = ENDED.has(job.status)
  const hasFile = job.kind === 'export' && job.status === 'succeeded'
  return {
    id: job.id,
    kind: job.kind,
    status: job.status,
    request: job.request,
    progress: job.progress,
    result: job.result,
    error: job.error && { code: job.error.code, detail: job.error.detail, errors: [...job.error.faults] },
    createdBy: job.createdBy,
    scheduleId: job.scheduleId,
    attempt: job.attempt,
    cancelRequestedAt: timeOrNull(job.cancelRequestedAt),
    createdAt: job.createdAt.toISOString(),
    startedAt: timeOrNull(job.startedAt),
    finishedAt: timeOrNull(job.finishedAt),
    expiresAt: timeOrNull(job.expiresAt),
    archiveCheckedAt: timeOrNull(job.archiveCheckedAt),
    archiveDamagedAt: timeOrNull(job.archiveDamagedAt),
    links: {
      self,
      events: `${self}/events`,
      ...(!hasEnded && { cancel: `${self}/cancel` }),
      ...(hasFile && { file: `${self}/file` }),
    },
  }
}

export const jobPath = ({ id: jobId }: Job): string => `/jobs/${jobId}`

/** When to ask again, while there is any sense in it. */
export const retryAfter = ({ status }: Job): string | undefined => (ENDED.has(status) ? undefined : RETRY_SECONDS)
