import type { Queryable } from '../database/database.ts'
import type { Logger } from '../logger.ts'

/** How what the storage has of an archive differs from what was written. */
export type Damage = 'another length' | 'another digest' | 'missing'

/**
 * Records that an archive is not what was written, by its key in the store. Nobody gets it any more, no schedule
 * counts it, and no run was proven by it; a later look that finds it whole takes that back.
 */
export async function recordDamage(
  control: Queryable,
  logger: Logger,
  { key, damage }: { readonly key: string; readonly damage: Damage },
): Promise<void> {
  const [marked] = await control.$queryRaw<{ jobId: string | null }[]>`
    WITH marked AS (
      UPDATE control.artifact SET damaged_at = coalesce(damaged_at, now()), check_began_at = NULL, checked_at = now()
       WHERE key = ${key} AND state = 'ready' RETURNING job_id),
    unproven AS (UPDATE control.schedule_run SET proven_at = NULL FROM marked WHERE schedule_run.job_id = marked.job_id),
    shown AS (UPDATE control.job SET revision = revision + 1 FROM marked WHERE job.id = marked.job_id)
    SELECT job_id AS "jobId" FROM marked`
  if (marked)
    logger.error({ jobId: marked.jobId, key, damage }, 'a kept archive is damaged: the storage changed or lost it')
}
