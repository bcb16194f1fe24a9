import type { Transaction } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import type { Description } from '../notifications/address-notifications.ts'
import { projectsOf } from './authorisation.ts'
import { parseRequest } from './catalogue.ts'
import type { Job } from './job.ts'
import { JOB_COLUMNS } from './job-record.ts'

/**
 * What is sent about a job that has ended: outcome, times and size. No more of its request than which projects of this server
 * it names, and of its error what a waiting client would have been told.
 *
 * @param publicUrl of the interface, without a slash at its end; undefined where that is not known.
 */
export const createDescribeJob =
  (publicUrl: string | undefined) =>
  async (tx: Transaction, jobId: string): Promise<Description | undefined> => {
    const [job] = await tx.$queryRaw<Job[]>(
      Prisma.sql`SELECT ${JOB_COLUMNS} FROM control.job WHERE id = ${jobId}::uuid`,
    )
    if (!job) return undefined
    const { id, kind, status, attempt, progress, error, scheduleId } = job
    const { projects, patterns } = projectsIn(job)
    const schedule =
      scheduleId === null
        ? null
        : await tx.schedule.findUnique({ where: { id: scheduleId }, select: { id: true, name: true } })
    return {
      about: { jobKind: kind, projects: projects.length > 0 ? projects : patterns, scheduleId },
      data: {
        job: {
          ...{ id, kind, status, attempt },
          createdAt: job.createdAt,
          startedAt: job.startedAt,
          finishedAt: job.finishedAt,
          rows: progress?.rows ?? null,
          bytes: progress?.bytes ?? null,
          error: error && { code: error.code, detail: error.detail },
          url: `${publicUrl ?? ''}/jobs/${id}`,
        },
        projects,
        schedule,
      },
    }
  }

/** What a request names; nothing where a newer version of Wharf wrote what this one doesn't know. */
function projectsIn({ kind, request }: Job): {
  readonly projects: readonly string[]
  readonly patterns: readonly string[]
} {
  try {
    const asked = parseRequest(kind, request)
    const patterns = asked.kind === 'export' ? (asked.request.patterns ?? []) : []
    return { projects: projectsOf(asked), patterns: patterns.map(({ pattern }) => pattern) }
  } catch {
    return { projects: [], patterns: [] }
  }
}
