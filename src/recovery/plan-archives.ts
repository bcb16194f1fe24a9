import type { Outcome, ProvenArchive } from './proven-archives.ts'

/** A project whose data is to be brought back. */
export interface RecoveringProject {
  readonly id: string
  readonly slug: string
  /** Slugs. */
  readonly stages: readonly string[]
  /** The newest first. */
  readonly archives: readonly ProvenArchive[]
  readonly outcome: Outcome
  /** Archives that could not be imported, by their artifacts' ids, and why. */
  readonly failed: ReadonlyMap<string, string>
}

/**
 * The archives that a project still needs, so that each stage comes from the newest that has it. They are to be imported
 * the oldest first: each replaces what it holds.
 */
export function planArchives(project: RecoveringProject): readonly ProvenArchive[] {
  const needed = project.stages.map((stage) =>
    project.archives.find((archive) => !project.failed.has(archive.artifactId) && gives(project, archive, stage)),
  )
  const missing = project.archives.filter((archive) => needed.includes(archive) && !isImported(project, archive))
  return missing.toReversed()
}

const isImported = ({ outcome }: RecoveringProject, { artifactId }: ProvenArchive): boolean =>
  outcome.archives.some((imported) => imported.artifactId === artifactId)

function gives(project: RecoveringProject, archive: ProvenArchive, stage: string): boolean {
  const imported = project.outcome.archives.find(({ artifactId }) => artifactId === archive.artifactId)
  if (imported) return imported.stages.includes(stage)
  const stages = archive.projects.get(project.slug) ?? project.stages
  const replacesNewer = project.outcome.archives.some(
    ({ madeAt, stages: there }) => new Date(madeAt) > archive.madeAt && there.some((each) => stages.includes(each)),
  )
  return stages.includes(stage) && !replacesNewer
}

/** The stages that no archive has brought back. */
export const missingStages = ({ stages, outcome }: Pick<RecoveringProject, 'stages' | 'outcome'>): readonly string[] =>
  stages.filter((stage) => !outcome.archives.some((archive) => archive.stages.includes(stage)))
