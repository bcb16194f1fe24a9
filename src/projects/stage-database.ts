import type { Database } from '../database/database.ts'
import type { LoginUse } from '../database/login-databases.ts'
import type { Project } from './projects.ts'
import type { Stage } from './stages.ts'

/** The database that a project's stages are in, as the login sees it that reads and replaces them. */
export interface ProjectDatabase {
  readonly database: Database
  /** The login's name. */
  readonly login: string
  /** Whether it is Wharf's own, which has Wharf's records of the stages beside them. */
  readonly isOwn: boolean
  /** Whether Wharf makes the extensions there that stages need. */
  readonly makesExtensions: boolean
  /** The schemas, beside a stage's own, in which sessions look for what extensions have. */
  readonly extensionSchemas: readonly string[]
}

/** Where a stage's tables are: the database, as the project's own login sees it, and the schema in it. */
export interface StageDatabase {
  readonly database: Database
  readonly isOwn: boolean
  readonly stageId: string
  readonly schemaName: string
}

/**
 * Finds a project's database; found once for a request or a job, and passed around from there.
 *
 * @throws {AppError} NOT_FOUND where the project was deleted since it was found; FORBIDDEN and ATTACHED_FAILED where it is
 *   attached and its database may not, or can't, be reached.
 */
export type FindProjectDatabase = (project: Pick<Project, 'id' | 'slug'>, use: LoginUse) => Promise<ProjectDatabase>

export const toStageDatabase = (
  { database, isOwn }: Pick<ProjectDatabase, 'database' | 'isOwn'>,
  stage: Stage,
): StageDatabase => ({
  database,
  isOwn,
  stageId: stage.id,
  schemaName: stage.schemaName,
})
