import type { Database, Transaction } from '../../database/database.ts'
import { note } from '../../notifications/outbox.ts'
import { PROVEN_AT } from '../proven-at.ts'

/** How much later than it was due a run may begin before that is told, in milliseconds. */
const LATE_MS = 5 * 60_000

/** Tells that a schedule was due, and that nothing ran. */
export const noteSkipped = (tx: Transaction, scheduleId: string, dueAt: Date): Promise<unknown> =>
  note(tx, { type: 'schedule.missed', scheduleId, data: { run: { dueAt, reason: 'skipped' } } })

/** Tells that a run begins long after it was due, where it does: nothing was there to begin it. */
export async function noteLate(
  tx: Transaction,
  scheduleId: string,
  { dueAt, now }: { readonly dueAt: Date; readonly now: Date },
): Promise<void> {
  if (now.getTime() - dueAt.getTime() < LATE_MS) return
  await note(tx, { type: 'schedule.missed', scheduleId, data: { run: { dueAt, reason: 'late' } } })
}

/** Tells that the newest archive of a schedule has shrunk by more than a share of the one before it, where it has. */
export async function noteShrunk(tx: Transaction, scheduleId: string): Promise<void> {
  const schedule = await tx.schedule.findUnique({ where: { id: scheduleId }, select: { shrinkPercent: true } })
  if (!schedule?.shrinkPercent) return
  const [newest, before] = await tx.$queryRaw<{ jobId: string; bytes: number | null }[]>`
    SELECT job.id AS "jobId", (job.result->>'bytes')::float8 AS bytes
      FROM control.schedule_run JOIN control.job ON job.id = job_id
     WHERE schedule_run.schedule_id = ${scheduleId}::uuid AND outcome = 'succeeded' AND schedule_run.finished_at <= now()
     ORDER BY due_at DESC LIMIT 2`
  if (!newest?.bytes || !before?.bytes) return
  const percent = Math.floor(100 * (1 - newest.bytes / before.bytes))
  if (percent < schedule.shrinkPercent) return
  const archive = { jobId: newest.jobId, bytes: newest.bytes, bytesBefore: before.bytes, percent }
  await note(tx, { type: 'archive.shrunk', scheduleId, data: { archive } })
}

/**
 * Tells of schedules whose last archive is older than they allow: the last that was proven, where archives are to be. Each
 * is told once, and again only after it has had a newer one. Archives that are damaged do not count.
 */
export const noteOverdue = ({ prisma }: Database): Promise<void> =>
  prisma.$transaction(async (tx) => {
    const overdue = await tx.$queryRaw<{ id: string; lastAt: Date | null; maxAgeHours: number; since: Date | null }[]>`
      UPDATE control.schedule
         SET overdue_since = CASE WHEN is_overdue THEN now() END
        FROM (SELECT id AS aged_id, last_at,
                     enabled AND max_age_hours IS NOT NULL
                       AND coalesce(last_at, created_at) < now() - make_interval(hours => max_age_hours) AS is_overdue
                FROM control.schedule CROSS JOIN LATERAL (
                  SELECT max(at) AS last_at FROM (
                    SELECT at FROM control.schedule_run AS run
                           CROSS JOIN LATERAL (SELECT CASE WHEN verify THEN ${PROVEN_AT} ELSE finished_at END) AS made (at)
                     WHERE schedule_id = schedule.id AND outcome = 'succeeded' AND at <= now()
                       AND NOT EXISTS (SELECT FROM control.artifact
                                        WHERE artifact.job_id = run.job_id AND kind = 'output' AND damaged_at IS NOT NULL)
                     ORDER BY due_at DESC LIMIT 1) AS newest) AS runs
               WHERE max_age_hours IS NOT NULL OR overdue_since IS NOT NULL) AS aged
       WHERE aged_id = id AND (overdue_since IS NOT NULL) IS DISTINCT FROM is_overdue
      RETURNING id, last_at AS "lastAt", max_age_hours AS "maxAgeHours", overdue_since AS since`
    for (const { id, lastAt, maxAgeHours, since } of overdue) {
      if (since) await note(tx, { type: 'archive.overdue', scheduleId: id, data: { archive: { lastAt, maxAgeHours } } })
    }
  })
