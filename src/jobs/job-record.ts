import { Prisma } from '../database/generated/client.ts'
import { PROVEN_AT } from './proven-at.ts'

/** The columns of a `Job`, for queries of `control.job`. What else a record holds is nobody's but the worker's. */
export const JOB_COLUMNS = Prisma.sql`
   job.id, job.kind, job.status, job.request, job.project_ids AS "projectIds", job.created_by AS "createdBy",
   job.schedule_id AS "scheduleId", job.revision, job.progress, job.result, job.error, job.attempt,
   job.max_attempts AS "maxAttempts", job.attempts, job.cancel_requested_at AS "cancelRequestedAt", job.created_at AS "createdAt",
   job.started_at AS "startedAt", job.finished_at AS "finishedAt", job.expires_at AS "expiresAt",
   (SELECT max(checked_at) FROM control.artifact WHERE job_id = job.id AND kind = 'output') AS "archiveCheckedAt",
   (SELECT max(damaged_at) FROM control.artifact WHERE job_id = job.id AND kind = 'output') AS "archiveDamagedAt",
   (SELECT ${PROVEN_AT} FROM control.schedule_run AS run WHERE run.job_id = job.id) AS "provenAt"`
