import type { PatternSelection } from '../../contract/export.ts'
import type { RunStatus } from '../../contract/schedule.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { matchesPattern } from '../../lib/wildcards.ts'
import { type Caller, findCaller } from '../../projects/access.ts'
import type { Project } from '../../projects/projects.ts'
import { mayExport } from '../matching-projects.ts'
import { PROVEN_AT } from '../proven-at.ts'
import { jobsVisibleTo } from '../read-jobs.ts'
import { NIGHTS, type Night, type NightRun, toNights } from './nights.ts'
import type { Schedule } from './schedule.ts'
import { listSchedules } from './schedules.ts'

/** An archive that is there, and whole. */
export interface ReadyArchive {
  readonly jobId: string
  readonly finishedAt: Date
  /** When it was restored, and what was restored was the same. */
  readonly provenAt: Date | null
}

/** How well a project is backed up, as far as the caller may know. */
export interface Protection {
  readonly schedules: readonly Schedule[]
  readonly lastArchive: ReadyArchive | undefined
  readonly lastProven: ReadyArchive | undefined
  readonly overdueSince: Date | undefined
  readonly nights: readonly Night[]
}

/** More than any service has. */
const MAX_SCHEDULES = 100_000

/** How well projects are backed up. @param coverings what the caller may know of. @returns by the project's id. */
export async function readProtection(
  { prisma }: Database,
  caller: Caller,
  projects: readonly Project[],
  coverings: readonly Covering[],
): Promise<ReadonlyMap<string, Protection>> {
  const covering = new Map(
    projects.map((project) => [
      project.id,
      coverings.filter(({ covers }) => covers(project)).map((each) => each.schedule),
    ]),
  )
  const ids = projects.map(({ id }) => id)
  const archives = await newestArchives(prisma, caller, ids)
  const runs = await readRuns(prisma, caller, {
    projectIds: ids,
    schedules: [...new Set([...covering.values()].flat())],
  })
  const now = new Date()
  return new Map(
    projects.map(({ id }) => {
      const schedules = covering.get(id) ?? []
      const own = archives.filter(({ projectId }) => projectId === id)
      const nights = schedules.flatMap(({ id: scheduleId, timezone }) =>
        (runs.get(scheduleId) ?? [])
          .filter(({ projectIds }) => projectIds === null || projectIds.includes(id))
          .map((run) => ({ run, timezone })),
      )
      const overdue = schedules.flatMap(({ overdueSince }) => overdueSince ?? [])
      return [
        id,
        {
          schedules,
          lastArchive: own.toSorted((a, b) => b.finishedAt.getTime() - a.finishedAt.getTime())[0],
          lastProven: own.find(({ provenAt }) => provenAt !== null),
          overdueSince: overdue.toSorted((a, b) => a.getTime() - b.getTime())[0],
          nights: toNights(nights, { now, timezone: schedules[0]?.timezone ?? 'UTC' }),
        },
      ]
    }),
  )
}

/** Whether the last archive that a schedule made of the project is older than its alarms allow. */
export const isOverdue = (project: Project, coverings: readonly Covering[]): boolean =>
  coverings.some(({ schedule, covers }) => schedule.overdueSince !== null && covers(project))

/** A schedule, and which projects it exports. */
export interface Covering {
  readonly schedule: Schedule
  readonly covers: (project: Project) => boolean
}

/** The schedules of exports that the caller may know of. */
export async function readCoverings({ prisma }: Database, caller: Caller): Promise<readonly Covering[]> {
  const coverings: Covering[] = []
  for (const schedule of await listSchedules(prisma, caller, { limit: MAX_SCHEDULES })) {
    if (schedule.asked.kind !== 'export') continue
    const { projects, patterns = [] } = schedule.asked.request
    const named = new Set(projects.map(({ slug }) => slug))
    // What patterns stand for depends on whose they are.
    const author = patterns.length > 0 ? await findCaller(prisma, schedule.createdBy) : undefined
    coverings.push({
      schedule,
      covers: (project) => named.has(project.slug) || (author !== undefined && matchesAny(author, project, patterns)),
    })
  }
  return coverings
}

const matchesAny = (author: Caller, project: Project, patterns: readonly PatternSelection[]): boolean =>
  patterns.some((each) => matchesPattern(each.pattern, project.slug) && mayExport(author, project, each))

/** Of each project, the newest archive that is proven, and the newest of those that are not. */
const newestArchives = async (
  control: Queryable,
  caller: Caller,
  projectIds: readonly string[],
): Promise<readonly (ReadyArchive & { readonly projectId: string })[]> => control.$queryRaw`
  WITH seen AS MATERIALIZED (
    SELECT id, project_ids, finished_at FROM control.job
     WHERE kind = 'export' AND status = 'succeeded' AND finished_at <= now() AND project_ids && ${[...projectIds]}::uuid[]
       AND ${await jobsVisibleTo(control, caller)})
  SELECT DISTINCT ON (project_id, proven_at IS NULL)
         project_id AS "projectId", seen.id AS "jobId", finished_at AS "finishedAt", proven_at AS "provenAt"
    FROM seen JOIN control.artifact ON artifact.job_id = seen.id
         CROSS JOIN LATERAL unnest(project_ids) AS project_id
   WHERE artifact.kind = 'output' AND state = 'ready' AND damaged_at IS NULL AND project_id = ANY (${[...projectIds]}::uuid[])
   ORDER BY project_id, proven_at IS NULL, finished_at DESC`

interface SeenRun extends NightRun {
  readonly scheduleId: string
  /** Those of the page that its job is about; null where that is not known. */
  readonly projectIds: readonly string[] | null
}

/** The runs of schedules in the last nights, by the schedule's id. */
async function readRuns(
  control: Queryable,
  caller: Caller,
  { projectIds, schedules }: { readonly projectIds: readonly string[]; readonly schedules: readonly Schedule[] },
): Promise<ReadonlyMap<string, readonly SeenRun[]>> {
  const rows = await control.$queryRaw<(Omit<SeenRun, 'status'> & { readonly status: RunStatus })[]>`
    WITH seen AS (SELECT id AS seen_id FROM control.job WHERE schedule_id IS NOT NULL AND ${await jobsVisibleTo(control, caller)})
    SELECT run.schedule_id AS "scheduleId", run.due_at AS "dueAt", seen_id AS "jobId",
           coalesce(run.outcome, job.status, 'removed') AS status,
           ${PROVEN_AT} IS NOT NULL AS "isProven",
           coalesce(artifact.state = 'ready' AND artifact.damaged_at IS NULL, FALSE) AS "hasArchive",
           CASE WHEN cardinality(job.project_ids) > 0
                THEN ARRAY(SELECT id FROM unnest(job.project_ids) AS id WHERE id = ANY (${[...projectIds]}::uuid[]))
           END AS "projectIds"
      FROM control.schedule_run AS run
      LEFT JOIN control.job ON job.id = run.job_id
      LEFT JOIN seen ON seen_id = run.job_id
      LEFT JOIN control.artifact ON artifact.job_id = job.id AND artifact.kind = 'output'
     WHERE run.schedule_id = ANY (${schedules.map(({ id }) => id)}::uuid[])
       AND run.due_at > now() - make_interval(days => ${NIGHTS + 1}::int)
     ORDER BY run.due_at`
  const runs = new Map<string, SeenRun[]>()
  for (const run of rows) runs.set(run.scheduleId, [...(runs.get(run.scheduleId) ?? []), run])
  return runs
}
