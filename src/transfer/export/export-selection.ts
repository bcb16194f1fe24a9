import type { ExportSelection } from '../../contract/export.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { findProject, type Project } from '../../projects/projects.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import { findStage, type Stage } from '../../projects/stages.ts'

/** The project that is selected, and those of its stages that are. @throws {AppError} NOT_FOUND */
export async function findSelection(
  control: Queryable,
  selection: ExportSelection,
): Promise<{ readonly project: Project; readonly stages: readonly Stage[] }> {
  const project = await findProject(control, selection.slug)
  return { project, stages: selection.stages?.map((slug) => findStage(project, slug)) ?? project.stages }
}

/**
 * How many rows an export will have, by PostgreSQL's own estimate, which ANALYZE keeps.
 *
 * @returns 0 where nothing has been estimated yet.
 * @throws {AppError} NOT_FOUND for an unknown project or stage.
 */
export async function estimateRows(
  {
    control,
    system,
    projectDatabase,
  }: { readonly control: Database; readonly system: Database; readonly projectDatabase: FindProjectDatabase },
  selections: readonly ExportSelection[],
): Promise<number> {
  const estimates = selections.map(async (selection) => {
    const { project, stages } = await findSelection(control.prisma, selection)
    const { database, isOwn } = await projectDatabase(project, 'exports')
    // A project may have no session to spare.
    return estimateRowsIn(isOwn ? system : database, stages)
  })
  return (await Promise.all(estimates)).reduce((sum, rows) => sum + rows, 0)
}

/** The same of stages of one database. */
export async function estimateRowsIn({ pool }: Database, stages: readonly Stage[]): Promise<number> {
  const schemas = stages.map(({ schemaName }) => schemaName)
  // Not by Prisma, which hides why there is no session.
  const { rows } = await pool.query<{ rows: number }>(
    `SELECT coalesce(sum(greatest(reltuples, 0)), 0)::float8 AS rows
       FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
      WHERE relkind = 'r' AND nspname = ANY ($1)`,
    [schemas],
  )
  return rows[0]?.rows ?? 0
}
