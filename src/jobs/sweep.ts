import { setTimeout as delay } from 'node:timers/promises'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { JOB_KINDS } from '../contract/job.ts'
import { withClient } from '../database/clients.ts'
import type { Database } from '../database/database.ts'
import { freeNotificationQueue } from '../database/notification-queue.ts'
import type { Room } from '../database/room.ts'
import { retryLevel } from '../database/sqlstate-meanings.ts'
import type { Seal } from '../lib/seal.ts'
import type { Logger } from '../logger.ts'
import { removeNotifications } from '../notifications/deliveries.ts'
import type { OwnDatabases } from '../projects/own-database/own-databases.ts'
import { sweepOwnProjects } from '../projects/own-database/own-project.ts'
import { reopenLogins } from '../projects/project-login.ts'
import type { FindProjectDatabase } from '../projects/stage-database.ts'
import { endStaleSessions } from './end-sessions.ts'
import type { EndedJobs } from './ended-jobs.ts'
import { toJobError, workerLost } from './job-error.ts'
import type { JobQueue } from './queue.ts'
import { noteOverdue } from './schedules/alarms.ts'
import { removeArtifacts } from './sweep-artifacts.ts'
import { findStale, reclaim } from './transitions.ts'

/** How long the record of a job is kept after its end, beyond what it made. */
const RECORD_DAYS = 30

/** How many queued jobs workers are notified of at a time; the others have their turn when these are done. */
const MAX_NOTIFIED = 1_000

export interface SweepOptions {
  /** How long a worker may be silent before it is taken for dead. */
  readonly leaseMs: number
  /** Between two signs of life of a worker. */
  readonly heartbeatMs: number
}

export interface SweepServices {
  readonly control: Database
  readonly queue: JobQueue
  readonly endedJobs: EndedJobs
  readonly artifacts: ArtifactStore
  readonly room: Room
  readonly seal: Seal
  readonly ownDatabases: OwnDatabases
  readonly projectDatabase: FindProjectDatabase
  readonly logger: Logger
}

/**
 * Puts right what crashes leave behind, in one process at a time: jobs of workers that died, jobs that the queue knows
 * nothing of, files and records that have had their time. Each part is tried though another fails.
 */
export async function sweepJobs(services: SweepServices, options: SweepOptions): Promise<void> {
  const { control, logger } = services
  await alone(control, options, async () => {
    const parts: readonly [string, () => Promise<unknown>][] = [
      ['jobs of lost workers', () => reclaimStale(services, options)],
      ['queued jobs', () => notifyOfQueued(services)],
      ['files', () => removeArtifacts(services)],
      ['old records', () => removeRecords(control)],
      ['schedules without a new archive', () => noteOverdue(control)],
      ['old notifications', () => removeNotifications(control.prisma)],
      ['limits of connections', () => services.room.share()],
      ['the queue of notifications', () => keepNotifying(services)],
      ['deletions that stopped halfway', () => undoDeletions(services)],
      ['databases of projects that stopped halfway', () => finishOwnProjects(services)],
    ]
    for (const [part, sweep] of parts) {
      try {
        await sweep()
      } catch (error) {
        logger[retryLevel(error)]({ err: error, part }, 'sweeping failed; it is tried again later')
      }
    }
  })
}

/**
 * Runs `use` unless another process does. Two at a time would do no harm, so the lock is given free rather than waited
 * for: PostgreSQL ends the session of a process that was stopped with it, or that takes very long.
 */
const alone = ({ pool }: Database, { leaseMs }: SweepOptions, use: () => Promise<void>): Promise<void> =>
  withClient(pool, async (client) => {
    await client.query('BEGIN')
    await client.query(`SET LOCAL idle_in_transaction_session_timeout = ${Math.round(leaseMs)}`)
    const { rowCount } = await client.query(`SELECT FROM control.lock WHERE name = 'sweep' FOR UPDATE SKIP LOCKED`)
    if (rowCount === 1) await use()
    await client.query('COMMIT')
  })

/**
 * The sessions first: a worker that was stopped in the middle of its commit holds on to the job's own row.
 *
 * A worker has to be silent still after the time in which it would have been heard of: where PostgreSQL itself stood
 * still, every worker seems to have been silent, until it can say something again.
 */
async function reclaimStale(
  { control, endedJobs, logger }: SweepServices,
  { leaseMs, heartbeatMs }: SweepOptions,
): Promise<void> {
  if ((await findStale(control.prisma, leaseMs)).length === 0) return
  await delay(2 * heartbeatMs)
  for (const stale of await findStale(control.prisma, leaseMs)) {
    const sessions = await endStaleSessions(control.prisma, stale, leaseMs)
    const job = await reclaim(control.prisma, stale, { leaseMs, error: toJobError(workerLost()) })
    if (!job) continue
    endedJobs.count(job)
    logger.warn({ jobId: job.id, attempt: stale.attempt, status: job.status, sessions }, 'a worker was lost')
  }
}

/** Ids that the queue knows already are no trouble to it. */
async function notifyOfQueued({ control, queue }: SweepServices): Promise<void> {
  const queued = await control.prisma.job.findMany({
    where: { status: 'queued' },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: MAX_NOTIFIED,
    select: { id: true, kind: true },
  })
  for (const kind of JOB_KINDS) {
    const ids = queued.filter((job) => job.kind === kind).map(({ id }) => id)
    if (ids.length > 0) await queue.notify(kind, ids)
  }
}

async function keepNotifying({ control, logger }: SweepServices): Promise<void> {
  for (const session of await freeNotificationQueue(control.prisma)) {
    logger.warn(session, "the server's queue of notifications is filling: a session of a project's login was ended")
  }
}

/** A process that died while it deleted a project has left all of it, but closed its login. */
async function undoDeletions({ control, logger }: SweepServices): Promise<void> {
  const logins = await reopenLogins(control.prisma)
  if (logins.length > 0) logger.warn({ logins }, 'a deletion was not finished: its project is whole, and can be used')
}

async function finishOwnProjects(services: SweepServices): Promise<void> {
  const slugs = await sweepOwnProjects(services)
  if (slugs.length > 0) services.logger.warn({ slugs }, 'projects that were being made, or deleted, were dropped')
}

/**
 * A file that a schedule keeps has no end of its own, and a file without its job would be taken for one nobody wants.
 */
async function removeRecords({ prisma }: Database): Promise<void> {
  await prisma.$executeRaw`
    DELETE FROM control.job
     WHERE finished_at < now() - make_interval(days => ${RECORD_DAYS}::int)
       AND coalesce(expires_at, finished_at) < now() - interval '1 day'
       AND NOT EXISTS (SELECT FROM control.artifact WHERE job_id = job.id AND state = 'ready')`
}
