import type { ImportedProject } from '../../contract/import.ts'
import type { ArchiveProject } from './archive-lists.ts'
import { commitImport, readReferences } from './commit-import.ts'
import type { ArchiveSource, ImportOptions, ImportServices } from './import-options.ts'
import { type EarlyLoads, loadEarly } from './load-early.ts'
import { loadMissing } from './load-missing.ts'
import { withTargetsLocked } from './lock-targets.ts'
import { type Archive, openArchive, receiveArchive } from './receive-archive.ts'
import { makeExtensions } from './target-extensions.ts'
import { compareTargets } from './targets.ts'

/**
 * Imports an archive over what is there: all its projects and stages together, or nothing.
 *
 * Nobody who reads the stages notices before the end: rows are loaded into schemas beside the stages' own, by the
 * projects' own logins, and then all schemas change places in one short transaction of Wharf's. Whatever dies before
 * that leaves the old data in place; what it leaves beside is dropped by the next import of the stage, or by the sweep.
 *
 * @throws {AppError} ARCHIVE_INVALID at the first fault of the archive, and for a value that a column refuses; INCOMPLETE
 *   where rows are missing, and that is not allowed; NOT_FOUND for an unknown project; CONFLICT where another import runs, the archive's structure does not fit (every difference
 *   listed), or its rows break a constraint; STORAGE_FULL; what the options throw. Nothing has changed then.
 */
export async function importArchive(
  services: ImportServices,
  source: ArchiveSource,
  options: ImportOptions,
): Promise<readonly ImportedProject[]> {
  const { maxLineBytes, maxStructureLineBytes, spoolReserveBytes } = services.config
  const { targetsOf, admit, allowEdited = false, allowIncomplete, signal } = options
  const checks = { maxLineBytes, maxStructureLineBytes, allowEdited, allowIncomplete, admit, signal }
  const archive = await openArchive(services.spoolFolder, spoolReserveBytes)
  const early = loadEarly(services, archive, options)
  try {
    await source((bytes) => receiveArchive(archive, bytes, checks))
    const { projects } = archive.lists
    const slugs = targetsOf(projects)
    options.onReceived?.(projects)
    // To remove a large file takes a while, in which nobody needs to wait.
    const onLoaded = (): void => void archive.file.remove()
    return await importReceived(services, { archive, early, projects, slugs, onLoaded }, options)
  } finally {
    await early.end()
    await archive.file.remove()
  }
}

/** Projects of an archive that has arrived, and where they go. */
interface Received {
  readonly archive: Archive
  readonly early: EarlyLoads
  readonly projects: readonly ArchiveProject[]
  /** Of the projects that they go to, in their order. */
  readonly slugs: readonly string[]
  /** Called when nothing more is read of the archive. */
  readonly onLoaded?: () => void
}

/** Imports projects of an archive that has arrived: all together, or nothing. @throws {AppError} as `importArchive`. */
export const importReceived = (
  services: ImportServices,
  { archive, early, projects, slugs, onLoaded }: Received,
  options: ImportOptions,
): Promise<readonly ImportedProject[]> =>
  withTargetsLocked(services, { projects, slugs }, options, async (stageIds, signal) => {
    const { tokenId } = options
    const targets = await compareTargets(services, projects, slugs, { countRows: false, tokenId })
    await makeExtensions(
      services,
      targets.flatMap((target) => target.stages),
    )
    const before = await readReferences(services.system, stageIds)
    const loaded = await loadMissing(services, archive, { targets, early }, { ...options, signal })
    onLoaded?.()
    return commitImport(services, { targets, loaded, before }, options)
  })
