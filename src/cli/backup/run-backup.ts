import { createArtifactStore } from '../../artifacts/create-artifact-store.ts'
import { assertWhole } from '../../backup/installation.ts'
import { type BackupServices, beginBackup, writeBackup } from '../../backup/write-backup.ts'
import type { Config } from '../../config.ts'
import { findSecretKeys } from '../../data-folder/secrets.ts'
import { AppError } from '../../errors.ts'
import { assertOpensSecrets } from '../../jobs/check-secret-keys.ts'
import { createSeal } from '../../lib/seal.ts'
import { formatBytes, formatCounted } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { withControl } from '../with-control.ts'

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

/** Lends what a backup is made from. @throws {AppError} as `withControl` and `assertWhole`; CONFIG_INVALID without a key, or with another one. */
const withInstallation = <T>(
  config: Config,
  version: string,
  use: (services: BackupServices) => Promise<T>,
): Promise<T> =>
  withControl(config, 'wharf backup', async (control) => {
    await assertWhole(control.prisma)
    const keys = await findSecretKeys(config)
    // Before a backup is recorded.
    await assertOpensSecrets(control, keys)
    if (keys.current === undefined)
      throw unusable('WHARF_SECRET_KEY must be set, or the file secret-key be in the data folder')
    const artifacts = await createArtifactStore(config.artifacts)
    try {
      return await use({ control, artifacts, version, seal: createSeal(keys.current, keys.previous) })
    } finally {
      await artifacts.close()
    }
  })
