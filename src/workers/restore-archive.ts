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
import { type FindRoles, readExternalRoles, readRoles } from '../projects/role-names.ts'
import { withExport } from '../transfer/export/with-export.ts'
import { importArchive, importReceived } from '../transfer/import/import-archive.ts'
import { NO_EARLY_LOADS } from '../transfer/import/load-early.ts'
import { openArchive, receiveArchive } from '../transfer/import/receive-archive.ts'
import { type ArchivedStage, type OwnPlan, planOwn } from './own-scratch.ts'
import { withScratchProjects } from './scratch-projects.ts'
import {
  type Contents,
  compareContents,
  ofProject,
  readContents,
  withoutRestore,
  withoutUnknownRoles,
} from './verify-contents.ts'

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

export const isFaultOfArchive = (error: unknown): error is AppError =>
  isAppError(error) && FAULTS_OF_THE_ARCHIVE.has(error.code) && error.retryAfterSeconds === undefined

/**
 * Restores an archive into scratch projects, and exports them. Where it comes from a database of its own, so does a project
 * of it: bodies of functions may name schemas, which have other names in the shared database.
 *
 * @returns how what was restored differs.
 * @throws {AppError} as an import. `isFaultOfArchive` tells what can be put down to the archive.
 */
export async function restoreArchive(
  container: Container,
  artifact: WrittenArtifact,
  job: VerifyingJob,
): Promise<readonly Fault[]> {
  const projects: ArchivedProject[] = []
  const items = readArchive(readStored(container, artifact), copyText, readOptions(container, job.signal))
  const original = await readContents(tap(items, (item) => addItem(projects, item)))
  const plans = await planAll(container, projects)
  if (plans.some(({ own }) => own)) return restoreOneByOne(container, artifact, { plans, original, ...job })
  const restored = await withScratchProjects(container, job, projects, async (targets) => {
    await importArchive(importServices(container), (use) => use(readStored(container, artifact)), {
      ...importOptions(job),
      targetsOf: () => targets,
    })
    return readRestored(container, projects, targets, job)
  }).catch((error: unknown) => {
    throw withReason(error, plans)
  })
  return compareContents(await withoutUnknownRoles(original, findRolesOf(container)), restored, slugsOf(projects))
}

interface OneByOne extends VerifyingJob {
  readonly plans: readonly PlannedProject[]
  readonly original: Contents
}

/** Where a project has a database of its own, no other is imported with it: at most one such database is there at a time. */
async function restoreOneByOne(
  container: Container,
  artifact: WrittenArtifact,
  { plans, original, ...job }: OneByOne,
): Promise<readonly Fault[]> {
  const services = importServices(container)
  const { spoolReserveBytes } = container.config
  const archive = await openArchive(container.spoolFolder, spoolReserveBytes)
  try {
    const checks = { ...readOptions(container, job.signal), allowIncomplete: true }
    await receiveArchive(archive, readStored(container, artifact), checks)
    const faults: Fault[] = []
    for (const [index, plan] of plans.entries()) {
      const restored = await withScratchProjects(container, job, [plan], async (slugs) => {
        const projects = archive.lists.projects.slice(index, index + 1)
        const received = { archive, early: NO_EARLY_LOADS, projects, slugs }
        await importReceived(services, received, { ...importOptions(job), targetsOf: () => slugs })
        return readRestored(container, [plan], slugs, job, index + 1)
      }).catch((error: unknown) => {
        throw withReason(error, [plan])
      })
      const findRoles = plan.own ? findServerRoles(container) : findRolesOf(container)
      const before = await withoutUnknownRoles(ofProject(original, index + 1), findRoles)
      faults.push(...(await compareContents(before, restored, slugsOf(plans))))
    }
    return faults
  } finally {
    await archive.file.remove()
  }
}

interface ArchivedProject {
  readonly slug: string
  readonly system: boolean
  /** Whether its lines have the rights of its stages. */
  grants: boolean
  readonly stages: ArchivedStage[]
}

function addItem(projects: ArchivedProject[], item: ArchiveItem): void {
  if (item.kind === 'project') {
    const { slug, system } = item.content
    projects.push({ slug, system, grants: false, stages: [] })
  }
  const project = projects.at(-1)
  if (!project) return
  if (item.kind === 'extension') project.stages.at(-1)?.extensions.push(item.content)
  if (item.kind !== 'stage') return
  const { slug, sourceSchema, grants } = item.content
  project.stages.push({ slug, sourceSchema, extensions: [] })
  if (grants) project.grants = true
}

const slugsOf = (projects: readonly ArchivedProject[]): readonly string[] => projects.map(({ slug }) => slug)

/** A project of an archive, and how it is restored. */
type PlannedProject = ArchivedProject & OwnPlan

async function planAll(container: Container, projects: readonly ArchivedProject[]): Promise<readonly PlannedProject[]> {
  const plans: PlannedProject[] = []
  for (const project of projects) plans.push({ ...project, ...(await planOwn(container, project.stages)) })
  return plans
}

/** Says with what an archive could not be restored why it had no database of its own. */
function withReason(error: unknown, plans: readonly PlannedProject[]): unknown {
  const reason = plans.find((plan) => plan.reason !== undefined)?.reason
  if (reason === undefined || !isFaultOfArchive(error)) return error
  const message = `${error.message}; it was restored beside other projects, where schemas have other names: ${reason}`
  return new AppError(error.code, message, { faults: error.faults, cause: error })
}

const readOptions = ({ config }: Container, signal: AbortSignal): ReadArchiveOptions => ({
  maxLineBytes: config.maxLineBytes,
  maxStructureLineBytes: config.maxStructureLineBytes,
  signal,
})

const findRolesOf =
  ({ control }: Container): FindRoles =>
  (names) =>
    readRoles(control.prisma, names)

/** In a database of its own, a project's import tells no login of Wharf's from another. */
const findServerRoles =
  ({ control }: Container): FindRoles =>
  (names) =>
    readExternalRoles((sql, parameters) => control.prisma.$queryRawUnsafe(sql, ...parameters), names)

/** What the empty stages held before is not worth keeping. */
const importServices = (container: Container): Container => ({ ...container, undoHours: 0 })

const importOptions = ({ signal, sessionName }: VerifyingJob) =>
  ({ tokenId: null, authorise: async () => ROOT, signal, sessionName, allowIncomplete: true }) as const

/**
 * What is in the projects that an archive was restored into.
 *
 * @param targets their slugs, in the order of the archive's. @param number of the first of them in the archive.
 */
function readRestored(
  container: Container,
  projects: readonly ArchivedProject[],
  targets: readonly string[],
  { sessionName, signal }: VerifyingJob,
  number = 1,
): Promise<Contents> {
  const selections = targets.map((slug, index) => ({
    slug,
    system: projects[index]?.system ?? false,
    grants: projects[index]?.grants ?? false,
    stages: projects[index]?.stages.map((stage) => stage.slug),
  }))
  const options = readOptions(container, signal)
  const read = (bytes: AsyncIterable<BorrowedBytes>): Promise<Contents> =>
    readContents(withoutRestore(readArchive(copied(bytes), copyText, options)), number)
  return withExport(container, selections, read, { sessionName, allowIncomplete: true })
}

/**
 * The bytes as the store has them. They are held against the sum that was made while they were written: not every byte
 * of a gzip file is checked by its own sums.
 */
export async function* readStored(
  { artifacts }: Container,
  { key, finished }: WrittenArtifact,
): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash('sha256')
  yield* tap(artifacts.read(key), (chunk) => void hash.update(chunk))
  if (hash.digest('hex') === finished.sha256) return
  throw new AppError('ARCHIVE_INVALID', 'its bytes are not those that were written: the storage has changed them')
}
