import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { findLastBackup } from '../backup/installation.ts'
import type { CacheLookups } from '../content/cache-lookups.ts'
import { readClock } from '../database/clock.ts'
import type { Database } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import type { EndedJobs } from '../jobs/ended-jobs.ts'
import type { JobQueue } from '../jobs/queue.ts'
import { createBatcher } from '../lib/batcher.ts'
import { within } from '../lib/within.ts'
import type { DeliveryCounts } from '../notifications/delivery-counts.ts'
import { takeMetricsLease } from '../processes/metrics-lease.ts'
import { addConnectionMetrics, type ConnectionServices } from './connection-metrics.ts'
import { type AddGauge, type Figures, secondsOf } from './figures.ts'
import type { ReadinessCheck, ReadinessChecks } from './readiness.ts'
import { addScheduleMetrics } from './schedule-metrics.ts'

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

export interface MetricsServices extends ConnectionServices {
  readonly control: Database
  readonly queue: JobQueue
  readonly endedJobs: EndedJobs
  readonly deliveryCounts: DeliveryCounts
  readonly cacheLookups: CacheLookups
  readonly processId: string
  /** What the process depends on, by name. */
  readonly checks: ReadinessChecks
}

/**
 * Figures for Prometheus. Those about the service, as of jobs and schedules, are taken from the records when somebody asks, and
 * one process at a time gives them, so that they can be added up as those can that each process gives of itself; where the
 * database does not answer, they are left out.
 */
export function createMetrics(services: MetricsServices): Metrics {
  const { control, queue, endedJobs, deliveryCounts, cacheLookups, checks } = services
  const registry = new Registry()
  const registers = [registry]
  // Under the names that they have everywhere, for dashboards that are there already.
  collectDefaultMetrics({ register: registry })
  for (const name of GAUGES_NAMED_AS_COUNTERS) registry.removeSingleMetric(name)
  for (const metric of [...endedJobs.metrics, ...deliveryCounts.metrics, ...cacheLookups.metrics])
    registry.registerMetric(metric)
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
  addConnectionMetrics(addGauge, services)
  const givesServiceFigures = createServiceFigures(services)
  addGauge(
    'wharf_service_figures',
    'Whether this process gives the figures about the service, as one at a time does: 1 or 0.',
    [],
    async () => [[{}, Number(await givesServiceFigures())]],
  )
  const addOfService: AddGauge = (name, help, labelNames, read) =>
    addGauge(name, help, labelNames, async () => ((await givesServiceFigures()) ? read() : []))
  addJobMetrics(addOfService, control)
  addScheduleMetrics(addOfService, control)
  addNotificationMetrics(addOfService, control)
  addLogMetrics(addOfService, control)
  addOfService(
    'wharf_backup_last_success_timestamp_seconds',
    'Since when the last backup of Wharf itself stands; left out where there is none.',
    [],
    async () => {
      const last = await findLastBackup(control.prisma, { until: await readClock(control.prisma) })
      return last ? [[{}, secondsOf(last.beganAt)]] : []
    },
  )
  addOfService('wharf_queue_waiting', 'Jobs that wait in the queue for a worker.', ['kind'], async () => {
    const depth = await queue.depth()
    return [...depth].map(([kind, count]) => [{ kind }, count])
  })
  return {
    observeRequest: ({ operation = 'unknown', status, seconds }) => requests.observe({ operation, status }, seconds),
    render: () => registry.metrics(),
  }
}

/**
 * Makes the question whether this process gives the figures about the service, which all figures ask together. While the
 * database takes no writes, the one that gave them goes on.
 */
function createServiceFigures({ control, processId }: MetricsServices): () => Promise<boolean> {
  let gives = false
  const ask = createBatcher<undefined, boolean>(async () => {
    gives = await takeMetricsLease(control.prisma, processId).catch(() => gives)
    return new Map([['', gives]])
  })
  return async () => (await ask('', undefined)) ?? false
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

/** About the event logs of stages in Wharf's own database, which are in one table. */
function addLogMetrics(addGauge: AddGauge, { prisma }: Database): void {
  addGauge('wharf_event_log_bytes', 'What event logs take on the disk of PostgreSQL, with indexes.', [], async () => {
    const [row] = await prisma.$queryRaw<{ bytes: number }[]>`
      SELECT (pg_total_relation_size('system.event') + pg_total_relation_size('system.transaction'))::float8 AS bytes`
    return row ? [[{}, row.bytes]] : []
  })
  addGauge(
    'wharf_event_log_events',
    'Events in these logs, as PostgreSQL estimates it; left out where autovacuum has not looked yet.',
    [],
    async () => {
      const [row] = await prisma.$queryRaw<{ events: number }[]>`
        SELECT reltuples::float8 AS events FROM pg_class WHERE oid = 'system.event'::regclass AND reltuples >= 0`
      return row ? [[{}, row.events]] : []
    },
  )
}
