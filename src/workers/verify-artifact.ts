import { createHash } from 'node:crypto'
import type { ArchiveItem } from '../archive/archive-item.ts'
import { type ReadArchiveOptions, readArchive } from '../archive/read-archive.ts'
import type { FinishedArtifact } from '../artifacts/artifact-store.ts'
import type { Container } from '../container.ts'
import { copyText } from '../copy/copy-encoders.ts'
import { AppError, type ErrorCode, type Fault, isAppError } from '../errors.ts'
import type { Attempt } from '../jobs/transitions.ts'
import { type BorrowedBytes, copied } from '../lib/borrowed-bytes.ts'
import { tap } from '../lib/tap.ts'
import { ROOT } from '../projects/access.ts'
import { type FindRoles, readRoles } from '../projects/role-names.ts'
import { withExport } from '../transfer/export/with-export.ts'
import { importArchive } from '../transfer/import/import-archive.ts'
import { withScratchProjects } from './scratch-projects.ts'
import { type Contents, compareContents, readContents, withoutRestore, withoutUnknownRoles } from './verify-contents.ts'

/** An archive in the store, and what its writer said of it. */
export interface WrittenArtifact {
  readonly key: string
  readonly finished: FinishedArtifact
}

export interface VerifyingJob extends Attempt {
  /** What PostgreSQL has to call every session. */
  readonly sessionName: string
  readonly signal: AbortSignal
}

/** What an archive itself can be the reason for. */
const FAULTS_OF_THE_ARCHIVE: ReadonlySet<ErrorCode> = new Set(['ARCHIVE_INVALID', 'CONFLICT', 'NOT_FOUND'])

/**
 * Proves that an archive can be restored: reads it back from where it is kept, restores it into projects made for that,
 * exports them, and compares structure, rows and their sums, roles and events; of rights and policies, those for roles that this
 * server has. What the archive lacks is not looked for: that is for the caller to judge. Nothing is left of them, however it ends; where the
 * process dies, the job's next attempt or a sweep drops them.
 *
 * @throws {AppError} PROOF_FAILED where the archive is not what was written, can't be restored, or comes back as
 *   something else. What is not the archive's fault is thrown as it is.
 */
export async function verifyArtifact(
  container: Container,
  artifact: WrittenArtifact,
  job: VerifyingJob,
): Promise<void> {
  try {
    const faults = await restore(container, artifact, job)
    if (faults.length > 0) throw unproven('what was restored from it is not the same', faults)
  } catch (error) {
    job.signal.throwIfAborted()
    if (!isAppError(error) || !FAULTS_OF_THE_ARCHIVE.has(error.code) || error.retryAfterSeconds !== undefined)
      throw error
    throw unproven(error.message, error.faults, error)
  }
}

const unproven = (reason: string, faults: readonly Fault[], cause?: Error): AppError =>
  new AppError('PROOF_FAILED', `the archive was written, but is not proven, and so was not kept: ${reason}`, {
    faults,
    cause,
  })

/** @returns how what was restored differs. */
async function restore(container: Container, artifact: WrittenArtifact, job: VerifyingJob): Promise<readonly Fault[]> {
  const projects: ArchivedProject[] = []
  const items = readArchive(readStored(container, artifact), copyText, readOptions(container, job.signal))
  const original = await readContents(tap(items, (item) => addStages(projects, item)))
  const restored = await withScratchProjects(container, job, projects, (targets) =>
    restoreInto(container, artifact, { projects, targets, ...job }),
  )
  const findRoles: FindRoles = (names) => readRoles(container.control.prisma, names)
  return compareContents(await withoutUnknownRoles(original, findRoles), restored)
}

interface ArchivedProject {
  readonly system: boolean
  /** Whether its lines have the rights of its stages. */
  grants: boolean
  readonly stages: { readonly slug: string }[]
}

function addStages(projects: ArchivedProject[], item: ArchiveItem): void {
  if (item.kind === 'project') projects.push({ system: item.content.system, grants: false, stages: [] })
  const project = projects.at(-1)
  if (item.kind !== 'stage' || !project) return
  project.stages.push({ slug: item.content.slug })
  if (item.content.grants) project.grants = true
}

const readOptions = ({ config }: Container, signal: AbortSignal): ReadArchiveOptions => ({
  maxLineBytes: config.maxLineBytes,
  maxStructureLineBytes: config.maxStructureLineBytes,
  signal,
})

interface Restore extends VerifyingJob {
  readonly projects: readonly ArchivedProject[]
  /** Slugs of the projects that they are restored into. */
  readonly targets: readonly string[]
}

/** @returns what is in the projects that the archive was restored into. */
async function restoreInto(
  container: Container,
  artifact: WrittenArtifact,
  { projects, targets, sessionName, signal }: Restore,
): Promise<Contents> {
  // What the empty stages held before is not worth keeping.
  const services = { ...container, undoHours: 0 }
  await importArchive(services, (use) => use(readStored(container, artifact)), {
    targetsOf: () => targets,
    tokenId: null,
    authorise: async () => ROOT,
    signal,
    sessionName,
    allowIncomplete: true,
  })
  const selections = targets.map((slug, index) => ({
    slug,
    system: projects[index]?.system ?? false,
    grants: projects[index]?.grants ?? false,
    stages: projects[index]?.stages.map((stage) => stage.slug),
  }))
  const options = readOptions(container, signal)
  const read = (bytes: AsyncIterable<BorrowedBytes>): Promise<Contents> =>
    readContents(withoutRestore(readArchive(copied(bytes), copyText, options)))
  return withExport(container, selections, read, { sessionName, allowIncomplete: true })
}

/**
 * The bytes as the store has them. They are held against the sum that was made while they were written: not every byte
 * of a gzip file is checked by its own sums.
 */
async function* readStored(
  { artifacts }: Container,
  { key, finished }: WrittenArtifact,
): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash('sha256')
  yield* tap(artifacts.read(key), (chunk) => void hash.update(chunk))
  if (hash.digest('hex') === finished.sha256) return
  throw new AppError('ARCHIVE_INVALID', 'its bytes are not those that were written: the storage has changed them')
}
