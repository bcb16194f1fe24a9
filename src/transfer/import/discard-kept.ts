import type { Database } from '../../database/database.ts'
import { conflict } from '../../errors.ts'
import { withImportsLocked } from '../../projects/stage-locks.ts'
import { type SettlingServices, settleDoubts } from './external/settle-doubts.ts'
import { type DroppingServices, dropBeside } from './shadow-schemas.ts'

interface DiscardingServices extends DroppingServices, SettlingServices {
  /** Lends connections that last as long as the lock of a stage. */
  readonly imports: Database
}

/**
 * Drops what the last import replaced in a stage, so that no undo can bring it back. Where nothing is kept, does nothing.
 *
 * @throws {AppError} CONFLICT where an import or an undo runs, or somebody still uses what is kept.
 */
export const discardKept = (services: DiscardingServices, stageId: string): Promise<void> =>
  withImportsLocked(services, [stageId], async () => {
    // What an import keeps whose process died in the middle of the commit counts as well.
    await settleDoubts(services, [stageId])
    const kept = await services.system.prisma.shadowSchema.findMany({
      where: { stageId, kind: 'kept' },
      select: { schemaName: true },
      // Where a later one cannot be dropped, it is still what an undo would bring back.
      orderBy: [{ createdAt: 'asc' }, { schemaName: 'asc' }],
    })
    for (const { schemaName } of kept) {
      if (!(await dropBeside(services, { schemaName, stageId, kind: 'kept' }))) throw stillUsed(schemaName)
    }
  })

const stillUsed = (schemaName: string) =>
  conflict(
    `what is kept in the schema "${schemaName}" is being read, or something elsewhere depends on it, so it cannot be dropped; ` +
      'try again later',
  )
