import { createArtifactStore } from '../../artifacts/create-artifact-store.ts'
import { type BackupServices, beginBackup, writeBackup } from '../../backup/write-backup.ts'
import type { Config } from '../../config.ts'
import { findSecretKeys } from '../../data-folder/secrets.ts'
import { assertNotNewer, missingMigrations } from '../../database/migrations.ts'
import { openDatabase } from '../../database/open-database.ts'
import { openSession } from '../../database/session-client.ts'
import { AppError, databaseUnavailable } from '../../errors.ts'
import { createSeal } from '../../lib/seal.ts'
import { formatBytes, formatCounted } from '../../lib/units.ts'
import { createLogger } from '../../logger.ts'
import { findEmbeddedDatabase } from '../doctor/embedded-address.ts'
import type { CommandContext } from '../environment.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'

/** `backup`: writes a backup of Wharf itself now, beside the service or without it. */
export async function runBackup({ environment }: CommandContext, options: ResultOptions): Promise<number> {
  const config = await environment.loadServiceConfig()
  const passphrase = config.backupKey
  if (passphrase === undefined) throw unusable('WHARF_BACKUP_KEY must be set, which backups are encrypted with')
  const written = await withInstallation(config, environment.version, async (services) =>
    writeBackup(services, await beginBackup(services.control.prisma), { passphrase, keep: config.backupKeep }),
  )
  const { key, madeAt, bytes, removed } = written
  return printResult({ environment }, options, {
    json: { backup: key, store: config.artifacts, madeAt: madeAt.toISOString(), bytes, removed },
    text: () =>
      `backed up to ${config.artifacts}: ${key}, ${formatBytes(bytes)}` +
      (removed.length === 0 ? '' : `; ${formatCounted(removed.length, 'older one')} removed`),
  })
}

const unusable = (detail: string): AppError =>
  new AppError('CONFIG_INVALID', 'the configuration is not usable', { faults: [{ detail }] })

/** Lends what a backup is made from. @throws {AppError} DATABASE_UNAVAILABLE, DATABASE_UNSUITABLE; CONFIG_INVALID without keys. */
async function withInstallation<T>(
  config: Config,
  version: string,
  use: (services: BackupServices) => Promise<T>,
): Promise<T> {
  const logger = createLogger('silent')
  const url = config.databaseUrl ?? (await findEmbeddedDatabase(config.dataDir))
  if (url === undefined) {
    throw databaseUnavailable('the embedded PostgreSQL does not run: run this again while "wharf start" does')
  }
  await assertMigrated(url)
  const keys = await findSecretKeys(config)
  if (!keys) throw unusable('WHARF_SECRET_KEY must be set, or the file secret-key be in the data folder')
  const control = openDatabase(url, { maxConnections: 3, session: 'wharf' }, { logger })
  try {
    const artifacts = await createArtifactStore(config.artifacts)
    try {
      return await use({ control, artifacts, version, seal: createSeal(keys.current, keys.previous) })
    } finally {
      await artifacts.close()
    }
  } finally {
    await control.close()
  }
}

async function assertMigrated(url: string): Promise<void> {
  const session = { kind: 'wharf', applicationName: 'wharf backup', logger: createLogger('silent') } as const
  const client = await openSession(url, session).catch((error: unknown) => {
    throw databaseUnavailable('the database cannot be reached; wharf doctor says why', error)
  })
  try {
    await assertNotNewer(client)
    if ((await missingMigrations(client)).length === 0) return
    throw new AppError(
      'DATABASE_UNSUITABLE',
      'this version of Wharf was not started on this database yet: start it first',
    )
  } finally {
    await client.end()
  }
}
