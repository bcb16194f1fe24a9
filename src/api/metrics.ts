import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { findLastBackup } from '../backup/installation.ts'
import type { Database } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import type { EndedJobs } from '../jobs/ended-jobs.ts'
import type { JobQueue } from '../jobs/queue.ts'
import { type RunSummary, summariseRuns } from '../jobs/schedules/runs.ts'
import { within } from '../lib/within.ts'
import type { DeliveryCounts } from '../notifications/delivery-counts.ts'
import type { ReadinessCheck, ReadinessChecks } from './readiness.ts'

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

/** How long any one figure may take, in milliseconds: less than Prometheus waits for all. */
const READ_MS = 5_000

type Figures = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]

/** Adds a figure that is asked for each time that somebody asks for all. */
type AddGauge = (name: string, help: string, labelNames: readonly string[], read: () => Promise<Figures>) => void

export interface MetricsServices {
  readonly control: Database
  readonly queue: JobQueue
  readonly endedJobs: EndedJobs
  readonly deliveryCounts: DeliveryCounts
  /** What the process depends on, by name. */
  readonly checks: ReadinessChecks
}

/**
 * Figures for Prometheus. Those about jobs and schedules are taken from the records when somebody asks, so that every
 * process gives the same, whichever process works on them; where the database does not answer, they are left out.
 */
export function createMetrics({ control, queue, endedJobs, deliveryCounts, checks }: MetricsServices): Metrics {
  const registry = new Registry()
  const registers = [registry]
  // Under the names that they have everywhere, for dashboards that are there already.
  collectDefaultMetrics({ register: registry })
  for (const name of GAUGES_NAMED_AS_COUNTERS) registry.removeSingleMetric(name)
  for (const metric of [...endedJobs.metrics, ...deliveryCounts.metrics]) registry.registerMetric(metric)
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
        const [figures] = await Promise.allSettled([within(READ_MS, read(), () => [])])
        this.reset()
        // One without labels would be 0 then, and is to be left out.
        if (labelNames.length === 0) this.remove()
        if (figures.status === 'rejected') return
        for (const [labels, value] of figures.value) this.set(labels, value)
      },
    })
  }
  addGauge(
    'wharf_dependency_up',
    'Whether what this process depends on answers, as in /readyz: 1 or 0.',
    ['dependency'],
    () => Promise.all(Object.entries(checks).map(readDependency)),
  )
  addJobMetrics(addGauge, control)
  addScheduleMetrics(addGauge, control)
  addNotificationMetrics(addGauge, control)
  addGauge(
    'wharf_backup_last_success_timestamp_seconds',
    'Since when the last backup of Wharf itself stands; left out where there is none.',
    [],
    async () => {
      const last = await findLastBackup(control.prisma)
      return last ? [[{}, secondsOf(last.beganAt)]] : []
    },
  )
  addGauge('wharf_queue_waiting', 'Jobs that wait in the queue for a worker.', ['kind'], async () => {
    const depth = await queue.depth()
    return [...depth].map(([kind, count]) => [{ kind }, count])
  })
  return {
    observeRequest: ({ operation = 'unknown', status, seconds }) => requests.observe({ operation, status }, seconds),
    render: () => registry.metrics(),
  }
}

/** What the client for Prometheus calls against Prometheus' own rules. */
const GAUGES_NAMED_AS_COUNTERS = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

async function readDependency([dependency, check]: [string, ReadinessCheck]): Promise<Figures[number]> {
  const answers = within(
    READ_MS / 2,
    check(AbortSignal.timeout(READ_MS / 2)).then(() => 1),
    () => 0,
  )
  return [{ dependency }, await answers.catch(() => 0)]
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
}

function addNotificationMetrics(addGauge: AddGauge, { prisma }: Database): void {
  const ofWaiting = (figure: Prisma.Sql) => async (): Promise<Figures> => {
    const [row] = await prisma.$queryRaw<{ figure: number }[]>`
      SELECT ${figure} AS figure
        FROM (SELECT created_at FROM control.notification WHERE addressed_at IS NULL
              UNION ALL SELECT created_at FROM control.delivery WHERE status = 'waiting') AS waiting`
    return [[{}, row?.figure ?? 0]]
  }
  addGauge(
    'wharf_notifications_waiting',
    'Notifications that are still to be sent.',
    [],
    ofWaiting(Prisma.sql`count(*)::float8`),
  )
  addGauge(
    'wharf_notification_oldest_waiting_seconds',
    'For how long the oldest of them has been waiting.',
    [],
    ofWaiting(Prisma.sql`coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8`),
  )
}

/**
 * Figures about schedules that are enabled, by their ids: what an alarm about a backup that has stopped working needs.
 * They reveal nothing but its name about a schedule, since `/metrics` needs no token.
 */
function addScheduleMetrics(addGauge: AddGauge, { prisma }: Database): void {
  const select = { id: true, name: true, kind: true, verify: true } as const
  const findEnabled = () => prisma.schedule.findMany({ where: { enabled: true }, select })
  addGauge(
    'wharf_schedule_info',
    'What an enabled schedule is called; always 1.',
    ['schedule', 'name', 'kind'],
    async () => {
      const enabled = await findEnabled()
      return enabled.map(({ id, name, kind }) => [{ schedule: id, name, kind }, 1])
    },
  )
  const ofSchedules =
    (figureOf: (runs: RunSummary, verify: boolean) => number | undefined) => async (): Promise<Figures> => {
      const enabled = await findEnabled()
      const summaries = await summariseRuns(
        prisma,
        enabled.map(({ id }) => id),
      )
      return enabled.flatMap(({ id, verify }) => {
        const runs = summaries.get(id)
        const figure = runs && figureOf(runs, verify)
        return figure === undefined ? [] : [[{ schedule: id }, figure] as const]
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
    'When an archive was last restored, and was the same; 0 where none was, left out where none is to be.',
    ['schedule'],
    ofSchedules(({ lastProven }, verify) => (verify ? secondsOf(lastProven?.provenAt) : undefined)),
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
