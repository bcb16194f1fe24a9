import { z } from 'zod'
import { count, id, slug, timeText } from './fields.ts'

/** What a night left of a project, the best of it: `proven` and `made` are archives. */
export const NIGHT_OUTCOMES = ['proven', 'made', 'running', 'failed', 'cancelled', 'skipped', 'none'] as const

const archive = z.object({
  jobId: id,
  finishedAt: timeText,
  provenAt: timeText.nullable().meta({ description: 'When it was restored and found to be identical.' }),
})

const night = z.object({
  date: z.iso.date().meta({ description: 'By the clocks of the schedule.' }),
  outcome: z.enum(NIGHT_OUTCOMES),
  dueAt: timeText.nullable().meta({ description: 'Of the run; null where there was none.' }),
  jobId: id.nullable().meta({ description: 'Its job, where it is still there.' }),
  hasArchive: z.boolean().meta({ description: 'Whether its archive is still there, and whole.' }),
})

const fields = {
  slug,
  attached: z.boolean(),
  stages: z.array(
    z.object({
      slug,
      sizeBytes: count.nullable().meta({
        description: 'Of its tables with their indexes; null in databases of their own, and while tables are locked.',
      }),
      changedAt: timeText
        .nullable()
        .meta({ description: 'When its rows or its structure last changed, by its event log.' }),
    }),
  ),
  schedules: z
    .array(z.object({ id, name: z.string(), enabled: z.boolean(), nextRunAt: timeText.nullable() }))
    .meta({ description: 'Those that export it, by name or by a pattern, as far as the token may see them.' }),
  lastArchive: archive.nullable().meta({ description: 'The newest that is there, of a schedule or not.' }),
  lastProven: archive.nullable(),
  overdueSince: timeText
    .nullable()
    .meta({ description: 'Since when the last archive of a schedule is older than its `alarms` allow.' }),
  nights: z.array(night).meta({ description: 'The last 30, the oldest first.' }),
}

export const projectOverviewSchema = z
  .object(fields)
  .meta({ id: 'ProjectOverview', description: 'A project, and how well it is backed up.' })

export type NightOutcome = (typeof NIGHT_OUTCOMES)[number]
