import type { GoneProject } from '../../contract/matched.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import type { Project } from '../projects.ts'
import type { AttachedDatabases } from './attached-databases.ts'

/**
 * What is not there any more of an attached project: its database, or schemas that are its stages.
 *
 * @returns nothing where all is there, or the project is not attached.
 * @throws {AppError} ATTACHED_FAILED, FORBIDDEN where its database may be there, and cannot be used.
 */
export async function findGone(attached: AttachedDatabases, project: Project): Promise<readonly GoneProject[]> {
  if (project.location !== 'attached') return []
  try {
    const { database } = await attached.of(project, 'exports')
    const { rows } = await database.pool.query<{ name: string }>(
      'SELECT nspname::text AS name FROM pg_catalog.pg_namespace',
    )
    const there = new Set(rows.map(({ name }) => name))
    return project.stages
      .filter(({ schemaName }) => !there.has(schemaName))
      .map(({ slug }) => ({ project: project.slug, stage: slug, gone: 'schema' }))
  } catch (error) {
    if (!isWithoutDatabase(error)) throw error
    return [{ project: project.slug, stage: null, gone: 'database' }]
  }
}

/** Whether a server that has let the login in says that it has no such database. */
function isWithoutDatabase(error: unknown): boolean {
  if (sqlState(error) === SQLSTATE.unknownDatabase) return true
  return error instanceof Error && error.cause !== undefined && isWithoutDatabase(error.cause)
}
