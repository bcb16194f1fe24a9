import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import type { Database, Queryable } from '../database/database.ts'
import type { LoginDatabases, LoginUse } from '../database/login-databases.ts'
import type { Seal } from '../lib/seal.ts'
import { type Project, projectLogin } from './projects.ts'
import type { Stage } from './stages.ts'

/** The database that a project's stages are in, as the login sees it that reads and replaces them. */
export interface ProjectDatabase {
  readonly database: Database
  /** The login's name. */
  readonly login: string
  /** Whether it is Wharf's own, which has Wharf's records of the stages beside them. */
  readonly isOwn: boolean
  /** The schemas, beside a stage's own, in which sessions look for what extensions have. */
  readonly extensionSchemas: readonly string[]
}

/** Where a stage's tables are: the database, as the project's own login sees it, and the schema in it. */
export interface StageDatabase {
  readonly database: Database
  readonly stageId: string
  readonly schemaName: string
}

/**
 * Finds a project's database; found once for a request or a job, and passed around from there.
 *
 * @throws {AppError} NOT_FOUND where the project was deleted since it was found.
 */
export type FindProjectDatabase = (project: Pick<Project, 'id' | 'slug'>, use: LoginUse) => Promise<ProjectDatabase>

export const toStageDatabase = (database: Database, stage: Stage): StageDatabase => ({
  database,
  stageId: stage.id,
  schemaName: stage.schemaName,
})

/** Finds projects' databases in Wharf's own, where each has a login of its own. */
export function createProjectDatabases(options: {
  readonly control: Queryable
  readonly seal: Seal
  readonly logins: LoginDatabases
}): FindProjectDatabase {
  return async (project, use) => {
    const login = await projectLogin(options.control, options.seal, project)
    const database = options.logins.of(login, use)
    return { database, login: login.name, isOwn: true, extensionSchemas: [EXTENSIONS_SCHEMA] }
  }
}
