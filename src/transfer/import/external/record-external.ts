import { readClock } from '../../../database/clock.ts'
import type { Transaction } from '../../../database/database.ts'
import { expireKept, recordImport } from '../swap-stages.ts'
import type { CommittedImport } from './committed-imports.ts'

/**
 * What Wharf knows of the stages of an import that is committed, or is about to be, in their database.
 *
 * @param jobId by which it is known there: of a job, where one imports.
 */
export async function recordExternal(
  tx: Transaction,
  { stages }: Pick<CommittedImport, 'stages'>,
  {
    tokenId,
    undoHours,
    jobId,
  }: { readonly tokenId: string | null; readonly undoHours: number; readonly jobId: string },
): Promise<void> {
  const expiresAt = new Date((await readClock(tx)).getTime() + undoHours * 3_600_000)
  for (const { stageId, loaded, kept, exchanged, typesState } of stages) {
    await tx.stageState.update({ where: { stageId }, data: { generation: { increment: 1 } } })
    await tx.shadowSchema.deleteMany({ where: { schemaName: loaded ?? '' } })
    await expireKept(tx, stageId)
    const reference = await recordImport(tx, stageId, tokenId)
    if (kept === null) continue
    const replacedBy = { reference, exchanged, typesState, jobId }
    const data = { stageId, kind: 'kept', expiresAt, replacedBy }
    await tx.shadowSchema.upsert({ where: { schemaName: kept }, create: { schemaName: kept, ...data }, update: data })
  }
}
