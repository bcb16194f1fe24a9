import type { Queryable } from '../../database/database.ts'
import { findProject, type Project } from '../../projects/projects.ts'
import { findStage, type Stage } from '../../projects/stages.ts'

/** What of a project an export takes. */
export interface ExportSelection {
  readonly slug: string
  /** Whether the system section (roles and event log) is included. */
  readonly system: boolean
  /** Where an import of the archive goes, instead of to `slug`. */
  readonly targetSlug?: string | undefined
  /** Slugs of stages; undefined: all. */
  readonly stages?: readonly string[] | undefined
  /** Tables whose structure and rows are left out, in every stage that has them. */
  readonly excludeTables?: readonly string[] | undefined
}

/**
 * How many projects one archive may hold. Each needs a database session of its own for as long as the export takes,
 * since all of them are read from one snapshot, each by the project's own login.
 */
export const MAX_PROJECTS_PER_ARCHIVE = 32

/** The project that is selected, and those of its stages that are. @throws {AppError} NOT_FOUND */
export async function findSelection(
  control: Queryable,
  selection: ExportSelection,
): Promise<{ readonly project: Project; readonly stages: readonly Stage[] }> {
  const project = await findProject(control, selection.slug)
  return { project, stages: selection.stages?.map((slug) => findStage(project, slug)) ?? project.stages }
}
