import { Prisma } from '../database/generated/client.ts'

/**
 * When the archive of a run was proven, as SQL: of `run`, a row of control.schedule_run. Null where it was found to be damaged
 * since: what nobody can get back proves nothing.
 */
export const PROVEN_AT = Prisma.sql`
  (SELECT CASE WHEN count(artifact.damaged_at) = 0 THEN coalesce(run.proven_at, max(artifact.proven_at)) END
     FROM control.artifact WHERE artifact.job_id = run.job_id AND artifact.kind = 'output')`
