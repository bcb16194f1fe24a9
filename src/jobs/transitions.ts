import type { JobProgress } from '../contract/job.ts'
import type { Queryable, Transaction } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { withBegunAttempt, withEndedAttempt } from './attempt-log.ts'
import { isInDoubtSql } from './in-doubt.ts'
import type { Job, JobError } from './job.ts'
import { attemptLost } from './job-error.ts'
import { JOB_COLUMNS } from './job-record.ts'

/*
 * Every change of a job's status, each one statement whose WHERE says from where it is legal:
 *
 *   queued ──begin──▶ running ──succeed, fail, endCancelled──▶ (ended)
 *     │  ▲               │
 *     │  └─giveBack, waitForRoom, retryLater, reclaim
 *     └──requestCancel──▶ cancelled
 *
 * A running job belongs to its attempt: what another attempt does finds no row, and changes nothing.
 */

/** One go at a job. */
export interface Attempt {
  readonly id: string
  readonly attempt: number
}

/** The name of an attempt's database sessions, by which they are found and ended. */
export const sessionNameOf = ({ id, attempt }: Attempt): string => `wharf job ${id} ${attempt}`

const isRunning = ({ id, attempt }: Attempt): Prisma.Sql =>
  Prisma.sql`id = ${id}::uuid AND attempt = ${attempt} AND status = 'running'`

/** What is cleared with every end: a stolen table has no secrets of jobs that are over. */
const ENDING = Prisma.raw(`finished_at = now(), sealed_secrets = NULL, heartbeat_at = NULL, revision = revision + 1`)

const toJson = (value: unknown): string => JSON.stringify(value)

const first = async (rows: Promise<Job[]>): Promise<Job | undefined> => (await rows)[0]

/** What others are told of jobs that a change has ended. */
const ENDED = Prisma.sql`
  SELECT CASE WHEN error->>'code' = 'PROOF_FAILED' THEN 'proof.failed' ELSE 'job.' || status END, id FROM changed
   WHERE status IN ('succeeded', 'failed', 'cancelled') AND EXISTS (SELECT FROM control.webhook WHERE enabled)`

/** What is told of runs that have begun: only to pings that want it. */
const STARTED = Prisma.sql`
  SELECT 'job.started', id FROM changed
   WHERE attempt = 1 AND EXISTS (SELECT FROM control.webhook WHERE webhook.schedule_id = changed.schedule_id AND enabled
                                    AND 'job.started' = ANY (events))`

/**
 * Changes a job in a way of which others can be told. With the change comes the notification: both, or neither.
 *
 * @param update without its RETURNING.
 */
const change = (control: Queryable, update: Prisma.Sql, noted = ENDED): Promise<Job | undefined> =>
  first(control.$queryRaw<Job[]>`
    WITH changed AS (${update} RETURNING job.*),
         noted AS (INSERT INTO control.notification (type, job_id) ${noted})
    SELECT ${JOB_COLUMNS} FROM changed AS job`)

/** Takes a queued job for a new attempt; undefined where it is not queued, or not any more. */
export const begin = (control: Queryable, id: string): Promise<Job | undefined> =>
  change(
    control,
    Prisma.sql`
    UPDATE control.job
       SET status = 'running', attempt = attempt + 1, started_at = coalesce(started_at, now()), heartbeat_at = now(),
           progress = NULL, attempts = ${withBegunAttempt()}, revision = revision + 1
     WHERE id = ${id}::uuid AND status = 'queued'`,
    STARTED,
  )

/**
 * Says that the attempt is alive, and how far it is.
 *
 * @param progress null where that has not changed.
 * @returns `lost` where the attempt is not the job's any more, `cancelled` where somebody wants it to end.
 */
export async function beat(
  control: Queryable,
  attempt: Attempt,
  progress: JobProgress | null,
): Promise<'alive' | 'lost' | 'cancelled'> {
  const change =
    progress === null
      ? Prisma.sql`heartbeat_at = now()`
      : Prisma.sql`heartbeat_at = now(), progress = ${toJson(progress)}::jsonb, revision = revision + 1`
  const [row] = await control.$queryRaw<{ cancelled: boolean }[]>`
    UPDATE control.job SET ${change} WHERE ${isRunning(attempt)} RETURNING cancel_requested_at IS NOT NULL AS cancelled`
  if (!row) return 'lost'
  return row.cancelled ? 'cancelled' : 'alive'
}

/** Whether an attempt is still the job's; keeps it so until the transaction ends. */
export async function isStillRunning(tx: Transaction, attempt: Attempt): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`SELECT FROM control.job WHERE ${isRunning(attempt)} FOR SHARE`
  return rows.length === 1
}

/** Records which projects an attempt is about, where what was asked for left that open. */
export const specify = (
  control: Queryable,
  attempt: Attempt,
  { request, projectIds }: { readonly request: unknown; readonly projectIds: readonly string[] },
): Promise<Job | undefined> =>
  first(control.$queryRaw<Job[]>`
    UPDATE control.job
       SET request = ${toJson(request)}::jsonb, project_ids = ${[...projectIds]}::uuid[], revision = revision + 1
     WHERE ${isRunning(attempt)} RETURNING ${JOB_COLUMNS}`)

/**
 * Ends the job well, in the transaction that makes its result visible.
 *
 * @param outcome.expiresInDays when what it made goes; undefined where it made nothing that could.
 * @returns false where the attempt is not the job's any more, or somebody wants it to end: nothing may be committed.
 */
export async function succeed(
  tx: Transaction,
  attempt: Attempt,
  outcome: { readonly result: unknown; readonly progress: JobProgress; readonly expiresInDays?: number },
): Promise<boolean> {
  const days = outcome.expiresInDays ?? null
  const ended = await change(
    tx,
    Prisma.sql`
    UPDATE control.job
       SET status = 'succeeded', result = ${toJson(outcome.result)}::jsonb, progress = ${toJson(outcome.progress)}::jsonb,
           expires_at = now() + make_interval(days => ${days}::int), attempts = ${withEndedAttempt('succeeded')}, ${ENDING}
     WHERE ${isRunning(attempt)} AND cancel_requested_at IS NULL`,
  )
  return ended !== undefined
}

/**
 * Ends a job well whose result is visible already, since its transaction was in another database: also where somebody wants it
 * to end, which comes too late.
 */
export async function succeedLate(tx: Transaction, attempt: Attempt, result: unknown): Promise<boolean> {
  const ended = await change(
    tx,
    Prisma.sql`
      UPDATE control.job
         SET status = 'succeeded', result = ${toJson(result)}::jsonb, attempts = ${withEndedAttempt('succeeded')}, ${ENDING}
       WHERE ${isRunning(attempt)}`,
  )
  return ended !== undefined
}

/** Ends the job badly. */
export const fail = (control: Queryable, attempt: Attempt, error: JobError): Promise<Job | undefined> =>
  change(
    control,
    Prisma.sql`
    UPDATE control.job
       SET status = 'failed', error = ${toJson(error)}::jsonb, attempts = ${withEndedAttempt('failed', error)}, ${ENDING}
     WHERE ${isRunning(attempt)}`,
  )

/** Ends a running job that was asked to end; what it had begun has been undone by now. */
export const endCancelled = (control: Queryable, attempt: Attempt): Promise<Job | undefined> =>
  change(
    control,
    Prisma.sql`
    UPDATE control.job SET status = 'cancelled', attempts = ${withEndedAttempt('cancelled')}, ${ENDING}
     WHERE ${isRunning(attempt)} AND cancel_requested_at IS NOT NULL`,
  )

/** Queues a job again whose worker has to stop; that uses none of its attempts up. */
export const giveBack = (control: Queryable, attempt: Attempt): Promise<Job | undefined> =>
  queueAgain(control, attempt, {
    log: withEndedAttempt('stopped'),
    isFree: true,
    condition: Prisma.sql`TRUE`,
  })

/**
 * Queues a job again that found no room beside others, which uses none of its attempts up; undefined where it was first
 * begun longer ago than that.
 *
 * @param error what it found instead, for the log of its attempts.
 */
export const waitForRoom = (
  control: Queryable,
  attempt: Attempt,
  { forMs, error }: { readonly forMs: number; readonly error: JobError },
): Promise<Job | undefined> =>
  queueAgain(control, attempt, {
    log: withEndedAttempt('failed', error),
    isFree: true,
    condition: Prisma.sql`started_at > now() - make_interval(secs => ${forMs / 1000}::float8)`,
  })

/** Queues a job again that failed for a reason that may pass; undefined where it has no attempt left. */
export const retryLater = (control: Queryable, attempt: Attempt, error: JobError): Promise<Job | undefined> =>
  queueAgain(control, attempt, {
    log: withEndedAttempt('failed', error),
    isFree: false,
    condition: Prisma.sql`attempt < max_attempts`,
  })

const queueAgain = (
  control: Queryable,
  attempt: Attempt,
  again: { readonly log: Prisma.Sql; readonly isFree: boolean; readonly condition: Prisma.Sql },
): Promise<Job | undefined> =>
  first(control.$queryRaw<Job[]>`
    UPDATE control.job
       SET status = 'queued', max_attempts = max_attempts + ${again.isFree ? 1 : 0}, progress = NULL, heartbeat_at = NULL,
           attempts = ${again.log}, revision = revision + 1
     WHERE ${isRunning(attempt)} AND cancel_requested_at IS NULL AND ${again.condition} RETURNING ${JOB_COLUMNS}`)

/**
 * Asks a job to end: a queued one has, at once, but for one that may have done what it was to do. Undefined where there is
 * none that has not ended.
 */
export const requestCancel = (control: Queryable, id: string): Promise<Job | undefined> =>
  change(
    control,
    Prisma.sql`
    UPDATE control.job
       SET cancel_requested_at = coalesce(cancel_requested_at, now()),
           status = CASE WHEN ${ENDS_AT_ONCE} THEN 'cancelled' ELSE status END,
           finished_at = CASE WHEN ${ENDS_AT_ONCE} THEN now() END,
           sealed_secrets = CASE WHEN ${ENDS_AT_ONCE} THEN NULL ELSE sealed_secrets END,
           revision = revision + 1
     WHERE id = ${id}::uuid AND status IN ('queued', 'running')`,
  )

const ENDS_AT_ONCE = Prisma.sql`status = 'queued' AND NOT ${isInDoubtSql(Prisma.sql`job.id`)}`

const isSilent = (leaseMs: number): Prisma.Sql =>
  Prisma.sql`heartbeat_at < clock_timestamp() - make_interval(secs => ${leaseMs / 1000}::float8)`

/** Whether the attempt is still the job's, and its worker has not been heard of for so long. */
export const isStale = (attempt: Attempt, leaseMs: number): Prisma.Sql =>
  Prisma.sql`EXISTS (SELECT FROM control.job WHERE ${isRunning(attempt)} AND ${isSilent(leaseMs)})`

/** Running jobs whose worker has not been heard of for so long. */
export const findStale = (control: Queryable, leaseMs: number): Promise<Attempt[]> =>
  control.$queryRaw<Attempt[]>`
    SELECT id, attempt FROM control.job
     WHERE status = 'running' AND ${isSilent(leaseMs)}
     ORDER BY heartbeat_at LIMIT 100`

/** By kind: how many jobs wait and since when, and how many are as `findStale` finds them. */
export const countWaiting = (control: Queryable, leaseMs: number): Promise<WaitingJobs[]> =>
  control.$queryRaw<WaitingJobs[]>`
    SELECT kind,
           coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE status = 'queued')), 0)::float8
             AS "oldestWaitingSeconds",
           count(*) FILTER (WHERE status = 'running' AND ${isSilent(leaseMs)})::int AS stalled
      FROM control.job
     WHERE status IN ('queued', 'running')
     GROUP BY kind`

export interface WaitingJobs {
  readonly kind: string
  readonly oldestWaitingSeconds: number
  readonly stalled: number
}

/**
 * Takes a job from a worker that is gone, once its database sessions have been ended: queues it again, or ends it where
 * that was asked for or no attempt is left. One that may have done what it was to do has an attempt more, to find that out.
 */
export const reclaim = (
  control: Queryable,
  attempt: Attempt,
  { leaseMs, error }: { readonly leaseMs: number; readonly error: JobError },
): Promise<Job | undefined> =>
  change(
    control,
    Prisma.sql`
    UPDATE control.job
       SET status = next, max_attempts = CASE next WHEN 'queued' THEN greatest(max_attempts, attempt + 1) ELSE max_attempts END,
           error = CASE next WHEN 'failed' THEN ${toJson(error)}::jsonb END,
           attempts = ${withEndedAttempt('lost', attemptLost())}, progress = NULL, heartbeat_at = NULL, revision = revision + 1,
           finished_at = CASE next WHEN 'queued' THEN NULL ELSE now() END,
           sealed_secrets = CASE next WHEN 'queued' THEN sealed_secrets END
      FROM (SELECT id AS stale_id,
                   CASE WHEN ${isInDoubtSql(Prisma.sql`job.id`)} THEN 'queued'
                        WHEN cancel_requested_at IS NOT NULL THEN 'cancelled'
                        WHEN attempt < max_attempts THEN 'queued' ELSE 'failed' END AS next
              FROM control.job WHERE id = ${attempt.id}::uuid) AS stale
     WHERE ${isRunning(attempt)} AND stale_id = id AND ${isSilent(leaseMs)}`,
  )
