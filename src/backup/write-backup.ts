import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { compressBlocks } from '../compression/compress-blocks.ts'
import { readClock } from '../database/clock.ts'
import type { Database, Queryable } from '../database/database.ts'
import { copied } from '../lib/borrowed-bytes.ts'
import type { Seal } from '../lib/seal.ts'
import { BACKUP_PREFIX, backupKey, backupsAmong } from './backup-key.ts'
import { readInstallation } from './installation.ts'
import { withControlLines } from './read-control.ts'
import { sealStream } from './sealed-stream.ts'

export interface BackupServices {
  readonly control: Database
  readonly seal: Seal
  readonly artifacts: ArtifactStore
  /** Wharf's own. */
  readonly version: string
}

/** What backups are sealed with, and how many of them stay. */
export interface BackupPlan {
  readonly passphrase: string
  readonly keep: number
}

/** A backup that was written. */
export interface WrittenBackup {
  /** Its name in the store. */
  readonly key: string
  readonly madeAt: Date
  readonly bytes: number
  /** The names of older ones that were removed. */
  readonly removed: readonly string[]
}

/** A backup that is recorded, and still to be written. */
export interface BegunBackup {
  readonly id: string
  readonly key: string
  readonly madeAt: Date
  readonly installation: string
}

/** Records that a backup is being written from now on. @param interim whether it stays only until the next one. */
export async function beginBackup(control: Queryable, { interim = false } = {}): Promise<BegunBackup> {
  const installation = await readInstallation(control)
  const madeAt = await readClock(control)
  const key = backupKey(madeAt, installation)
  const { id } = await control.backup.create({ data: { key, beganAt: madeAt, interim } })
  return { id, key, madeAt, installation }
}

/**
 * Writes a backup of the installation to the artifact store, as of one moment, and removes the oldest ones of the same
 * installation that are too many, and those that were to stay until now.
 *
 * @throws {AppError} STORAGE_FULL, STORAGE_UNAVAILABLE. The store has nothing of it then.
 */
export async function writeBackup(
  services: BackupServices,
  begun: BegunBackup,
  { passphrase, keep }: BackupPlan,
): Promise<WrittenBackup> {
  const { key, madeAt } = begun
  const bytes = await write(services, begun, passphrase)
  await services.control.prisma.backup.update({ where: { id: begun.id }, data: { bytes } })
  return { key, madeAt, bytes, removed: await removeOld(services, begun, keep) }
}

async function write(
  { control, seal, artifacts, version }: BackupServices,
  { key, madeAt, installation }: BegunBackup,
  passphrase: string,
): Promise<number> {
  const writer = await artifacts.create(key)
  try {
    const header = { version, madeAt: madeAt.toISOString(), installation }
    await withControlLines(control, { seal, header }, async (lines) => {
      for await (const chunk of sealStream(copied(compressBlocks(lines, { concurrency: 1 })), passphrase))
        await writer.write(chunk)
    })
    return (await writer.commit()).bytes
  } finally {
    await writer.discard()
  }
}

/**
 * Never removes what was just written: where the clock was ahead once, it is not the newest.
 *
 * @returns the names of those that it removed.
 */
async function removeOld(
  { control: { prisma }, artifacts }: BackupServices,
  { key: written, installation }: BegunBackup,
  keep: number,
): Promise<readonly string[]> {
  const own = backupsAmong(await artifacts.list(BACKUP_PREFIX)).filter((backup) => backup.installation === installation)
  const keys = own.map(({ key }) => key)
  const found = await prisma.backup.findMany({ where: { key: { in: keys }, interim: true } })
  const interim = new Set(found.map(({ key }) => key))
  const regular = keys.filter((key) => !interim.has(key))
  const old = [...keys.slice(1).filter((key) => interim.has(key)), ...regular.slice(keep)]
  const removed = old.filter((key) => key !== written)
  for (const key of removed) await artifacts.remove(key)
  await prisma.backup.deleteMany({ where: { key: { in: removed } } })
  // Those that failed, or that are in a store which is not used any more.
  await prisma.$executeRaw`
    DELETE FROM control.backup WHERE began_at < now() - interval '30 days'
       AND began_at < (SELECT max(began_at) FROM control.backup WHERE bytes IS NOT NULL)`
  return removed
}
