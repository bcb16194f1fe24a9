import { readClock } from '../../database/clock.ts'
import type { Database, Transaction } from '../../database/database.ts'

/** What the last import or undo of a stage replaced, and its schema; null where nothing is kept. */
export const findKept = async (tx: Transaction, stageId: string) =>
  tx.shadowSchema.findFirst({ where: { stageId, kind: 'kept', expiresAt: { gt: await readClock(tx) } } })

/** What an undo of a stage would bring back: when it was replaced, and until when it is kept; null for nothing. */
export async function showKept(
  { prisma }: Database,
  stageId: string,
): Promise<{ readonly replacedAt: Date; readonly until: Date } | null> {
  const kept = await prisma.$transaction((tx) => findKept(tx, stageId))
  return kept?.expiresAt ? { replacedAt: kept.createdAt, until: kept.expiresAt } : null
}
