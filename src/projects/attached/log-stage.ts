import { readClock } from '../../database/clock.ts'
import type { Queryable } from '../../database/database.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { isServerFailure } from '../../database/sqlstate-meanings.ts'
import { conflict } from '../../errors.ts'
import { findLog } from '../../events/attached/log-triggers.ts'
import { assertNotShared } from '../project-location.ts'
import type { Project } from '../projects.ts'
import type { FindProjectDatabase } from '../stage-database.ts'
import { findStage, type Stage } from '../stages.ts'
import { assertMayLog } from './assert-may-log.ts'
import { logQuery, makeLog, removeLog } from './event-log.ts'

export interface LogServices {
  readonly control: { readonly prisma: Queryable }
  readonly projectDatabase: FindProjectDatabase
}

/**
 * Has the event log of a stage kept in its own database, or no longer: an attached one, or one that Wharf made for the project. Where it is kept already, what is missing of it
 * is made again; where it is not, what is left of it is removed.
 *
 * @throws {AppError} CONFLICT where the project shares Wharf's database, the login may not, or somebody goes on using a table;
 *   NOT_FOUND, ATTACHED_FAILED.
 */
export async function switchLog(
  { control, projectDatabase }: LogServices,
  project: Project,
  { slug, logEvents }: { readonly slug: string; readonly logEvents: boolean },
): Promise<Stage> {
  assertNotShared(project)
  const stage = findStage(project, slug)
  const { database } = await projectDatabase(project, 'imports')
  const remember = async (loggedSince: Date | null): Promise<Stage> => {
    await control.prisma.stage.updateMany({ where: { id: stage.id }, data: { loggedSince } })
    return { ...stage, loggedSince }
  }
  const remove = async (): Promise<Stage> => {
    await removeLog(database, stage.id, await schemasOf(control.prisma, stage))
    return remember(null)
  }
  try {
    if (!logEvents) return await remove()
    const query = logQuery(database)
    await assertMayLog(query, stage)
    const isThere = (await findLog(query, stage.schemaName)) !== undefined
    // Before anything is made, so that it is known of if this process dies.
    const remembered = isThere && stage.loggedSince ? stage : await remember(await readClock(control.prisma))
    await makeLog(database, stage)
    return remembered
  } catch (error) {
    if (logEvents && !stage.loggedSince) await Promise.allSettled([remove()])
    throw logFailure(error)
  }
}

/** The schemas that have triggers: the stage's own, and what imports have replaced and keep beside it. */
export async function schemasOf(
  control: Queryable,
  { id, schemaName }: Pick<Stage, 'id' | 'schemaName'>,
): Promise<readonly string[]> {
  const beside = await control.shadowSchema.findMany({ where: { stageId: id }, select: { schemaName: true } })
  return [schemaName, ...beside.map((each) => each.schemaName)]
}

/** What the owner of the database has to change, in PostgreSQL's own words, which name no rows. */
export function logFailure(error: unknown): unknown {
  if (isServerFailure(error) || sqlState(error) !== SQLSTATE.insufficientPrivilege) return error
  return conflict(`the event log cannot be changed: ${sqlMessage(error)}`)
}
