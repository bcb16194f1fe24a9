import { z } from 'zod'
import { count, id, timeText } from './fields.ts'

/** How an installation does, as `wharf status` has it. */
export const statusSchema = z
  .object({
    version: z.string(),
    database: z.object({ version: z.string(), name: z.string(), bytes: count, projects: count }),
    processes: z
      .array(
        z.object({
          parts: z.array(z.string()),
          host: z.string(),
          pid: z.int(),
          version: z.string(),
          startedAt: timeText,
        }),
      )
      .meta({ description: 'Those that have been heard of in the last minute.' }),
    queue: z.object({
      kind: z.enum(['redis', 'postgresql']),
      fault: z.string().nullable().meta({ description: 'Why it cannot be used; null where it can.' }),
    }),
    jobs: z.object({
      waiting: count,
      oldestWaitingSeconds: z.number().nonnegative(),
      running: count,
      failed: count.meta({ description: 'In the last 24 hours.' }),
    }),
    schedules: z.array(
      z.object({
        ...{ id, name: z.string(), enabled: z.boolean(), nextRunAt: timeText.nullable() },
        last: z.string().nullable().meta({ description: 'How the last run ended, or goes on; null before the first.' }),
        lastSuccessAt: timeText.nullable(),
        lastProvenAt: timeText.nullable().meta({ description: 'When an archive was last restored, and was the same.' }),
      }),
    ),
    storage: z.object({ location: z.string(), archives: count, bytes: count, damaged: count }),
    backup: z.object({ enabled: z.boolean(), lastAt: timeText.nullable() }).meta({ description: 'Of Wharf itself.' }),
    problems: z.array(z.string()).meta({ description: 'What somebody should look at, in sentences.' }),
  })
  .meta({ id: 'Status', description: 'How an installation does.' })

/** What a look at all that a service needs has found, as `wharf doctor` has it. */
export const doctorSchema = z
  .object({
    ok: z.boolean().meta({ description: 'Whether nothing is wrong, warnings aside.' }),
    checks: z.array(
      z.object({
        name: z.string().meta({ description: 'What was looked at.' }),
        status: z.enum(['ok', 'warning', 'fault', 'skipped']),
        detail: z.string().meta({ description: 'What there is; where something is wrong, what it is and what to do.' }),
      }),
    ),
  })
  .meta({ id: 'Doctor', description: 'All that a service needs, checked.' })
