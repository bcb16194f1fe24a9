import { stat, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArtifactLocation } from '../artifacts/artifact-location.ts'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { createArtifactStore } from '../artifacts/create-artifact-store.ts'
import type { NamedBackup } from '../backup/backup-key.ts'
import { chooseBackup, findBefore, openBackup } from '../backup/read-backup.ts'
import type { Config } from '../config.ts'
import { type Container, createContainer } from '../container.ts'
import { makeDataFolder } from '../data-folder/make-data-folder.ts'
import { takeDataFolder } from '../data-folder/take-data-folder.ts'
import { startEmbeddedPostgres } from '../database/embedded/embedded-postgres.ts'
import { assertKnownMigration } from '../database/migrations.ts'
import { openSession } from '../database/session-client.ts'
import { AppError, databaseUnavailable, isAppError } from '../errors.ts'
import { unlessMissing } from '../lib/unless-missing.ts'
import { createLifecycle, type Lifecycle } from '../lifecycle.ts'
import type { Logger } from '../logger.ts'
import { demoMarker } from '../projects/demo-project.ts'
import { assertRecoverable } from './assert-recoverable.ts'
import { type BackedUpServer, readBackedUpServer } from './backed-up-server.ts'
import { bringBack, noteBegun } from './bring-back.ts'
import { endRecovery } from './end-recovery.ts'
import { makeProjects } from './make-projects.ts'
import { type RecoveredProject, type RecoveryProgress, recoverData } from './recover-data.ts'
import { withRecoveryLock } from './recovery-lock.ts'

export interface RecoveryOptions extends RecoveryProgress {
  readonly config: Config
  /** Where backups and archives are: the path of a folder, or `s3://bucket/prefix`. */
  readonly location: string
  readonly passphrase: string
  /** The name of a backup; undefined for the newest. */
  readonly backup: string | undefined
  /** Wharf's own. */
  readonly version: string
  readonly logger: Logger
}

export interface Recovery {
  readonly backup: NamedBackup
  /** Those whose data Wharf keeps. */
  readonly projects: readonly RecoveredProject[]
  /** Slugs of those whose data is in a database that is not Wharf's. */
  readonly attached: readonly string[]
  /** Names of schedules that were turned off, since data of their projects is missing. */
  readonly turnedOff: readonly string[]
}

/**
 * Brings an installation back in an empty database, from a backup of it and the archives beside that. It can be run again
 * where it was interrupted, and goes on.
 *
 * @throws {AppError} CONFIG_INVALID where the service would keep archives elsewhere; NOT_FOUND, WRONG_USE and
 *   BACKUP_INVALID, as `chooseBackup` and `openBackup`; CONFLICT where the database is not empty; DATABASE_UNSUITABLE.
 *   Nothing has changed then. As `recoverData` where it is to be run again.
 */
export async function recover(options: RecoveryOptions): Promise<Recovery> {
  const lifecycle = createLifecycle(options.logger)
  try {
    const store = await openStore(options)
    lifecycle.onClose('store', () => store.close())
    const backup = await chooseBackup(store, options.location, options.backup)
    options.say(`backup ${backup.key}`)
    const { server, installation } = await readServer(store, backup, options.passphrase)
    const url = await openDatabaseUrl(options, lifecycle)
    const examine = () => examineDatabase(url, { key: backup.key, installation, server }, options.logger)
    await examine()
    const { config, version, logger } = options
    const container = await createContainer({ config, databaseUrl: url, version, logger, lifecycle })
    return await withRecoveryLock(container.imports, async () => {
      if ((await examine()) === 'is empty') {
        await noteBegun(container, backup.key)
        options.say('projects, roles, tokens and schedules')
        await bringBack(container, backup.key, await openBackup(store, backup.key, options.passphrase))
      }
      if (config.databaseUrl === undefined) await writeFile(demoMarker(config.dataDir), '')
      return goOn(container, backup, options).catch((error: unknown) => {
        options.say('did not end: run it again, and it goes on where it is')
        throw error
      })
    })
  } finally {
    await lifecycle.close()
  }
}

async function goOn(container: Container, backup: NamedBackup, progress: RecoveryProgress): Promise<Recovery> {
  await makeProjects(container)
  const projects = await recoverData(container, progress)
  const incomplete = projects.filter(({ missing }) => missing.length > 0).map(({ slug }) => slug)
  const turnedOff = await endRecovery(container, incomplete)
  const attached = await container.control.prisma.project.findMany({
    where: { attachment: { isNot: null } },
    orderBy: { slug: 'asc' },
    select: { slug: true },
  })
  return { backup, projects, turnedOff, attached: attached.map(({ slug }) => slug) }
}

/** @throws {AppError} CONFIG_INVALID where archives of the service would be elsewhere; NOT_FOUND where there is no folder. */
async function openStore({ config, location }: RecoveryOptions): Promise<ArtifactStore> {
  const parsed = parseArtifactLocation(location)
  const configured = parseArtifactLocation(config.artifacts)
  const nameOf = (each: typeof parsed): string =>
    each.kind === 'folder' ? resolve(each.path) : `s3://${each.bucket}/${each.prefix}`
  if (nameOf(parsed) !== nameOf(configured)) {
    const faults = [
      { detail: `WHARF_ARTIFACTS must be ${nameOf(parsed)}, so that its archives can be used afterwards` },
    ]
    throw new AppError('CONFIG_INVALID', 'the configuration is not usable', { faults })
  }
  if (parsed.kind === 'folder' && !(await unlessMissing(stat(parsed.path)))) {
    throw new AppError('NOT_FOUND', `there is no folder ${parsed.path}`)
  }
  return createArtifactStore(location)
}

/** Reads a whole backup, so that nothing is changed where it is not intact. */
async function readServer(
  store: ArtifactStore,
  backup: NamedBackup,
  passphrase: string,
): Promise<{ readonly server: BackedUpServer; readonly installation: string }> {
  try {
    const { header, rows } = await openBackup(store, backup.key, passphrase)
    await assertKnownMigration(header.migration, `the backup was made by Wharf ${header.version}`)
    return { server: await readBackedUpServer(rows), installation: header.installation }
  } catch (error) {
    const before = isAppError(error, 'BACKUP_INVALID') ? await findBefore(store, backup) : undefined
    if (!isAppError(error) || !before) throw error
    throw new AppError(error.code, `${error.message}; the one before it is ${before.key} (--backup)`, { cause: error })
  }
}

async function openDatabaseUrl({ config, logger }: RecoveryOptions, lifecycle: Lifecycle): Promise<string> {
  const { databaseUrl, dataDir, stateDir } = config
  if (databaseUrl !== undefined) {
    await makeDataFolder(dataDir)
    return databaseUrl
  }
  const lock = await takeDataFolder({ dataDir, stateDir, takeUnknown: true, logger })
  lifecycle.onClose('data folder', () => lock.release())
  const postgres = await startEmbeddedPostgres({ dataDir, logger, onUnexpectedExit: () => undefined })
  lifecycle.onClose('embedded database', () => postgres.stop())
  return postgres.url
}

async function examineDatabase(
  url: string,
  backup: Parameters<typeof assertRecoverable>[1],
  logger: Logger,
): Promise<'is empty' | 'goes on'> {
  const session = { kind: 'wharf', applicationName: 'wharf recovery', logger } as const
  const client = await openSession(url, session).catch((error: unknown) => {
    throw databaseUnavailable('the database cannot be reached; wharf doctor says why', error)
  })
  try {
    return await assertRecoverable(client, backup)
  } finally {
    await client.end()
  }
}
