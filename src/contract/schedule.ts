import { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import { scheduledExportRequest, transferRequest } from './export.ts'
import { id, timeText } from './fields.ts'
import { added } from './from-server.ts'
import { JOB_STATUSES } from './job.ts'
import { matchedSchema } from './matched.ts'
import { plainText } from './plain-text.ts'
import { faultSchema } from './problem.ts'

/** The kinds of jobs that can be done again and again: what they need is not used up by the first time. */
export const SCHEDULED_KINDS = ['export', 'transfer'] as const

export const runSchema = z
  .object({
    dueAt: timeText.meta({ description: 'For a run that was started by hand, when that was.' }),
    byHand: z.boolean(),
    jobId: id.nullable().meta({ description: 'Its job; null where it was skipped.' }),
    status: z.enum([...JOB_STATUSES, 'skipped', 'removed']).meta({
      description:
        'The status of its job; `skipped` where the previous run had not ended, `removed` where its job was deleted before its outcome was known.',
    }),
    error: z
      .object({
        code: z.string(),
        detail: z.string(),
        errors: added(
          z.array(faultSchema).meta({
            description:
              'Each thing at fault, the first 20: where a proof failed, each table, row count or other object that differed.',
          }),
          [],
        ),
      })
      .nullable()
      .meta({ description: 'Why it failed.' }),
    finishedAt: timeText.nullable(),
    provenAt: timeText.nullable().meta({
      description:
        'When its archive was restored and found to be identical; null where that was not done, or the archive is damaged.',
    }),
    archiveDamagedAt: added(
      timeText.nullable().meta({
        description: 'When its archive was found to be no longer what was written; null where nobody knows that it is.',
      }),
      null,
    ),
    notExported: added(
      z
        .int()
        .nonnegative()
        .nullable()
        .meta({
          description:
            'How many rights, publications and other things its archive lacks, since no archive can hold them, or since `grants` was not asked for; the result of its job ' +
            'names them. null where there is no result, or none any more.',
        }),
      null,
    ),
    lacksRows: added(
      z
        .boolean()
        .nullable()
        .meta({
          description:
            'Whether its archive lacks rows, which `allowIncomplete` of the request accepted. It is never proven then. null ' +
            'where there is no result, or one that does not say so.',
        }),
      null,
    ),
    matched: added(
      matchedSchema.nullable().meta({
        description:
          'What is new and what is gone; null where the schedule has no patterns, and where there is no result, or none any ' +
          'more.',
      }),
      null,
    ),
  })
  .meta({ id: 'ScheduleRun', description: 'The outcome of one time at which a schedule was due.' })

export type RunStatus = z.output<typeof runSchema>['status']

export const keepSchema = z
  .strictObject({
    last: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .meta({ description: 'How many archives; where some are proven, only those count.' }),
    days: z.int().min(1).max(36_500).optional().meta({ description: 'For how many days.' }),
  })
  .meta({
    id: 'Keep',
    description:
      'Which archives are kept: those that either rule keeps; without a rule, all. The newest that succeeded and ' +
      'the newest that is proven are always kept.',
  })

/** Which archives of a schedule stay. */
export type Keep = ReadonlyDeep<z.output<typeof keepSchema>>

const alarmsSchema = z
  .strictObject({
    maxAgeHours: z.int().min(1).max(87_600).optional().meta({
      description:
        'How old the last archive may become, in hours: the last that is proven, with `verify`. `archive.overdue` tells of an older one.',
    }),
    shrinkPercent: z.int().min(1).max(99).optional().meta({
      description:
        'By how many percent an archive may be smaller than the one before it. `archive.shrunk` tells of one that shrank by as many, or more.',
    }),
  })
  .meta({ id: 'Alarms', description: 'What webhooks are told of, beside the ends of runs; only for exports.' })

/** When others are told of a schedule, beside the ends of its runs. */
export type Alarms = ReadonlyDeep<z.output<typeof alarmsSchema>>

const pingFields = {
  start: z.boolean().meta({ description: 'Whether `/start` is asked for when a run begins.' }),
  fail: z.boolean().meta({ description: 'Whether `/fail` is asked for when a run has failed.' }),
}

const newPing = z
  .strictObject({
    url: plainText(2_000).meta({ description: 'It is never shown again.', examples: ['https://hc-ping.com/…'] }),
    start: pingFields.start.default(false),
    fail: pingFields.fail.default(false),
  })
  .meta({
    description:
      'A URL that is asked for (`GET`) when a run has succeeded, so that a service can tell when none comes.',
  })

const pingSchema = z.object({
  address: z.string().meta({ description: 'Its URL without path and query.' }),
  ...pingFields,
  enabled: z.boolean().meta({ description: '`false` since it answered `410 Gone`.' }),
})

const fields = {
  id,
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  kind: z.enum(SCHEDULED_KINDS),
  request: z.unknown().meta({ description: 'What its jobs are asked for with; tokens in it are masked.' }),
  keep: keepSchema,
  alarms: added(alarmsSchema, {}),
  ping: added(pingSchema.nullable(), null),
  overdueSince: added(
    timeText
      .nullable()
      .meta({ description: 'Since when the last archive is older than `alarms` allows; null while it is not.' }),
    null,
  ),
  verify: z.boolean(),
  enabled: z.boolean(),
  createdBy: id.nullable().meta({ description: 'The token in whose name it runs; null for the root token.' }),
  createdAt: timeText,
  nextRunAt: timeText.nullable().meta({ description: 'null while it is not enabled.' }),
  lastRun: runSchema.nullable(),
  lastSuccess: runSchema.nullable(),
  lastProven: runSchema
    .nullable()
    .meta({ description: 'The last run whose archive is proven to be one that can be restored.' }),
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

const name = plainText(200).min(1)
const cron = plainText(200).meta({
  description:
    'Minute, hour, day of month, month, day of week; seconds may come first; or `@daily` and the like. An hour ' +
    'means the clocks of the time zone: a time that they skip runs at the first moment after it, a time that they ' +
    'show twice runs once.',
  examples: ['30 2 * * *', '@daily'],
})
const timezone = plainText(100).meta({ description: 'An IANA name.', examples: ['Europe/Berlin'] })
const verify = z.boolean().meta({
  description: 'Whether every archive is restored and compared before its run counts as succeeded; only for exports.',
})
const newFields = {
  name,
  cron,
  timezone: timezone.default('UTC'),
  keep: keepSchema.default({}),
  alarms: alarmsSchema.default({}),
  ping: newPing.nullable().default(null),
  verify: verify.default(false),
  enabled: z.boolean().default(true),
}

/** A schedule that is to be made. */
export const newSchedule = z.discriminatedUnion('kind', [
  z.strictObject({ ...newFields, kind: z.literal('export'), request: scheduledExportRequest }),
  z.strictObject({ ...newFields, kind: z.literal('transfer'), request: transferRequest }),
])

/** Changes to a schedule. */
export const changedSchedule = z.strictObject({
  name: name.optional(),
  cron: cron.optional(),
  timezone: timezone.optional(),
  request: z
    .union([scheduledExportRequest, transferRequest])
    .optional()
    .meta({ description: 'The whole request, of the same kind.' }),
  keep: keepSchema.optional().meta({ description: 'Replaces both rules.' }),
  alarms: alarmsSchema.optional().meta({ description: 'Replaces both.' }),
  ping: newPing.nullable().optional().meta({ description: 'Replaces the one that there is; null takes it away.' }),
  verify: verify.optional(),
  enabled: z.boolean().optional(),
})

/** Which archives rules would let go of. */
export const keepPreviewSchema = z.object({
  archives: z
    .array(
      z.object({
        jobId: id,
        finishedAt: timeText,
        provenAt: timeText.nullable(),
        bytes: z.int().nonnegative(),
        kept: z.boolean().meta({ description: 'Whether it would stay, if the rules counted now.' }),
      }),
    )
    .meta({ description: 'Those that the schedule has, the newest first.' }),
})

/** When something would be due. */
export const timingRequest = z.strictObject({ cron, timezone: timezone.default('UTC') })

export const nextRunsSchema = z.object({
  nextRuns: z.array(timeText).meta({ description: 'The next five times at which a schedule with it would be due.' }),
})
