import type { Transaction } from '../../database/database.ts'
import type { PrismaClient } from '../../database/generated/client.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { conflict } from '../../errors.ts'
import { forgetProject, lockProject, type Project } from '../projects.ts'
import { findStage } from '../stages.ts'
import { assertAttached } from './attach-project.ts'

/**
 * Forgets an attached project, with its roles and the memberships of tokens. Its database is left alone.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where it is not attached, or something is being imported into it.
 */
export async function detachProject(control: PrismaClient, project: Project): Promise<void> {
  assertAttached(project)
  await control.$transaction(async (tx) => {
    await lockProject(tx, project)
    const stages = await tx.stage.findMany({ where: { projectId: project.id } })
    await keepImportsOut(
      tx,
      stages.map(({ id }) => id),
    )
    await forgetProject(tx, project)
  })
}

/** The same for one stage. @throws {AppError} NOT_FOUND, CONFLICT. */
export async function detachStage(control: PrismaClient, project: Project, slug: string): Promise<void> {
  assertAttached(project)
  const { id } = findStage(project, slug)
  await control.$transaction(async (tx) => {
    await lockProject(tx, project)
    await keepImportsOut(tx, [id])
    await tx.stageState.deleteMany({ where: { stageId: id } })
    await tx.stage.deleteMany({ where: { id } })
  })
}

/** An import that is under way would go on in a database that nobody here knows any more. */
async function keepImportsOut(tx: Transaction, stageIds: readonly string[]): Promise<void> {
  try {
    await tx.$queryRaw`
      SELECT 1 FROM system.stage_lock WHERE stage_id = ANY (${[...stageIds]}::uuid[]) AND kind = 'import'
       ORDER BY stage_id FOR UPDATE NOWAIT`
  } catch (error) {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    throw conflict('something is being imported into it; try again when that has ended, or cancel it')
  }
}
