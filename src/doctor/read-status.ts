import { findLastBackup } from '../backup/installation.ts'
import type { Config } from '../config.ts'
import { findSecretKeys } from '../data-folder/secrets.ts'
import { readClock } from '../database/clock.ts'
import type { Database } from '../database/database.ts'
import { checkSecretKeys } from '../jobs/check-secret-keys.ts'
import { type RunSummary, summariseRuns } from '../jobs/schedules/runs.ts'
import { findProcesses, PATIENCE_SECONDS, type ServiceProcess } from '../processes/signs-of-life.ts'
import { findLackingLogins } from '../projects/restore-logins.ts'
import { checkRedis } from './check-redis.ts'

/** A schedule, and how its runs went. Times are ISO 8601. */
export interface ScheduleStatus {
  readonly id: string
  readonly name: string
  readonly enabled: boolean
  readonly nextRunAt: string | null
  /** How the last run ended, or goes on; null before the first. */
  readonly last: string | null
  readonly lastSuccessAt: string | null
  /** When an archive was last restored, and was the same. */
  readonly lastProvenAt: string | null
}

/** How an installation does. */
export interface Status {
  readonly version: string
  readonly database: {
    readonly version: string
    readonly name: string
    readonly bytes: number
    readonly projects: number
  }
  /** Those that have been heard of in the last minute. */
  readonly processes: readonly (Omit<ServiceProcess, 'startedAt'> & { readonly startedAt: string })[]
  /** `fault`: why the queue cannot be used; null where it can. */
  readonly queue: { readonly kind: 'redis' | 'postgresql'; readonly fault: string | null }
  /** `failed`: in the last 24 hours. */
  readonly jobs: {
    readonly waiting: number
    readonly oldestWaitingSeconds: number
    readonly running: number
    readonly failed: number
  }
  readonly schedules: readonly ScheduleStatus[]
  readonly storage: {
    readonly location: string
    readonly archives: number
    readonly bytes: number
    readonly damaged: number
  }
  readonly backup: { readonly enabled: boolean; readonly lastAt: string | null }
  /** What somebody should look at, in sentences. */
  readonly problems: readonly string[]
}

/** How long a job may wait before somebody should look, in seconds. */
const LONG_WAIT_SECONDS = 900

export async function readStatus(control: Database, config: Config, version: string): Promise<Status> {
  const now = await readClock(control.prisma)
  const status = {
    ...{
      version,
      database: await readDatabase(control),
      processes: await readProcesses(control),
      queue: await readQueue(config),
      jobs: await readJobs(control),
    },
    schedules: await readSchedules(control),
    storage: { location: config.artifacts, ...(await readStorage(control)) },
    backup: {
      enabled: config.backupKey !== undefined,
      lastAt: toTime((await findLastBackup(control.prisma, { until: now }))?.beganAt),
    },
  }
  return { ...status, problems: [...(await readFaults(control, config)), ...problemsOf(status)] }
}

/** What keeps the installation, or projects of it, from being used. */
async function readFaults(control: Database, config: Config): Promise<readonly string[]> {
  const { prisma } = control
  const { recoveredFrom } = await prisma.installation.findFirstOrThrow()
  // What it lacks is still to be made.
  if (recoveredFrom !== null)
    return [`a recovery has not ended: run "wharf recover" again, with --backup ${recoveredFrom}`]
  const slugs = (await findLackingLogins(prisma)).map(({ slug }) => slug)
  const { fault: ofKeys } = await checkSecretKeys(control, await findSecretKeys(config))
  return [
    ...(ofKeys === undefined ? [] : [`${ofKeys} (CONFIG_INVALID)`]),
    ...(slugs.length === 0 ? [] : [`projects cannot be used: ${slugs.join(', ')}; wharf doctor says what they lack`]),
  ]
}

async function readDatabase({ prisma }: Database): Promise<Status['database']> {
  const [row] = await prisma.$queryRaw<Status['database'][]>`
    SELECT current_setting('server_version') AS version, current_database() AS name,
           pg_database_size(current_database())::float8 AS bytes,
           (SELECT count(*)::int FROM control.project WHERE scratch_for IS NULL AND NOT unfinished) AS projects`
  if (!row) throw new Error('PostgreSQL does not know its own database')
  return row
}

async function readProcesses({ prisma }: Database): Promise<Status['processes']> {
  const processes = await findProcesses(prisma)
  return processes.map((each) => ({ ...each, startedAt: each.startedAt.toISOString() }))
}

async function readQueue(config: Config): Promise<Status['queue']> {
  const [redis] = await checkRedis(config)
  if (!redis) return { kind: 'postgresql', fault: null }
  return { kind: 'redis', fault: redis.status === 'ok' ? null : redis.detail }
}

async function readJobs({ prisma }: Database): Promise<Status['jobs']> {
  const [row] = await prisma.$queryRaw<Status['jobs'][]>`
    SELECT count(*) FILTER (WHERE status = 'queued')::int AS waiting,
           coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE status = 'queued')), 0)::float8
             AS "oldestWaitingSeconds",
           count(*) FILTER (WHERE status = 'running')::int AS running,
           count(*) FILTER (WHERE status = 'failed' AND finished_at > now() - interval '1 day')::int AS failed
      FROM control.job`
  if (!row) throw new Error('PostgreSQL counted no jobs')
  return row
}

async function readSchedules({ prisma }: Database): Promise<readonly ScheduleStatus[]> {
  const rows = await prisma.schedule.findMany({ orderBy: [{ name: 'asc' }, { id: 'asc' }] })
  const runs = await summariseRuns(
    prisma,
    rows.map(({ id }) => id),
  )
  return rows.map(({ id, name, enabled, nextRunAt }) => ({
    id,
    name,
    enabled,
    nextRunAt: toTime(nextRunAt),
    ...toRuns(runs.get(id)),
  }))
}

const toRuns = (runs: RunSummary | undefined): Pick<ScheduleStatus, 'last' | 'lastSuccessAt' | 'lastProvenAt'> => ({
  last: runs?.last?.status ?? null,
  lastSuccessAt: toTime(runs?.lastSuccess?.finishedAt),
  lastProvenAt: toTime(runs?.lastProven?.provenAt),
})

async function readStorage({ prisma }: Database): Promise<Omit<Status['storage'], 'location'>> {
  const where = { kind: 'output', state: 'ready' }
  const { _count: archives, _sum: sum } = await prisma.artifact.aggregate({
    where,
    _count: true,
    _sum: { bytes: true },
  })
  const damaged = await prisma.artifact.count({ where: { ...where, damagedAt: { not: null } } })
  return { archives, bytes: Number(sum.bytes ?? 0), damaged }
}

const toTime = (time: Date | null | undefined): string | null => time?.toISOString() ?? null

/** Not that none runs: one that gets no processor time, or does not reach the database, is not heard of either. */
const NO_WORKER =
  `no worker has been heard of for ${PATIENCE_SECONDS} seconds, so no job is done: start one (wharf start, or wharf worker), ` +
  'or see in its log what keeps it'

function problemsOf({
  processes,
  queue,
  jobs,
  schedules,
  storage,
  backup,
}: Omit<Status, 'problems'>): readonly string[] {
  const failing = schedules.filter(({ enabled, last }) => enabled && last === 'failed').map(({ name }) => `"${name}"`)
  const isWorking = processes.some(({ parts }) => parts.includes('worker'))
  return [
    ...(isWorking ? [] : [NO_WORKER]),
    ...(queue.fault === null ? [] : [`the queue cannot be used: ${queue.fault}`]),
    ...(jobs.oldestWaitingSeconds > LONG_WAIT_SECONDS
      ? [`a job has waited for ${Math.round(jobs.oldestWaitingSeconds / 60)} minutes: see that workers run`]
      : []),
    ...(failing.length > 0
      ? [
          `the last run${failing.length > 1 ? 's' : ''} of ${failing.join(', ')} failed: schedule:show and the console say why`,
        ]
      : []),
    ...(storage.damaged > 0 ? ['archives are damaged: check disk or bucket, and export again'] : []),
    ...(backup.enabled && backup.lastAt === null ? ['there is no backup of Wharf itself yet'] : []),
  ]
}
