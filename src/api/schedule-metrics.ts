import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../database/database.ts'
import { type RunSummary, summariseRuns } from '../jobs/schedules/runs.ts'
import type { ScheduleRun } from '../jobs/schedules/schedule.ts'

/**
 * Figures about schedules that are enabled, by their ids: what an alarm about a backup that has stopped working needs.
 * They reveal nothing else about a schedule, since `/metrics` needs no token.
 */
export function addScheduleMetrics(registers: Registry[], { prisma }: Database): void {
  const addGauge = (name: string, help: string, figureOf: (runs: RunSummary) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['schedule'],
      registers,
      async collect() {
        this.reset()
        const enabled = await prisma.schedule.findMany({ where: { enabled: true }, select: { id: true } })
        const ids = enabled.map(({ id }) => id)
        for (const [schedule, runs] of await summariseRuns(prisma, ids)) this.set({ schedule }, figureOf(runs))
      },
    })
  }
  addGauge(
    'wharf_schedule_last_success_timestamp_seconds',
    'When the last run that succeeded ended; 0 where none has.',
    ({ lastSuccess }) => secondsOf(lastSuccess?.finishedAt),
  )
  addGauge(
    'wharf_schedule_last_proven_timestamp_seconds',
    'When an archive was last restored, and was the same; 0 where none was.',
    ({ lastProven }) => secondsOf(lastProven?.provenAt),
  )
  addGauge('wharf_schedule_last_run_failed', 'Whether the last run failed: 1 or 0.', ({ last }) =>
    hasFailed(last) ? 1 : 0,
  )
}

const secondsOf = (time: Date | null | undefined): number => (time ? time.getTime() / 1_000 : 0)

const hasFailed = (run: ScheduleRun | undefined): boolean => run?.status === 'failed'
