import type { Queryable } from '../../database/database.ts'
import { Prisma } from '../../database/generated/client.ts'
import { PROVEN_AT } from '../proven-at.ts'
import type { ScheduleRun } from './schedule.ts'

/** What is said of a schedule's runs wherever it is shown. */
export interface RunSummary {
  readonly last: ScheduleRun | undefined
  readonly lastSuccess: ScheduleRun | undefined
  /** The last whose archive was restored, and what was restored was the same. */
  readonly lastProven: ScheduleRun | undefined
}

/** The runs of schedules as they are by now: what has not been settled yet is read from the job itself. */
const RUNS = Prisma.sql`
  SELECT run.schedule_id AS "scheduleId", run.due_at AS "dueAt", run.by_hand AS "byHand", run.job_id AS "jobId",
         coalesce(run.outcome, job.status, 'removed') AS status,
         CASE WHEN job.error IS NOT NULL
              THEN jsonb_build_object('code', job.error->'code', 'detail', job.error->'detail',
                                      'errors', jsonb_path_query_array(job.error, '$.faults[0 to 19]')) END AS error,
         coalesce(run.finished_at, job.finished_at) AS "finishedAt",
         ${PROVEN_AT} AS "provenAt",
         (SELECT max(artifact.damaged_at) FROM control.artifact WHERE artifact.job_id = run.job_id AND artifact.kind = 'output')
           AS "archiveDamagedAt",
         CASE jsonb_typeof(job.result->'notExported')
              WHEN 'array' THEN jsonb_array_length(job.result->'notExported') END AS "notExported",
         CASE jsonb_typeof(job.result->'lacksRows')
              WHEN 'boolean' THEN (job.result->'lacksRows')::boolean END AS "lacksRows",
         CASE jsonb_typeof(job.result->'matched') WHEN 'object' THEN job.result->'matched' END AS matched
    FROM control.schedule_run AS run LEFT JOIN control.job ON job.id = run.job_id`

/** The newest runs of a schedule, the newest first. */
export const listRuns = (control: Queryable, scheduleId: string, limit: number): Promise<ScheduleRun[]> =>
  control.$queryRaw<ScheduleRun[]>`
    SELECT * FROM (${RUNS}) AS run WHERE "scheduleId" = ${scheduleId}::uuid ORDER BY "dueAt" DESC LIMIT ${limit}`

/**
 * What counts are runs that have not ended, and those that ended by now: one that ended while the clock was ahead says
 * nothing of when, and would pass for the newest until then.
 *
 * @returns for each of the schedules, by id.
 */
export async function summariseRuns(
  control: Queryable,
  scheduleIds: readonly string[],
): Promise<ReadonlyMap<string, RunSummary>> {
  // Backwards from the newest: most runs succeed, and a year has many.
  const newest = async (condition: Prisma.Sql): Promise<ReadonlyMap<string, ScheduleRun>> => {
    const rows = await control.$queryRaw<ScheduleRun[]>`
      SELECT newest.* FROM unnest(${[...scheduleIds]}::uuid[]) AS schedule_id CROSS JOIN LATERAL
        (SELECT * FROM (${RUNS}) AS run
          WHERE "scheduleId" = schedule_id AND ${condition} ORDER BY "dueAt" DESC LIMIT 1) AS newest`
    return new Map(rows.map((run) => [run.scheduleId, run]))
  }
  const last = await newest(Prisma.sql`("finishedAt" IS NULL OR "finishedAt" <= now())`)
  const lastSuccess = await newest(Prisma.sql`status = 'succeeded' AND "finishedAt" <= now()`)
  const lastProven = await newest(Prisma.sql`"provenAt" <= now()`)
  return new Map(
    scheduleIds.map((id) => [
      id,
      { last: last.get(id), lastSuccess: lastSuccess.get(id), lastProven: lastProven.get(id) },
    ]),
  )
}
