import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from '../database/database.ts'
import type { JobQueue } from '../jobs/queue.ts'
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
  addJobMetrics(registers, control)
  addScheduleMetrics(registers, control)
  new Gauge({
    name: 'wharf_queue_waiting',
    help: 'Jobs that wait in the queue for a worker.',
    labelNames: ['kind'],
    registers,
    async collect() {
      this.reset()
      const [depth] = await Promise.allSettled([queue.depth()])
      if (depth.status === 'rejected') return
      for (const [kind, count] of depth.value) this.set({ kind }, count)
    },
  })
  return {
    observeRequest: ({ operation = 'unknown', status, seconds }) => requests.observe({ operation, status }, seconds),
    render: () => registry.metrics(),
  }
}

function addJobMetrics(registers: Registry[], { prisma }: Database): void {
  new Gauge({
    name: 'wharf_jobs',
    help: 'Jobs on record, by kind and status.',
    labelNames: ['kind', 'status'],
    registers,
    async collect() {
      this.reset()
      const groups = await prisma.job.groupBy({ by: ['kind', 'status'], _count: true })
      for (const { kind, status, _count } of groups) this.set({ kind, status }, _count)
    },
  })
  new Gauge({
    name: 'wharf_job_oldest_queued_seconds',
    help: 'For how long the oldest queued job has been waiting.',
    registers,
    async collect() {
      const [row] = await prisma.$queryRaw<{ seconds: number }[]>`
        SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS seconds
          FROM control.job WHERE status = 'queued'`
      this.set(row?.seconds ?? 0)
    },
  })
  new Gauge({
    name: 'wharf_archives_damaged',
    help: 'Kept archives whose bytes in the storage are not those that were written.',
    registers,
    async collect() {
      this.set(await prisma.artifact.count({ where: { state: 'ready', damagedAt: { not: null } } }))
    },
  })
  new Gauge({
    name: 'wharf_job_recent_duration_seconds',
    help: 'How long jobs took that ended in the last hour, from their first beginning to their end.',
    labelNames: ['kind', 'status', 'quantile'],
    registers,
    async collect() {
      this.reset()
      const rows = await prisma.$queryRaw<{ kind: string; status: string; quantiles: number[] }[]>`
        SELECT kind, status, percentile_cont(ARRAY[0.5, 0.95, 1])
                 WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - started_at)::float8) AS quantiles
          FROM control.job WHERE finished_at > now() - interval '1 hour' AND started_at IS NOT NULL
         GROUP BY kind, status`
      for (const { kind, status, quantiles } of rows) {
        for (const [index, quantile] of ['0.5', '0.95', '1'].entries()) {
          this.set({ kind, status, quantile }, quantiles[index] ?? 0)
        }
      }
    },
  })
}
