import type { Container } from '../container.ts'
import { importProject, isFaultOfArchive, withReceived } from './import-archive.ts'
import { missingStages, planArchives, type RecoveringProject } from './plan-archives.ts'
import { findProvenArchives, type Outcome, type ProvenArchive, readOutcome } from './proven-archives.ts'

/** What became of a project that Wharf keeps the data of. */
export interface RecoveredProject {
  readonly slug: string
  /** What its data is from, the oldest first; none where no archive of it could be imported. */
  readonly archives: Outcome['archives']
  /** Its stages that are empty now, since no proven archive has them. */
  readonly missing: readonly string[]
  /** Why archives were passed over. */
  readonly problems: readonly string[]
}

export interface RecoveryProgress {
  /** Says what is done now. */
  readonly say: (text: string) => void
  readonly signal: AbortSignal
}

/**
 * Imports the newest proven data of each project that is not attached, each stage from the newest archive that has it. An
 * archive that is gone or damaged is passed over for the one before it. What was imported earlier is not imported again.
 *
 * @throws {AppError} what is no archive's fault: STORAGE_UNAVAILABLE, DATABASE_UNAVAILABLE, STORAGE_FULL.
 */
export async function recoverData(
  container: Container,
  progress: RecoveryProgress,
): Promise<readonly RecoveredProject[]> {
  const failures: Failures = new Map()
  for (;;) {
    const projects = await readProjects(container, failures)
    const planned = projects.flatMap((project) => planArchives(project).map((archive) => ({ project, archive })))
    const [oldest] = planned.toSorted((a, b) => a.archive.madeAt.getTime() - b.archive.madeAt.getTime())
    if (!oldest) return projects.map(toRecovered)
    const needing = planned.filter(({ archive }) => archive.artifactId === oldest.archive.artifactId)
    await importFor(container, { ...oldest, needing: needing.map(({ project }) => project), failures }, progress)
  }
}

/** Why archives could not be imported, by the ids of artifact and project. */
type Failures = Map<string, Map<string, string>>

interface Importing {
  readonly archive: ProvenArchive
  readonly needing: readonly RecoveringProject[]
  readonly failures: Failures
}

async function importFor(
  container: Container,
  { archive, needing, failures }: Importing,
  { say, signal }: RecoveryProgress,
): Promise<void> {
  const passOver = (projects: readonly RecoveringProject[]) => (error: unknown) => {
    signal.throwIfAborted()
    if (!isFaultOfArchive(error)) throw error
    const reason = [error.message, ...error.faults.slice(0, 3).map(({ detail }) => detail)].join('; ')
    for (const { id } of projects) {
      failures.set(id, new Map([...(failures.get(id) ?? []), [archive.artifactId, reason]]))
    }
  }
  await withReceived(container, archive, signal, async (received) => {
    for (const project of needing) {
      say(`${project.slug}: its archive of ${archive.madeAt.toISOString()}`)
      await importProject(container, received, { archive, project, signal }).catch(passOver([project]))
    }
  }).catch(passOver(needing))
}

async function readProjects({ control }: Container, failures: Failures): Promise<readonly RecoveringProject[]> {
  const rows = await control.prisma.project.findMany({
    where: { login: { not: null }, scratchFor: null },
    orderBy: { slug: 'asc' },
    select: { id: true, slug: true, stages: { select: { slug: true }, orderBy: { createdAt: 'asc' } } },
  })
  const projects: RecoveringProject[] = []
  for (const { id, slug, stages } of rows) {
    projects.push({
      ...{ id, slug, stages: stages.map((stage) => stage.slug), failed: failures.get(id) ?? new Map() },
      archives: await findProvenArchives(control.prisma, { id, slug }),
      outcome: await readOutcome(control.prisma, id),
    })
  }
  return projects
}

function toRecovered(project: RecoveringProject): RecoveredProject {
  const problems = project.archives.flatMap(({ artifactId, jobId, madeAt }) => {
    const reason = project.failed.get(artifactId)
    return reason === undefined
      ? []
      : [`the archive of ${madeAt.toISOString()} (job ${jobId}) was passed over: ${reason}`]
  })
  return { slug: project.slug, archives: project.outcome.archives, missing: missingStages(project), problems }
}
