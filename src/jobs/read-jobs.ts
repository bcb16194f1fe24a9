import type { Permission } from '../contract/role.ts'
import type { Database, Queryable } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { gone, notFound } from '../errors.ts'
import type { Caller } from '../projects/access.ts'
import { allows } from '../projects/permissions.ts'
import { assertMayRun, projectsOf } from './authorisation.ts'
import { parseRequest } from './catalogue.ts'
import type { Job, JobKind, JobStatus } from './job.ts'
import { JOB_COLUMNS } from './job-record.ts'

/**
 * Which jobs a caller may know of: the root token of all; others of their own, and of those that they might have asked
 * for themselves, having the permission in every project that the job is about. What patterns stand for depends on whose
 * they are, so such jobs are nobody else's.
 */
export async function jobsVisibleTo(control: Queryable, caller: Caller): Promise<Prisma.Sql> {
  if (caller.kind === 'root') return Prisma.sql`TRUE`
  const projects = await control.project.findMany({
    where: { slug: { in: [...caller.roles.keys()] } },
    select: { id: true, slug: true },
  })
  const having = (...permissions: Permission[]): string[] =>
    projects
      .filter(({ slug }) => {
        const role = caller.roles.get(slug)
        return role !== undefined && permissions.every((permission) => allows(role, permission))
      })
      .map(({ id }) => id)
  return Prisma.sql`(created_by = ${caller.tokenId}::uuid
    OR (cardinality(project_ids) > 0 AND request->'patterns' IS NULL AND project_ids <@
        CASE kind WHEN 'export' THEN ${having('content.export')}::uuid[]
                  WHEN 'import' THEN ${having('content.import')}::uuid[]
                  ELSE ${having('content.export', 'content.import')}::uuid[] END))`
}

/** @throws {AppError} NOT_FOUND, also for a job that the caller may not know of. */
export async function findJob({ prisma }: Database, caller: Caller, id: string): Promise<Job> {
  const [job] = await prisma.$queryRaw<Job[]>`
    SELECT ${JOB_COLUMNS} FROM control.job WHERE id = ${id}::uuid AND ${await jobsVisibleTo(prisma, caller)}`
  if (!job) throw notFound('job', id)
  return job
}

export interface JobFilter {
  readonly limit: number
  readonly after?: string | undefined
  readonly status?: JobStatus | undefined
  readonly kind?: JobKind | undefined
  /** Slug of a project of this server. */
  readonly project?: string | undefined
  /** Id of the schedule that has started them. */
  readonly schedule?: string | undefined
}

/** Jobs that the caller may know of, the newest first. */
export async function listJobs({ prisma }: Database, caller: Caller, filter: JobFilter): Promise<readonly Job[]> {
  const visible = await jobsVisibleTo(prisma, caller)
  return prisma.$queryRaw<Job[]>`SELECT ${JOB_COLUMNS} FROM control.job ${selected(visible, filter)}`
}

/**
 * Which revisions the same jobs have by now, for who wants to know whether anything has changed.
 *
 * @param visible which the caller may know of, as `jobsVisibleTo` says.
 */
export const listRevisions = (
  { prisma }: Database,
  visible: Prisma.Sql,
  filter: JobFilter,
): Promise<readonly Pick<Job, 'id' | 'revision'>[]> =>
  prisma.$queryRaw<Job[]>`SELECT job.id, job.revision FROM control.job ${selected(visible, filter)}`

/** Which jobs, in which order. */
function selected(visible: Prisma.Sql, { limit, status, kind, project, schedule, after }: JobFilter): Prisma.Sql {
  const conditions = [
    visible,
    ...(status ? [Prisma.sql`status = ${status}`] : []),
    ...(kind ? [Prisma.sql`kind = ${kind}`] : []),
    ...(project
      ? [
          Prisma.sql`project_ids @> ARRAY(SELECT id FROM control.project WHERE slug = ${project})
                    AND EXISTS (SELECT FROM control.project WHERE slug = ${project})`,
        ]
      : []),
    ...(schedule ? [Prisma.sql`schedule_id = ${schedule}::uuid`] : []),
    ...(after
      ? [Prisma.sql`(created_at, id) < (SELECT created_at, id FROM control.job WHERE id = ${after}::uuid)`]
      : []),
  ]
  return Prisma.sql`WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY created_at DESC, id DESC LIMIT ${limit}`
}

/**
 * Makes sure that the caller may have what a job made: by what is permitted today, not when it was asked for, and only
 * while the projects are still the ones that it was made from.
 *
 * @throws {AppError} NOT_FOUND, FORBIDDEN, as `assertPermission`; GONE where a project was deleted.
 */
export async function assertMayTakeResult({ prisma }: Database, caller: Caller, job: Job): Promise<void> {
  const request = parseRequest(job.kind, job.request)
  assertMayRun(caller, request)
  // An archive of whatever there was outlives what was there: for the root token, which may see all of it anyway.
  if (caller.kind === 'root' && request.kind === 'export' && request.request.patterns) return
  const slugs = [...new Set(projectsOf(request))]
  const found = await prisma.project.count({ where: { id: { in: [...job.projectIds] }, slug: { in: slugs } } })
  if (found !== slugs.length)
    throw gone('a project that the archive was made from has been deleted, and the archive with it')
}
