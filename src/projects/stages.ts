import type { Transaction } from '../database/database.ts'
import { quoteIdentifier } from '../database/quoting.ts'
import { conflict, notFound } from '../errors.ts'
import type { Project } from './projects.ts'
import { stageSchemaName } from './stage-schema-name.ts'

/** The stage of every new project. */
export const DEFAULT_STAGE = 'live'

export interface Stage {
  readonly id: string
  readonly slug: string
  /** The PostgreSQL schema that holds its tables. */
  readonly schemaName: string
  readonly createdAt: Date
}

/**
 * Adds an empty stage to a project.
 *
 * @param tx a transaction over both the control tables and the stage's database.
 * @throws {AppError} CONFLICT where the project has a stage of this name.
 */
export async function createStage(tx: Transaction, project: Omit<Project, 'stages'>, slug: string): Promise<Stage> {
  const known = await tx.stage.findUnique({ where: { projectId_slug: { projectId: project.id, slug } } })
  if (known) throw conflict(`project "${project.slug}" has a stage "${slug}" already`)
  const schemaName = stageSchemaName(project.slug, slug)
  const stage = await tx.stage.create({ data: { projectId: project.id, slug, schemaName } })
  await tx.$executeRawUnsafe(
    `CREATE SCHEMA ${quoteIdentifier(schemaName)} AUTHORIZATION ${quoteIdentifier(project.login)}`,
  )
  await tx.stageState.create({ data: { stageId: stage.id, schemaName, login: project.login } })
  return stage
}

/** Drops a stage with all its rows. @throws {AppError} NOT_FOUND */
export async function deleteStage(tx: Transaction, project: Project, slug: string): Promise<void> {
  const stage = findStage(project, slug)
  await tx.$executeRawUnsafe(`DROP SCHEMA ${quoteIdentifier(stage.schemaName)} CASCADE`)
  await tx.stageState.delete({ where: { stageId: stage.id } })
  await tx.stage.delete({ where: { id: stage.id } })
}

/** @throws {AppError} NOT_FOUND */
export function findStage(project: Project, slug: string): Stage {
  const stage = project.stages.find((candidate) => candidate.slug === slug)
  if (!stage) throw notFound(`stage in project "${project.slug}"`, slug)
  return stage
}
