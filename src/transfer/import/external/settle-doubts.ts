import type { Database } from '../../../database/database.ts'
import { endSessionsNamed } from '../../../database/end-sessions.ts'
import { isAppError } from '../../../errors.ts'
import type { Logger } from '../../../logger.ts'
import type { FindProjectDatabase } from '../../../projects/stage-database.ts'
import { withStageLocks } from '../../../projects/stage-locks.ts'
import { findCommitted } from './committed-imports.ts'
import { forgetDoubts, type ImportInDoubt, listImportsInDoubt, noteRecorded, takeDoubt } from './imports-in-doubt.ts'
import { recordExternal } from './record-external.ts'

export interface SettlingServices {
  readonly control: Pick<Database, 'prisma'>
  readonly system: Database
  readonly projectDatabase: FindProjectDatabase
  readonly undoHours: number
}

/**
 * Finds out what became of imports whose process died while they were being committed in a database that is not Wharf's, and
 * records those that were: what they replaced can be brought back then, and is dropped when its time has come.
 *
 * @param stageIds of stages whose locks the caller has.
 */
export async function settleDoubts(services: SettlingServices, stageIds: readonly string[]): Promise<void> {
  for (const doubt of await listImportsInDoubt(services.system, stageIds)) await settleDoubt(services, doubt)
}

async function settleDoubt(
  { control, system, projectDatabase, undoHours }: SettlingServices,
  { id, stageId, sessionName, isAwaited }: ImportInDoubt,
): Promise<void> {
  const stage = await control.prisma.stage.findUnique({ where: { id: stageId }, include: { project: true } })
  if (!stage) return
  const { database } = await projectDatabase(stage.project, 'imports')
  // As long as it is there, it may still commit.
  if (sessionName) await endSessionsNamed(database.prisma, sessionName)
  const committed = await findCommitted(database, id)
  await system.prisma.$transaction(async (tx) => {
    if ((await takeDoubt(tx, id)) !== 'committing' || !committed) return
    await recordExternal(tx, committed, { tokenId: null, undoHours, jobId: id })
    if (isAwaited) await noteRecorded(tx, { id, stageId })
  })
}

/** Does that for all stages. One that an import has locked is left for the next time. */
export async function sweepDoubts(
  services: SettlingServices & { readonly imports: Database },
  logger: Logger,
): Promise<void> {
  const { system, imports } = services
  const inDoubt = await listImportsInDoubt(system)
  for (const stageId of new Set(inDoubt.map((doubt) => doubt.stageId))) {
    await withStageLocks({ imports, system }, [stageId], () => settleDoubts(services, [stageId])).catch(
      (error: unknown) => {
        if (isAppError(error, 'CONFLICT')) return
        logger.warn(
          { err: error, stageId },
          'it could not be found out whether an import was committed in another database',
        )
      },
    )
  }
  await forgetDoubts(system)
}
