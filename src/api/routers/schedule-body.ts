import { z } from 'zod'
import { JOB_STATUSES } from '../../jobs/job.ts'
import { nextRuns } from '../../jobs/schedules/cron.ts'
import type { RunSummary } from '../../jobs/schedules/runs.ts'
import { SCHEDULED_KINDS, type Schedule, type ScheduleRun } from '../../jobs/schedules/schedule.ts'
import { id, timeText } from './schemas.ts'

/** How many of the times to come are shown. */
const NEXT_RUNS = 5

const runSchema = z
  .object({
    dueAt: timeText.meta({ description: 'For a run that was asked for by hand, when it was.' }),
    byHand: z.boolean(),
    jobId: id.nullable().meta({ description: 'Its job; null where it was skipped.' }),
    status: z.enum([...JOB_STATUSES, 'skipped', 'removed']).meta({
      description:
        'That of its job; `skipped` where the run before had not ended, `removed` where its job was deleted before it was known how it ended.',
    }),
    error: z.object({ code: z.string(), detail: z.string() }).nullable().meta({ description: 'Why it failed.' }),
    finishedAt: timeText.nullable(),
    provenAt: timeText.nullable().meta({
      description: 'When its archive was restored and compared, and was the same; null where that was not done.',
    }),
    notExported: z
      .int()
      .nonnegative()
      .nullable()
      .meta({
        description:
          'How many views, functions and other things its archive lacks, since none can hold them; the result of its job ' +
          'names them. null where there is no result, or not any more.',
      }),
  })
  .meta({ id: 'ScheduleRun', description: 'What became of one time at which a schedule was due.' })

export const keepSchema = z
  .strictObject({
    last: z.int().min(1).max(10_000).optional().meta({ description: 'How many; proven ones where there are any.' }),
    days: z.int().min(1).max(36_500).optional().meta({ description: 'For how many days.' }),
  })
  .meta({
    id: 'Keep',
    description:
      'Which archives stay: one stays while either wants it; where neither is said, all do. The newest that succeeded and ' +
      'the newest that is proven always stay.',
  })

const fields = {
  id,
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  kind: z.enum(SCHEDULED_KINDS),
  request: z.unknown().meta({ description: 'What its jobs are asked for with; tokens in it are masked.' }),
  keep: keepSchema,
  verify: z.boolean(),
  enabled: z.boolean(),
  createdBy: id.nullable().meta({ description: 'The token in whose name it runs; null for the root token.' }),
  createdAt: timeText,
  nextRunAt: timeText.nullable().meta({ description: 'null while it is not enabled.' }),
  lastRun: runSchema.nullable(),
  lastSuccess: runSchema.nullable(),
  lastProven: runSchema
    .nullable()
    .meta({ description: 'The last run whose archive is known to be one that can be restored.' }),
  links: z.object({ self: z.string(), run: z.string() }),
}

export const scheduleSchema = z.object(fields).meta({ id: 'Schedule' })

export const scheduleDetailSchema = z
  .object({
    ...fields,
    nextRuns: z.array(timeText).meta({ description: 'The next times at which it is due.' }),
    runs: z.array(runSchema).meta({ description: 'The newest runs, the newest first.' }),
  })
  .meta({ id: 'ScheduleDetail' })

/**
 * A schedule as lists show it.
 *
 * @param runs undefined where it has not run.
 */
export function toScheduleBody(schedule: Schedule, runs: RunSummary | undefined): z.input<typeof scheduleSchema> {
  const { asked, nextRunAt, createdAt, ...same } = schedule
  const self = schedulePath(schedule)
  return {
    ...same,
    ...asked,
    createdAt: createdAt.toISOString(),
    nextRunAt: timeOrNull(nextRunAt),
    lastRun: toRunBody(runs?.last),
    lastSuccess: toRunBody(runs?.lastSuccess),
    lastProven: toRunBody(runs?.lastProven),
    links: { self, run: `${self}/run` },
  }
}

/** @param summary of its runs. @param runs the newest. */
export function toScheduleDetailBody(
  schedule: Schedule,
  summary: RunSummary | undefined,
  runs: readonly ScheduleRun[],
): z.input<typeof scheduleDetailSchema> {
  const { nextRunAt } = schedule
  const later = nextRunAt ? [nextRunAt, ...nextRuns(schedule, nextRunAt, NEXT_RUNS - 1)] : []
  return {
    ...toScheduleBody(schedule, summary),
    nextRuns: later.map((time) => time.toISOString()),
    runs: runs.map(toShownRun),
  }
}

export const schedulePath = ({ id: scheduleId }: Schedule): string => `/schedules/${scheduleId}`

const toRunBody = (run: ScheduleRun | undefined): z.input<typeof runSchema> | null => (run ? toShownRun(run) : null)

function toShownRun({ scheduleId: _, dueAt, finishedAt, provenAt, ...same }: ScheduleRun): z.input<typeof runSchema> {
  return { ...same, dueAt: dueAt.toISOString(), finishedAt: timeOrNull(finishedAt), provenAt: timeOrNull(provenAt) }
}

const timeOrNull = (time: Date | null): string | null => time?.toISOString() ?? null
