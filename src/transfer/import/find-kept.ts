import { readClock } from '../../database/clock.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { type UndoneImport, undoneImportSchema } from './undone-import.ts'

/** What the last import or undo of a stage replaced, and its schema; null where nothing is kept. */
export const findKept = async (tx: Transaction, stageId: string) =>
  tx.shadowSchema.findFirst({ where: { stageId, kind: 'kept', expiresAt: { gt: await readClock(tx) } } })

interface Kept extends UndoneImport {
  readonly replacedAt: Date
  readonly until: Date
  /** The schema that it is in. */
  readonly schemaName: string
}

/** What an undo of a stage would bring back: when it was replaced, by which import, and until when it is kept; null for nothing. */
export async function showKept({ prisma }: Database, stageId: string): Promise<Kept | null> {
  const kept = await prisma.$transaction((tx) => findKept(tx, stageId))
  if (!kept?.expiresAt) return null
  return {
    replacedAt: kept.createdAt,
    until: kept.expiresAt,
    schemaName: kept.schemaName,
    ...undoneImportSchema.parse(kept.replacedBy ?? {}),
  }
}
