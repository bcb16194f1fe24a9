import type { Queryable } from '../database/database.ts'
import { STAGE_REFERENCE } from './statements.ts'

/** Where a stage stands. */
export interface StageReference {
  /** The UUID of the latest event of the stage's log, in the order of commit. */
  readonly reference: string
  /** Raised by every swap of the stage's schema for another. */
  readonly generation: bigint
}

/**
 * A stage's reference, as of all that has committed when this is called; one that nothing else has while a crash of
 * PostgreSQL is not in the log yet (`recordCrash`). Four probes of indexes, however long the log is.
 *
 * @param database as Wharf's own login.
 * @throws where there is no such stage.
 */
export async function readReference(
  { prisma }: { readonly prisma: Queryable },
  stageId: string,
): Promise<StageReference> {
  const [row] = await prisma.$queryRawUnsafe<{ reference: string | null; generation: bigint | null }[]>(
    STAGE_REFERENCE,
    stageId,
  )
  if (!row?.reference || row.generation === null) throw new Error(`the stage ${stageId} has no log`)
  return { reference: row.reference, generation: row.generation }
}
