import type { Transaction } from '../database/database.ts'
import type { Describe, Description } from '../notifications/address-notifications.ts'
import { projectsOf } from './authorisation.ts'
import { parseRequest } from './catalogue.ts'
import type { Job, JobKind } from './job.ts'
import { JOB_COLUMNS } from './job-record.ts'

/**
 * What is sent about a job or a schedule: outcome, times and size. No more of its request than which projects of this server
 * it names, and of a job's error what a waiting client would have been told.
 *
 * @param publicUrl of the interface, without a slash at its end; undefined where that is not known.
 */
export const createDescribe =
  (publicUrl = ''): Describe =>
  async (tx, { jobId, scheduleId, data }) => {
    if (jobId !== null) return describeJob(tx, jobId, publicUrl)
    return scheduleId === null ? undefined : describeSchedule(tx, scheduleId, { data, publicUrl })
  }

async function describeJob(tx: Transaction, jobId: string, publicUrl: string): Promise<Description | undefined> {
  const [job] = await tx.$queryRaw<Job[]>`SELECT ${JOB_COLUMNS} FROM control.job WHERE id = ${jobId}::uuid`
  if (!job) return undefined
  const { id, kind, status, attempt, progress, error, scheduleId } = job
  const { projects, named } = projectsIn(job)
  const schedule = scheduleId === null ? null : await tx.schedule.findUnique({ where: { id: scheduleId } })
  return {
    about: { jobKind: kind, projects: named, scheduleId },
    data: {
      job: {
        ...{ id, kind, status, attempt },
        createdAt: job.createdAt,
        startedAt: job.startedAt,
        finishedAt: job.finishedAt,
        rows: progress?.rows ?? null,
        bytes: progress?.bytes ?? null,
        error: error && { code: error.code, detail: error.detail },
        url: `${publicUrl}/jobs/${id}`,
      },
      projects,
      schedule: schedule && toShown(schedule, publicUrl),
    },
  }
}

async function describeSchedule(
  tx: Transaction,
  scheduleId: string,
  { data, publicUrl }: { readonly data: object | null; readonly publicUrl: string },
): Promise<Description | undefined> {
  const row = await tx.schedule.findUnique({ where: { id: scheduleId } })
  if (!row) return undefined
  const kind = row.kind as JobKind
  const { projects, named } = projectsIn({ kind, request: row.request })
  return {
    about: { jobKind: kind, projects: named, scheduleId },
    data: { ...data, projects, schedule: toShown(row, publicUrl) },
  }
}

const toShown = ({ id, name }: { readonly id: string; readonly name: string }, publicUrl: string) => ({
  ...{ id, name },
  url: `${publicUrl}/schedules/${id}`,
})

/**
 * The projects of a request; and what it can be chosen by: its patterns, where it is not known what they stand for. Nothing,
 * where a newer version of Wharf wrote what this one doesn't know.
 */
function projectsIn({ kind, request }: { readonly kind: JobKind; readonly request: unknown }): {
  readonly projects: readonly string[]
  readonly named: readonly string[]
} {
  try {
    const asked = parseRequest(kind, request)
    const projects = projectsOf(asked)
    const patterns = asked.kind === 'export' && !asked.request.matched ? (asked.request.patterns ?? []) : []
    return { projects, named: [...projects, ...patterns.map(({ pattern }) => pattern)] }
  } catch {
    return { projects: [], named: [] }
  }
}
