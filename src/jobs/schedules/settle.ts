import type { Keep } from '../../contract/schedule.ts'
import { readClock } from '../../database/clock.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import type { Logger } from '../../logger.ts'
import { PROVEN_AT } from '../proven-at.ts'
import { noteShrunk } from './alarms.ts'
import { type KeptArchive, selectSuperfluous } from './keep.ts'
import { toSchedule } from './schedule-record.ts'
import { lockSchedule } from './schedules.ts'

/** How many runs of a schedule are remembered, beside the last that succeeded and the last that was proven. */
const MAX_RUNS = 200

/**
 * Records how runs have ended, and lets go of archives that need not be kept any more: never before a newer run has
 * succeeded. Any number of processes may do so at once.
 *
 * @param now by the database's clock.
 */
export async function settleRuns(
  { control, logger }: { readonly control: Database; readonly logger: Logger },
  now: Date,
): Promise<void> {
  const schedules = await control.prisma.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT schedule_run.schedule_id AS id
      FROM control.schedule_run LEFT JOIN control.job ON job.id = job_id
     WHERE outcome IS NULL AND (job.id IS NULL OR status IN ('succeeded', 'failed', 'cancelled'))`
  for (const { id } of schedules) {
    await control.prisma.$transaction(async (tx) => {
      await lockSchedule(tx, id)
      const outcomes = await recordOutcomes(tx, id)
      if (outcomes.includes('succeeded')) {
        await noteShrunk(tx, id)
        await releaseArchives(tx, id, { now, logger })
      }
      await forgetRuns(tx, id)
    })
  }
}

async function recordOutcomes(tx: Transaction, scheduleId: string): Promise<readonly string[]> {
  const settled = await tx.$queryRaw<{ outcome: string }[]>`
    UPDATE control.schedule_run
       SET outcome = ended.outcome, finished_at = ended.finished_at, proven_at = ended.proven_at
      FROM (SELECT run.job_id, coalesce(job.status, 'removed') AS outcome,
                   coalesce(job.finished_at, now()) AS finished_at,
                   ${PROVEN_AT} AS proven_at
              FROM control.schedule_run AS run LEFT JOIN control.job ON job.id = run.job_id
             WHERE run.schedule_id = ${scheduleId}::uuid AND run.outcome IS NULL
               AND (job.id IS NULL OR job.status IN ('succeeded', 'failed', 'cancelled'))) AS ended
     WHERE schedule_run.job_id = ended.job_id RETURNING schedule_run.outcome`
  return settled.map(({ outcome }) => outcome)
}

async function releaseArchives(
  tx: Transaction,
  scheduleId: string,
  { now, logger }: { readonly now: Date; readonly logger: Logger },
): Promise<void> {
  const row = await tx.schedule.findUnique({ where: { id: scheduleId } })
  if (!row) return
  const superfluous = selectSuperfluous(await listArchives(tx, scheduleId), toSchedule(row).keep, now)
  const ids = superfluous.map(({ id }) => id)
  if (ids.length === 0) return
  await tx.artifact.updateMany({ where: { id: { in: ids } }, data: { state: 'deleted' } })
  await tx.job.updateMany({ where: { artifacts: { some: { id: { in: ids } } } }, data: { expiresAt: now } })
  logger.info({ scheduleId, artifacts: ids }, 'archives of a schedule were let go of')
}

/** An archive of a schedule. */
interface ScheduleArchive extends KeptArchive {
  readonly jobId: string
  readonly bytes: number
}

/**
 * What rules would let go of if they counted now, of the archives that there are; a schedule itself does so after a newer run
 * has succeeded.
 *
 * @returns the archives, the newest first.
 */
export async function previewKeeping(
  control: Queryable,
  scheduleId: string,
  keep: Keep,
): Promise<readonly (ScheduleArchive & { readonly isKept: boolean })[]> {
  const archives = await listArchives(control, scheduleId)
  const superfluous = new Set(selectSuperfluous(archives, keep, await readClock(control)))
  return archives
    .toSorted((a, b) => b.finishedAt.getTime() - a.finishedAt.getTime())
    .map((archive) => ({ ...archive, isKept: !superfluous.has(archive) }))
}

/** The archives of a schedule's runs that succeeded, as far as they are still there. */
const listArchives = (control: Queryable, scheduleId: string): Promise<ScheduleArchive[]> =>
  control.$queryRaw<ScheduleArchive[]>`
    SELECT artifact.id, job.id AS "jobId", coalesce(artifact.bytes, 0)::float8 AS bytes, job.finished_at AS "finishedAt", artifact.proven_at AS "provenAt",
           artifact.damaged_at IS NOT NULL AS "isDamaged"
      FROM control.artifact JOIN control.job ON job.id = artifact.job_id
     WHERE job.schedule_id = ${scheduleId}::uuid AND job.status = 'succeeded'
       AND artifact.kind = 'output' AND artifact.state = 'ready'`

const forgetRuns = (tx: Transaction, scheduleId: string): Promise<unknown> =>
  tx.$executeRaw`
    DELETE FROM control.schedule_run AS run
     WHERE schedule_id = ${scheduleId}::uuid AND outcome IS NOT NULL
       AND due_at < (SELECT due_at FROM control.schedule_run WHERE schedule_id = ${scheduleId}::uuid
                      ORDER BY due_at DESC OFFSET ${MAX_RUNS} LIMIT 1)
       AND due_at IS DISTINCT FROM (SELECT max(due_at) FROM control.schedule_run
                                     WHERE schedule_id = ${scheduleId}::uuid AND outcome = 'succeeded')
       AND due_at IS DISTINCT FROM (SELECT max(due_at) FROM control.schedule_run AS run
                                     WHERE schedule_id = ${scheduleId}::uuid AND ${PROVEN_AT} IS NOT NULL)`
