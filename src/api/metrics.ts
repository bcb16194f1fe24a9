import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from '../database/database.ts'
import type { JobQueue } from '../jobs/queue.ts'
import { type RunSummary, summariseRuns } from '../jobs/schedules/runs.ts'

/** A request that has been answered, one way or the other. */
export interface AnsweredRequest {
  /** Which call it was; undefined where the path is unknown. */
  readonly operation: string | undefined
  readonly status: number
  readonly seconds: number
}

export interface Metrics {
  readonly observeRequest: (request: AnsweredRequest) => void
  /** Everything, in Prometheus' text format. What can't be asked for is left out. */
  readonly render: () => Promise<string>
}

const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600]

type Figures = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]

/** Adds a figure that is asked for each time that somebody asks for all. */
type AddGauge = (name: string, help: string, labelNames: readonly string[], read: () => Promise<Figures>) => void

/**
 * Figures for Prometheus. Those about jobs are taken from the records when somebody asks, so that every process that
 * has the interface gives the same, whichever process works on them.
 */
export function createMetrics({ control, queue }: { readonly control: Database; readonly queue: JobQueue }): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'wharf_' })
  const requests = new Histogram({
    name: 'wharf_http_request_duration_seconds',
    help: 'How long requests took, to the last byte of the answer.',
    labelNames: ['operation', 'status'],
    buckets: BUCKETS_SECONDS,
    registers,
  })
  const addGauge: AddGauge = (name, help, labelNames, read) => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        const figures = await read()
        this.reset()
        for (const [labels, value] of figures) this.set(labels, value)
      },
    })
  }
  addJobMetrics(addGauge, control)
  addScheduleMetrics(addGauge, control)
  addGauge('wharf_queue_waiting', 'Jobs that wait in the queue for a worker.', ['kind'], async () => {
    const [depth] = await Promise.allSettled([queue.depth()])
    return depth.status === 'rejected' ? [] : [...depth.value].map(([kind, count]) => [{ kind }, count])
  })
  return {
    observeRequest: ({ operation = 'unknown', status, seconds }) => requests.observe({ operation, status }, seconds),
    render: () => registry.metrics(),
  }
}

function addJobMetrics(addGauge: AddGauge, { prisma }: Database): void {
  addGauge('wharf_jobs', 'Jobs on record, by kind and status.', ['kind', 'status'], async () => {
    const groups = await prisma.job.groupBy({ by: ['kind', 'status'], _count: true })
    return groups.map(({ kind, status, _count }) => [{ kind, status }, _count])
  })
  addGauge('wharf_job_oldest_queued_seconds', 'For how long the oldest queued job has been waiting.', [], async () => {
    const [row] = await prisma.$queryRaw<{ seconds: number }[]>`
      SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS seconds
        FROM control.job WHERE status = 'queued'`
    return [[{}, row?.seconds ?? 0]]
  })
  addGauge(
    'wharf_archives_damaged',
    'Kept archives whose bytes in the storage are not those that were written.',
    [],
    async () => [[{}, await prisma.artifact.count({ where: { state: 'ready', damagedAt: { not: null } } })]],
  )
  addGauge(
    'wharf_job_recent_duration_seconds',
    'How long jobs took that ended in the last hour, from their first beginning to their end.',
    ['kind', 'status', 'quantile'],
    async () => {
      const rows = await prisma.$queryRaw<{ kind: string; status: string; quantiles: number[] }[]>`
        SELECT kind, status, percentile_cont(ARRAY[0.5, 0.95, 1])
                 WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - started_at)::float8) AS quantiles
          FROM control.job WHERE finished_at > now() - interval '1 hour' AND started_at IS NOT NULL
         GROUP BY kind, status`
      return rows.flatMap(({ kind, status, quantiles }) =>
        ['0.5', '0.95', '1'].map((quantile, index) => [{ kind, status, quantile }, quantiles[index] ?? 0] as const),
      )
    },
  )
}

/**
 * Figures about schedules that are enabled, by their ids: what an alarm about a backup that has stopped working needs.
 * They reveal nothing else about a schedule, since `/metrics` needs no token.
 */
function addScheduleMetrics(addGauge: AddGauge, { prisma }: Database): void {
  const ofSchedules = (figureOf: (runs: RunSummary) => number | undefined) => async (): Promise<Figures> => {
    const enabled = await prisma.schedule.findMany({ where: { enabled: true }, select: { id: true } })
    const summaries = await summariseRuns(
      prisma,
      enabled.map(({ id }) => id),
    )
    return [...summaries].flatMap(([schedule, runs]) => {
      const figure = figureOf(runs)
      return figure === undefined ? [] : [[{ schedule }, figure] as const]
    })
  }
  addGauge(
    'wharf_schedule_last_success_timestamp_seconds',
    'When the last run that succeeded ended; 0 where none has.',
    ['schedule'],
    ofSchedules(({ lastSuccess }) => secondsOf(lastSuccess?.finishedAt)),
  )
  addGauge(
    'wharf_schedule_last_proven_timestamp_seconds',
    'When an archive was last restored, and was the same; 0 where none was.',
    ['schedule'],
    ofSchedules(({ lastProven }) => secondsOf(lastProven?.provenAt)),
  )
  addGauge(
    'wharf_schedule_last_run_failed',
    'Whether the last run failed: 1 or 0.',
    ['schedule'],
    ofSchedules(({ last }) => (last?.status === 'failed' ? 1 : 0)),
  )
  addGauge(
    'wharf_schedule_last_incomplete',
    'Whether what the last run that succeeded made lacks rows: 1 or 0; left out where that is not known.',
    ['schedule'],
    ofSchedules(({ lastSuccess }) => toFigure(lastSuccess?.lacksRows)),
  )
  addGauge(
    'wharf_schedule_last_gone',
    'How much of what the patterns of a schedule stand for the last run that succeeded did not have, since it is gone or ' +
      'could not be attached; left out where it has no patterns.',
    ['schedule'],
    ofSchedules(({ lastSuccess }) => {
      const matched = lastSuccess?.matched
      return matched ? matched.goneProjects.length + matched.refused.length : undefined
    }),
  )
}

const toFigure = (flag: boolean | null | undefined): number | undefined =>
  flag === null || flag === undefined ? undefined : Number(flag)

const secondsOf = (time: Date | null | undefined): number => (time ? time.getTime() / 1_000 : 0)
