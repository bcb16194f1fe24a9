import { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import { count, id, timeText } from './fields.ts'
import { added } from './from-server.ts'
import { importedSchema } from './import.ts'
import { matchedSchema } from './matched.ts'
import { completenessFields } from './not-exported.ts'
import { faultSchema } from './problem.ts'

export const JOB_KINDS = ['export', 'import', 'transfer'] as const

/** `queued` → `running` → one of the last three; back to `queued` where its worker died or had to stop. */
export const JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const

/** How attempts end; one that failed may be followed by another. */
const ATTEMPT_OUTCOMES = ['succeeded', 'failed', 'cancelled', 'stopped', 'lost'] as const

export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

const attempt = z
  .object({
    number: count,
    worker: z
      .string()
      .nullable()
      .meta({ description: 'Host and process id of the process that works on it; null but for the root token.' }),
    startedAt: timeText,
    endedAt: timeText.nullable().meta({ description: 'null while it is under way.' }),
    outcome: z
      .enum(ATTEMPT_OUTCOMES)
      .nullable()
      .meta({
        description:
          'null while it is under way. `stopped` where its process had to end and gave the job back, `lost` where that ended, or ' +
          'stopped answering, without a word.',
      }),
    error: z.object({ code: z.string(), detail: z.string() }).nullable().meta({ description: 'Why it failed.' }),
  })
  .meta({ id: 'JobAttempt' })

const progress = z.object({
  phase: z.enum(['checking', 'reading', 'sending', 'loading', 'finishing']),
  stage: z.string().nullable(),
  table: z.string().nullable(),
  rows: count,
  rowsTotal: count.nullable().meta({ description: 'An estimate for an export, a count for an import.' }),
  bytes: count.meta({ description: 'Of the archive, as it is stored or sent.' }),
  parts: added(count.meta({ description: 'Parts of tables that this attempt at an import has loaded.' }), 0),
  partsBefore: added(
    count.meta({ description: 'Those that an earlier attempt had loaded, and that are not loaded again.' }),
    0,
  ),
  percent: z.int().min(0).max(100).nullable(),
})

/** How far a job has come. What is not known is null. */
export type JobProgress = ReadonlyDeep<z.output<typeof progress>>

/** A job as it is shown. */
export const jobSchema = z
  .object({
    id,
    kind: z.enum(JOB_KINDS),
    status: z.enum(JOB_STATUSES),
    request: z.unknown().meta({ description: 'What was asked for; tokens in it are masked.' }),
    progress: progress.nullable(),
    result: z.unknown().meta({ description: 'Its result; null until it has succeeded.' }),
    error: z
      .object({
        code: z.string().meta({ description: 'As in `docs/errors.md`.' }),
        detail: z.string(),
        errors: z.array(faultSchema),
      })
      .nullable()
      .meta({ description: 'Why it failed; null where it has not.' }),
    createdBy: id.nullable().meta({ description: 'The token that asked for it; null for the root token.' }),
    scheduleId: id.nullable(),
    attempt: count.meta({ description: 'How often it was started: more than once where a worker died.' }),
    attempts: added(
      z.array(attempt).meta({ description: 'The log of its attempts, the oldest first; of more than 20, the newest.' }),
      [],
    ),
    cancelRequestedAt: timeText.nullable(),
    createdAt: timeText,
    startedAt: timeText.nullable(),
    finishedAt: timeText.nullable(),
    expiresAt: timeText.nullable().meta({ description: 'When the archive that it made is removed.' }),
    archiveCheckedAt: timeText
      .nullable()
      .meta({ description: 'When the bytes of the archive that it made were last compared with what was written.' }),
    archiveDamagedAt: added(
      timeText.nullable().meta({
        description: 'When the archive was found to be damaged: it cannot be downloaded then. Null where it is whole.',
      }),
      null,
    ),
    provenAt: added(
      timeText.nullable().meta({
        description:
          'When the archive that it made was restored and found to be identical; null where that was not done, or the archive is damaged.',
      }),
      null,
    ),
    links: z.object({
      self: z.string(),
      events: z.string(),
      cancel: z.string().optional().meta({ description: 'While it has not ended.' }),
      file: z.string().optional().meta({ description: 'Where it made an archive.' }),
    }),
  })
  .meta({ id: 'Job' })

/** What clients read from the `result` of a job of any kind. */
export const jobResultSchema = z.object({
  projects: added(importedSchema.shape.projects, []),
  system: added(z.object({ roles: count, events: count }).nullable(), null),
  matched: added(matchedSchema.nullable(), null),
  ...completenessFields,
})
