import type { Container } from '../container.ts'
import type { ImportedProject } from '../contract/import.ts'
import type { Transaction } from '../database/database.ts'
import type { Role } from '../database/generated/client.ts'
import { AppError, isAppError } from '../errors.ts'
import { ROOT } from '../projects/access.ts'
import { importReceived } from '../transfer/import/import-archive.ts'
import { NO_EARLY_LOADS } from '../transfer/import/load-early.ts'
import { type Archive, openArchive, receiveArchive } from '../transfer/import/receive-archive.ts'
import { readStored } from '../workers/restore-archive.ts'
import type { RecoveringProject } from './plan-archives.ts'
import { type ProvenArchive, writeOutcome } from './proven-archives.ts'

/**
 * Lends an archive of the store, received and checked as a whole.
 *
 * @throws {AppError} ARCHIVE_INVALID also where its bytes are not those that were written; NOT_FOUND where it is gone.
 */
export async function withReceived<T>(
  container: Container,
  { key, sha256 }: ProvenArchive,
  signal: AbortSignal,
  use: (archive: Archive) => Promise<T>,
): Promise<T> {
  const { maxLineBytes, maxStructureLineBytes, spoolReserveBytes } = container.config
  const archive = await openArchive(container.spoolFolder, spoolReserveBytes)
  try {
    const bytes = readStored(container, { key, finished: { bytes: 0, sha256 } })
    await receiveArchive(archive, bytes, { maxLineBytes, maxStructureLineBytes, signal, allowIncomplete: true })
    return await use(archive)
  } finally {
    await archive.file.remove()
  }
}

/**
 * Brings a project's data back from an archive, and records that in the same transaction. Its roles stay as they are: those
 * of the backup are newer.
 *
 * @throws {AppError} as an import.
 */
export async function importProject(
  container: Container,
  received: Archive,
  {
    archive,
    project,
    signal,
  }: {
    readonly archive: ProvenArchive
    readonly project: RecoveringProject
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { artifactId, jobId, madeAt } = archive
  const { id, slug, outcome } = project
  const coming = received.lists.projects.filter((each) => each.slug === slug)
  if (coming.length === 0) throw new AppError('NOT_FOUND', `the archive has no project "${slug}"`)
  let roles: readonly Role[] = []
  const record = (imported: readonly ImportedProject[]) => ({
    archives: [
      ...outcome.archives,
      {
        ...{ artifactId, jobId, madeAt: madeAt.toISOString() },
        stages: imported.flatMap(({ stages }) => stages.map((stage) => stage.slug)),
      },
    ],
  })
  await importReceived(
    // Nothing was there before that would be worth keeping.
    { ...container, undoHours: 0 },
    { archive: received, early: NO_EARLY_LOADS, projects: coming, slugs: [slug] },
    {
      ...{ tokenId: null, signal, sessionName: 'wharf recovery', allowIncomplete: true, targetsOf: () => [slug] },
      async authorise(tx) {
        roles = await tx.role.findMany({ where: { projectId: id } })
        return ROOT
      },
      async beforeCommit(tx, imported) {
        await putRoles(tx, id, roles)
        await writeOutcome(tx, id, record(imported))
      },
    },
  )
}

async function putRoles(tx: Transaction, projectId: string, roles: readonly Role[]): Promise<void> {
  await tx.role.deleteMany({ where: { projectId, id: { notIn: roles.map(({ id }) => id) } } })
  for (const role of roles) await tx.role.upsert({ where: { id: role.id }, create: role, update: role })
}

/** What can be put down to an archive, so that another one is tried. */
export const isFaultOfArchive = (error: unknown): error is AppError =>
  isAppError(error) &&
  ['ARCHIVE_INVALID', 'CONFLICT', 'NOT_FOUND', 'INVALID_REQUEST', 'SQL_REJECTED'].includes(error.code)
