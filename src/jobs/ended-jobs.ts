import { Counter, Histogram, type Metric } from 'prom-client'
import { JOB_KINDS } from '../contract/job.ts'
import { ENDED, type JobKind, type JobStatus } from './job.ts'

/** What this process knows of jobs that have ended through it, for Prometheus. */
export interface EndedJobs {
  readonly metrics: readonly Metric[]
  /** Counts a job where its status is one of those that jobs end with. */
  count(job: { readonly kind: JobKind; readonly status: JobStatus }): void
  /** Counts bytes of the archive that a job which succeeded has written, or read. */
  addBytes(kind: JobKind, bytes: number): void
  /** Records how long an attempt took with which a job ended. */
  time(job: { readonly kind: JobKind; readonly status: JobStatus }, seconds: number): void
}

const BUCKETS_SECONDS = [0.1, 0.5, 1, 5, 30, 120, 600, 3_600, 14_400]

/** Counts from zero; each process counts the jobs that it ends itself, so that sums over processes are right. */
export function createEndedJobs(): EndedJobs {
  const counter = new Counter({
    name: 'wharf_jobs_ended_total',
    help: 'Jobs that this process has ended, by kind and how they ended.',
    labelNames: ['kind', 'status'],
    registers: [],
  })
  // A rate needs a value before the first.
  for (const kind of JOB_KINDS) for (const status of ENDED) counter.inc({ kind, status }, 0)
  const bytesMoved = new Counter({
    name: 'wharf_job_bytes_total',
    help: 'Bytes of the archives of jobs that have succeeded in this process, as they are sent or kept.',
    labelNames: ['kind'],
    registers: [],
  })
  for (const kind of JOB_KINDS) bytesMoved.inc({ kind }, 0)
  const durations = new Histogram({
    name: 'wharf_job_attempt_duration_seconds',
    help: 'How long the attempts took with which jobs ended in this process.',
    labelNames: ['kind', 'status'],
    buckets: BUCKETS_SECONDS,
    registers: [],
  })
  return {
    metrics: [counter, bytesMoved, durations],
    count({ kind, status }) {
      if (ENDED.has(status)) counter.inc({ kind, status })
    },
    addBytes: (kind, bytes) => bytesMoved.inc({ kind }, bytes),
    time({ kind, status }, seconds) {
      if (ENDED.has(status)) durations.observe({ kind, status }, seconds)
    },
  }
}
