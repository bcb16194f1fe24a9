import type { z } from 'zod'
import type { keepPreviewSchema, runSchema, scheduleDetailSchema, scheduleSchema } from '../../contract/schedule.ts'
import { nextRuns } from '../../jobs/schedules/cron.ts'
import type { RunSummary } from '../../jobs/schedules/runs.ts'
import type { Schedule, ScheduleRun } from '../../jobs/schedules/schedule.ts'
import type { previewKeeping } from '../../jobs/schedules/settle.ts'
import type { ReadonlyDeep } from '../../lib/readonly-deep.ts'
import type { Ping } from '../../notifications/ping.ts'
import { timeOrNull } from './job-body.ts'

/** How many of the times to come are shown. */
const NEXT_RUNS = 5

/**
 * A schedule as lists show it.
 *
 * @param runs undefined where it has not run.
 */
export function toScheduleBody(
  schedule: Schedule,
  runs: RunSummary | undefined,
  ping: Ping | undefined,
): ReadonlyDeep<z.input<typeof scheduleSchema>> {
  const { asked, nextRunAt, createdAt, overdueSince, ...same } = schedule
  const self = schedulePath(schedule)
  return {
    ...same,
    ...asked,
    createdAt: createdAt.toISOString(),
    nextRunAt: timeOrNull(nextRunAt),
    overdueSince: timeOrNull(overdueSince),
    ping: ping ?? null,
    lastRun: toRunBody(runs?.last),
    lastSuccess: toRunBody(runs?.lastSuccess),
    lastProven: toRunBody(runs?.lastProven),
    links: { self, run: `${self}/run` },
  }
}

interface ShownWith {
  /** Of its runs; undefined where it has not run. */
  readonly summary: RunSummary | undefined
  readonly ping: Ping | undefined
  /** The newest. */
  readonly runs: readonly ScheduleRun[]
}

export function toScheduleDetailBody(
  schedule: Schedule,
  { summary, ping, runs }: ShownWith,
): ReadonlyDeep<z.input<typeof scheduleDetailSchema>> {
  const { nextRunAt } = schedule
  const later = nextRunAt ? [nextRunAt, ...nextRuns(schedule, nextRunAt, NEXT_RUNS - 1)] : []
  return {
    ...toScheduleBody(schedule, summary, ping),
    nextRuns: later.map((time) => time.toISOString()),
    runs: runs.map(toShownRun),
  }
}

export const schedulePath = ({ id: scheduleId }: Schedule): string => `/schedules/${scheduleId}`

/** An archive, and whether rules would keep it. */
export const toKeptBody = ({
  jobId,
  finishedAt,
  provenAt,
  bytes,
  isKept,
}: Awaited<ReturnType<typeof previewKeeping>>[number]): z.input<typeof keepPreviewSchema>['archives'][number] => ({
  ...{ jobId, bytes, kept: isKept },
  finishedAt: finishedAt.toISOString(),
  provenAt: timeOrNull(provenAt),
})

type RunBody = ReadonlyDeep<z.input<typeof runSchema>>

const toRunBody = (run: ScheduleRun | undefined): RunBody | null => (run ? toShownRun(run) : null)

function toShownRun({ scheduleId: _, dueAt, finishedAt, provenAt, archiveDamagedAt, ...same }: ScheduleRun): RunBody {
  const times = { finishedAt: timeOrNull(finishedAt), provenAt: timeOrNull(provenAt) }
  return { ...same, ...times, dueAt: dueAt.toISOString(), archiveDamagedAt: timeOrNull(archiveDamagedAt) }
}
