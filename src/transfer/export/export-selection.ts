import type { ExportSelection } from '../../contract/export.ts'
import type { Queryable } from '../../database/database.ts'
import { findProject, type Project } from '../../projects/projects.ts'
import { findStage, type Stage } from '../../projects/stages.ts'

/** The project that is selected, and those of its stages that are. @throws {AppError} NOT_FOUND */
export async function findSelection(
  control: Queryable,
  selection: ExportSelection,
): Promise<{ readonly project: Project; readonly stages: readonly Stage[] }> {
  const project = await findProject(control, selection.slug)
  return { project, stages: selection.stages?.map((slug) => findStage(project, slug)) ?? project.stages }
}
