import type { Database } from '../../database/database.ts'
import { isAppError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { sweepStageLocks, withStageLocks } from '../../projects/stage-locks.ts'
import { dropSideSchema, listDroppable } from './side-schemas.ts'

/**
 * Drops what imports that died have left beside stages, and what was kept for `undo` long enough, with the locks of stages that
 * are gone. A stage that an
 * import has locked is left for the next time.
 */
export async function sweepSideSchemas(
  { system, imports }: { readonly system: Database; readonly imports: Database },
  logger: Logger,
): Promise<void> {
  await dropStrayEvents({ system, imports }, logger)
  await sweepStageLocks(system)
  for (const side of await listDroppable(system)) {
    const { schemaName, stageId, kind } = side
    try {
      const dropped = await withStageLocks({ imports, system }, [stageId], () => dropSideSchema(system, side))
      if (dropped) logger.info({ schemaName, kind }, 'schema beside a stage dropped')
    } catch (error) {
      if (!isAppError(error, 'CONFLICT')) logger.warn({ err: error, schemaName }, 'a schema could not be dropped')
    }
  }
}

/** Event logs that were being loaded when their import died. */
async function dropStrayEvents(
  { system, imports }: { readonly system: Database; readonly imports: Database },
  logger: Logger,
): Promise<void> {
  const stray = await system.prisma.loadingEvent.groupBy({ by: ['stageId'] })
  for (const { stageId } of stray) {
    try {
      await withStageLocks({ imports, system }, [stageId], () =>
        system.prisma.loadingEvent.deleteMany({ where: { stageId } }),
      )
    } catch (error) {
      if (!isAppError(error, 'CONFLICT')) logger.warn({ err: error, stageId }, 'stray events could not be dropped')
    }
  }
}
