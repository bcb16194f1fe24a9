import type { Queryable } from '../database/database.ts'
import { retryLevel } from '../database/sqlstate-meanings.ts'
import { AppError, isAppError } from '../errors.ts'
import { nextRun } from '../jobs/schedules/cron.ts'
import { type Repeating, repeat } from '../lib/repeat.ts'
import type { Logger } from '../logger.ts'
import { findLastBackup } from './installation.ts'
import { type BackupPlan, type BackupServices, beginBackup, type WrittenBackup, writeBackup } from './write-backup.ts'

/**
 * How long after a backup another may follow, since an archive was proven meanwhile, in milliseconds: a schedule that keeps one
 * archive removes the one that the last backup knows of.
 */
const INTERIM_MS = 60_000

/** How long after one began that failed, or whose process died, another is tried, in milliseconds. */
const RETRY_MS = 10 * 60_000

export interface BackupSchedule extends BackupPlan {
  /** By UTC. */
  readonly cron: string
}

/**
 * Writes backups when they are due, looking again and again. Any number of processes may do so: one of them writes each.
 *
 * @throws {AppError} as `assertBackupCron`.
 */
export function startBackups(
  services: BackupServices & { readonly logger: Logger; readonly jobTimings: { readonly scheduleMs: number } },
  schedule: BackupSchedule,
): Repeating {
  assertBackupCron(schedule.cron)
  const { logger, jobTimings } = services
  const look = async (): Promise<void> => {
    const written = await backUpIfDue(services, schedule)
    if (written) logger.info({ backup: written.key, bytes: written.bytes }, 'Wharf itself was backed up')
  }
  return repeat(jobTimings.scheduleMs, look, (error) =>
    logger[retryLevel(error, 'error')]({ err: error }, 'the backup of Wharf itself failed; it is tried again'),
  )
}

/** @throws {AppError} CONFIG_INVALID where the text is no cron expression. */
export function assertBackupCron(cron: string): void {
  try {
    nextRun({ cron, timezone: 'UTC' }, new Date())
  } catch (error) {
    if (!isAppError(error)) throw error
    const faults = [{ detail: `WHARF_BACKUP_CRON: ${error.message}; "off" writes none by itself` }]
    throw new AppError('CONFIG_INVALID', 'the configuration is not usable', { faults, cause: error })
  }
}

/**
 * Writes a backup if one is due, by its cron or since an archive was proven, and no other process writes it. What was missed
 * while nobody looked is made up for once; the first is due at once.
 */
export async function backUpIfDue(
  services: BackupServices,
  schedule: BackupSchedule,
): Promise<WrittenBackup | undefined> {
  const begun = await services.control.prisma.$transaction(async (tx) => {
    const [lock] = await tx.$queryRaw<{ now: Date }[]>`
      SELECT clock_timestamp() AS now FROM control.lock WHERE name = 'backup' FOR UPDATE SKIP LOCKED`
    const due = lock && (await whatIsDue(tx, schedule, lock.now))
    return due && beginBackup(tx, { interim: due === 'interim' })
  })
  return begun && writeBackup(services, begun, schedule)
}

async function whatIsDue(
  control: Queryable,
  { cron }: BackupSchedule,
  now: Date,
): Promise<'regular' | 'interim' | undefined> {
  const retryAfter = new Date(now.getTime() - RETRY_MS)
  if ((await control.backup.count({ where: { bytes: null, beganAt: { gt: retryAfter, lte: now } } })) > 0)
    return undefined
  const last = await findLastBackup(control, { until: now })
  const lastRegular = await findLastBackup(control, { interim: false, until: now })
  if (!last || !lastRegular || nextRun({ cron, timezone: 'UTC' }, lastRegular.beganAt) <= now) return 'regular'
  if (now.getTime() - last.beganAt.getTime() < INTERIM_MS) return undefined
  const proven = await control.artifact.count({ where: { state: 'ready', provenAt: { gt: last.beganAt } } })
  return proven > 0 ? 'interim' : undefined
}
