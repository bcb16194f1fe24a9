import type { Database } from '../../database/database.ts'
import { isAppError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import { dropSideSchema } from './side-schemas.ts'

/**
 * Drops what imports that died have left beside stages, and what was kept for `undo` long enough. A stage that an
 * import has locked is left for the next time.
 */
export async function sweepSideSchemas(
  { system, snapshots }: { readonly system: Database; readonly snapshots: Database },
  logger: Logger,
): Promise<void> {
  const due = await system.prisma.sideSchema.findMany({
    where: { OR: [{ kind: 'loading' }, { kind: 'kept', expiresAt: { lte: new Date() } }] },
  })
  for (const { schemaName, stageId, kind } of due) {
    try {
      await withStageLocks(snapshots, [stageId], () => dropSideSchema(system, schemaName))
      logger.info({ schemaName, kind }, 'schema beside a stage dropped')
    } catch (error) {
      if (!isAppError(error, 'CONFLICT')) throw error
    }
  }
}
