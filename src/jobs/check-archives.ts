import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import type { Database } from '../database/database.ts'
import { retryLevel } from '../database/sqlstate-meanings.ts'
import { isAppError } from '../errors.ts'
import { type Repeating, repeat } from '../lib/repeat.ts'
import type { Logger } from '../logger.ts'
import { recordDamage } from './damaged-archives.ts'

/** How fast archives are read, in bytes a second: others use the same disk, and the same network. */
const BYTES_PER_SECOND = 16 * 1024 * 1024

/** After which a look that was begun counts as given up: its process may have died. */
const CLAIM_HOURS = 24

export interface CheckServices {
  readonly control: Database
  readonly artifacts: ArtifactStore
  readonly logger: Logger
}

export interface CheckOptions {
  /** After how many days an archive is read again. */
  readonly everyDays: number
  readonly signal: AbortSignal
  readonly bytesPerSecond?: number
}

interface Claimed {
  readonly key: string
  readonly bytes: number
  readonly sha256: Uint8Array
}

/**
 * Reads every kept archive that has not been read for a while, one after the other, and flags those whose bytes are not
 * those that were written; one that is whole again loses its flag. Each is read by one process at a time. One that
 * cannot be read keeps no other from it, and has its next turn once its claim is old.
 *
 * @returns how many it has looked at.
 */
export async function checkArchives(services: CheckServices, options: CheckOptions): Promise<number> {
  let checked = 0
  const failures: Failure[] = []
  while (!options.signal.aborted) {
    const archive = await claimDue(services.control, options.everyDays)
    if (!archive) break
    const failure = await checkArchive(services, archive, options)
    if (failure) failures.push(failure)
    checked += 1
  }
  report(services.logger, failures)
  return checked
}

interface Failure {
  readonly key: string
  readonly error: unknown
}

/** Once for all: a store that is out of reach fails for each archive alike. */
function report(logger: Logger, failures: readonly Failure[]): void {
  const [first] = failures
  if (!first) return
  const keys = failures.slice(0, MAX_NAMED).map(({ key }) => key)
  logger.warn(
    { err: first.error, archives: failures.length, keys },
    `kept archives could not be read; each is tried again after ${CLAIM_HOURS} hours`,
  )
}

/** How many archives one entry of the log names. */
const MAX_NAMED = 20

/** By the database's clock, like all that is due. */
async function claimDue({ prisma }: Database, everyDays: number): Promise<Claimed | undefined> {
  const [row] = await prisma.$queryRaw<{ key: string; bytes: bigint; sha256: Uint8Array }[]>`
    UPDATE control.artifact SET check_began_at = clock_timestamp()
     WHERE id = (SELECT id FROM control.artifact
                  WHERE state = 'ready' AND kind = 'output'
                    AND coalesce(checked_at, created_at) < now() - make_interval(days => ${everyDays}::int)
                    AND (check_began_at IS NULL OR check_began_at < now() - make_interval(hours => ${CLAIM_HOURS}::int))
                  ORDER BY coalesce(checked_at, created_at) LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING key, bytes, sha256`
  return row && { ...row, bytes: Number(row.bytes) }
}

/** @returns what kept it from being read. @throws what keeps the outcome from being recorded, or the signal's reason. */
async function checkArchive(
  services: CheckServices,
  archive: Claimed,
  options: CheckOptions,
): Promise<Failure | undefined> {
  const { control, artifacts, logger } = services
  const { key, bytes, sha256 } = archive
  try {
    const { length, digest } = await readWhole(artifacts, key, options)
    if (length !== bytes) await recordDamage(control.prisma, logger, { key, damage: 'another length' })
    else if (!digest.equals(sha256)) await recordDamage(control.prisma, logger, { key, damage: 'another digest' })
    else await recordWhole(control, logger, key)
    return undefined
  } catch (error) {
    if (options.signal.aborted) {
      await control.prisma.$executeRaw`UPDATE control.artifact SET check_began_at = NULL WHERE key = ${key}`
      throw error
    }
    if (!isAppError(error, 'NOT_FOUND')) return { key, error }
    return recordMissing(services, key)
  }
}

async function readWhole(
  artifacts: ArtifactStore,
  key: string,
  { signal, bytesPerSecond = BYTES_PER_SECOND }: CheckOptions,
): Promise<{ readonly length: number; readonly digest: Buffer }> {
  const hash = createHash('sha256')
  let length = 0
  const startedAt = performance.now()
  for await (const chunk of artifacts.read(key)) {
    hash.update(chunk)
    length += chunk.length
    const aheadMs = (length / bytesPerSecond) * 1000 - (performance.now() - startedAt)
    await delay(Math.max(0, aheadMs), undefined, { signal })
  }
  return { length, digest: hash.digest() }
}

/**
 * Flags an archive that is not in the storage, where that still has another one: a folder that isn't mounted, or another
 * bucket, says nothing about its archives. One that was removed in order meanwhile is not missing.
 */
async function recordMissing({ control, artifacts, logger }: CheckServices, key: string): Promise<Failure | undefined> {
  try {
    const hasOthers = await holdsAnother(control, artifacts, key)
    if ((await artifacts.size(key)) !== undefined) return undefined
    const [kept] = await control.prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM control.artifact WHERE key = ${key} AND state = 'ready'`
    if (!kept) return undefined
    if (hasOthers) await recordDamage(control.prisma, logger, { key, damage: 'missing' })
    else logger.error({ key }, 'a kept archive is missing in the storage, and so are all others that were looked for')
    return undefined
  } catch (error) {
    return { key, error }
  }
}

/** How many others are looked for. */
const OTHERS = 5

async function holdsAnother({ prisma }: Database, artifacts: ArtifactStore, key: string): Promise<boolean> {
  const others = await prisma.$queryRaw<{ key: string }[]>`
    SELECT key FROM control.artifact WHERE state = 'ready' AND key <> ${key} AND damaged_at IS NULL
     ORDER BY checked_at DESC NULLS LAST, created_at DESC LIMIT ${OTHERS}`
  for (const other of others) if ((await artifacts.size(other.key)) !== undefined) return true
  return false
}

async function recordWhole({ prisma }: Database, logger: Logger, key: string): Promise<void> {
  const [before] = await prisma.$queryRaw<{ wasDamaged: boolean }[]>`
    WITH before AS (SELECT id, job_id, damaged_at, proven_at FROM control.artifact WHERE key = ${key} FOR UPDATE),
         proven AS (UPDATE control.schedule_run SET proven_at = before.proven_at FROM before
                     WHERE schedule_run.job_id = before.job_id AND damaged_at IS NOT NULL)
    UPDATE control.artifact SET checked_at = now(), check_began_at = NULL, damaged_at = NULL
      FROM before WHERE artifact.id = before.id
    RETURNING before.damaged_at IS NOT NULL AS "wasDamaged"`
  if (before?.wasDamaged) logger.warn({ key }, 'an archive that was taken for damaged is whole')
}

/** Between two looks at what is due. */
const TICK_MS = 60_000

/**
 * Checks archives again and again.
 *
 * @param everyDays 0 never does.
 */
export function startChecking(services: CheckServices, everyDays: number): Repeating {
  if (everyDays === 0) return { stop: async () => undefined }
  return repeat(
    TICK_MS,
    async (signal) => {
      await checkArchives(services, { everyDays, signal })
    },
    (error) =>
      services.logger[retryLevel(error)]({ err: error }, 'archives could not be checked; it is tried again later'),
  )
}
