import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { conflict } from '../../errors.ts'
import { type StageIdentity, sideName } from './side-schemas.ts'

/** A schema that is to take the place of a stage's own. */
export interface Swap {
  readonly stage: StageIdentity
  /** The stage's generation when the schema's loading began; another one says that somebody swapped in between. */
  readonly generation: bigint
  /** The schema that becomes the stage's own. */
  readonly schemaName: string
  readonly contents: LoadedContents
}

/**
 * What a loaded schema holds, by which `undo` tells whether it was written to since: every row that is as it was loaded
 * carries the loading transaction's id (`xmin`), and there are as many as were loaded.
 */
export interface LoadedContents {
  /** The id, as `xmin` has it: 32 bits, in decimal. */
  readonly transaction: string
  readonly rows: Readonly<Record<string, number>>
}

/**
 * Lets schemas take the places of stages' own, all of them at one moment, and logs an `import` event for each.
 *
 * Renaming waits for no reader: it takes no lock on a table. Each stage's generation is raised, by which those notice
 * who look tables up by name outside one statement.
 *
 * @param tx a transaction of Wharf's own login, which is the last thing of the import.
 * @param keptUntil when the schemas that were replaced may be dropped.
 * @throws {AppError} CONFLICT where a stage was swapped since.
 */
export async function swapStages(
  tx: Transaction,
  swaps: readonly Swap[],
  { tokenId, keptUntil }: { readonly tokenId: string | null; readonly keptUntil: Date },
): Promise<void> {
  for (const { stage, generation, schemaName, contents } of swaps) {
    const raised = await tx.stageState.updateMany({
      where: { stageId: stage.stageId, generation },
      data: { generation: { increment: 1 } },
    })
    if (raised.count !== 1) throw conflict('the stage was replaced by somebody else in the meantime; try again')
    const replaced = sideName(stage, 'old')
    await rename(tx, stage.schemaName, replaced)
    await rename(tx, schemaName, stage.schemaName)
    await tx.sideSchema.delete({ where: { schemaName } })
    await expireKept(tx, stage.stageId)
    await tx.sideSchema.create({
      data: {
        schemaName: replaced,
        stageId: stage.stageId,
        kind: 'kept',
        expiresAt: keptUntil,
        replacedBy: { transaction: contents.transaction, rows: { ...contents.rows } },
      },
    })
    await tx.$queryRaw`SELECT wharf.record_import(${stage.stageId}::uuid, ${tokenId}::uuid)::text`
  }
}

const rename = (tx: Transaction, from: string, to: string): Promise<number> =>
  tx.$executeRawUnsafe(`ALTER SCHEMA ${quoteIdentifier(from)} RENAME TO ${quoteIdentifier(to)}`)

/**
 * Only what the last import replaced is kept. What was kept before is left to the sweep: dropping it here could wait, and
 * the swap with it, for an export that still reads it.
 */
export const expireKept = (tx: Transaction, stageId: string): Promise<unknown> =>
  tx.sideSchema.updateMany({ where: { stageId, kind: 'kept' }, data: { expiresAt: new Date() } })
