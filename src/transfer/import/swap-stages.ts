import { readClock } from '../../database/clock.ts'
import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { conflict } from '../../errors.ts'
import { readReference, type StageReference } from '../../events/reference.ts'
import { RECORD_IMPORT } from '../../events/statements.ts'
import { giveSchema, renameSchema } from '../../projects/project-objects.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import { readGrantsState } from '../structure/grants/stage-grants.ts'
import type { Query } from '../structure/query.ts'
import { assertSettled, type Replaced } from './assert-settled.ts'
import { lockAgainstWrites } from './lock-against-writes.ts'
import { type StageIdentity, shadowName } from './shadow-schemas.ts'
import { schemaRights } from './stage-rights.ts'

/** A schema that is to take the place of a stage's own. */
export interface Swap {
  readonly stage: StageIdentity
  /**
   * Where the stage stood when the schema's loading began; elsewhere says that somebody wrote or swapped in between.
   */
  readonly before: StageReference
  /** What the rights in the stage were then. */
  readonly rightsState: string
  /** The schema that becomes the stage's own. */
  readonly schemaName: string
  readonly contents: LoadedContents
  /** The rights in the stage, of which those on the schema itself are still to be given. */
  readonly grants: readonly ObjectGrants[]
}

/** What a loaded schema holds, by which `undo` tells whether its structure was changed since. */
export interface LoadedContents {
  /**
   * The ids of the transaction that made everything in it, and of its subtransactions, as `xmin` has them: 32 bits, in decimal.
   */
  readonly transactions: readonly string[]
  readonly tables: readonly string[]
}

/**
 * Closes the stages to writers until the transaction ends, and makes sure that nobody wrote to them since their loading
 * began: what was written meanwhile would be lost with the schema that is replaced.
 *
 * @throws {AppError} CONFLICT where somebody wrote, is writing, or swapped, or granted rights or took some, or is about to.
 */
export async function lockStages(tx: Transaction, swaps: readonly Swap[]): Promise<void> {
  await lockAgainstWrites(
    tx,
    swaps.map(({ stage }) => stage.schemaName),
  )
  await tx.$queryRaw`
    SELECT 1 FROM system.stage_state WHERE stage_id::text = ANY (${swaps.map(({ stage }) => stage.stageId)}::text[])
    ORDER BY stage_id FOR NO KEY UPDATE`
  const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
  for (const { stage, before, rightsState } of swaps) {
    const now = await readReference({ prisma: tx }, stage.stageId)
    if (now.generation !== before.generation) {
      throw conflict('the stage was replaced by somebody else in the meantime; try again')
    }
    if (now.reference !== before.reference) {
      throw conflict('the stage was written to while the import ran; nothing was changed')
    }
    await assertSettled(query, { schemaName: stage.schemaName, rightsState })
    await assertOwned(query, stage)
  }
}

/** @throws {AppError} CONFLICT where the schema was given to another login, which what replaces it would not belong to. */
async function assertOwned(query: Query, { schemaName, login }: StageIdentity): Promise<void> {
  const [schema] = await query<{ owner: string }>(
    `SELECT pg_catalog.pg_get_userbyid(nspowner)::text AS owner FROM pg_catalog.pg_namespace
      WHERE nspname = $1::pg_catalog.name`,
    [schemaName],
  )
  if (schema?.owner === login) return
  throw conflict("the stage's schema was given to another login while the import ran; nothing was changed, try again")
}

/**
 * Lets schemas take the places of stages' own, all of them at one moment, and logs an `import` event for each.
 *
 * Renaming waits for no reader: it takes no lock on a table. Each stage's generation is raised, which shows the
 * swap to code that looks tables up by name outside one statement.
 *
 * @param tx a transaction of Wharf's own login, which is the last thing of the import, and holds the stages.
 * @param undoHours after how long the schemas that were replaced may be dropped.
 * @param jobId the job that imports; null where none does.
 * @returns what was replaced, by the names that it has now.
 */
export async function swapStages(
  tx: Transaction,
  swaps: readonly Swap[],
  {
    tokenId,
    undoHours,
    jobId,
  }: { readonly tokenId: string | null; readonly undoHours: number; readonly jobId: string | null },
): Promise<readonly Replaced[]> {
  const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
  const keptUntil = new Date((await readClock(tx)).getTime() + undoHours * 3_600_000)
  const kept: Replaced[] = []
  for (const { stage, schemaName, contents, grants, rightsState } of swaps) {
    const replaced = shadowName(stage, 'old')
    await tx.$executeRawUnsafe(renameSchema(stage.schemaName, replaced))
    await tx.$executeRawUnsafe(renameSchema(schemaName, stage.schemaName))
    await tx.$executeRawUnsafe(giveSchema(stage.schemaName, stage.login))
    for (const right of schemaRights(grants, stage.login, quoteIdentifier(stage.schemaName))) {
      await tx.$executeRawUnsafe(right)
    }
    await tx.stageState.update({ where: { stageId: stage.stageId }, data: { generation: { increment: 1 } } })
    await tx.shadowSchema.delete({ where: { schemaName } })
    await expireKept(tx, stage.stageId)
    const { transactions, tables } = contents
    const rights = await readGrantsState(query, stage.schemaName)
    const reference = await recordImport(tx, stage.stageId, tokenId)
    const replacedBy = { reference, transactions: [...transactions], tables: [...tables], rights, jobId }
    const { stageId } = stage
    await tx.shadowSchema.create({
      data: { schemaName: replaced, stageId, kind: 'kept', expiresAt: keptUntil, replacedBy },
    })
    kept.push({ schemaName: replaced, rightsState })
  }
  return kept
}

/** Logs an `import` event. @returns its id, which becomes the stage's reference. */
export async function recordImport(tx: Transaction, stageId: string, tokenId: string | null): Promise<string> {
  const [row] = await tx.$queryRawUnsafe<{ id: string }[]>(RECORD_IMPORT, stageId, tokenId)
  return row?.id ?? ''
}

/**
 * Only what the last import replaced is kept. The sweep drops what was kept before: dropping it here could wait, and
 * the swap with it, for an export that still reads it.
 */
export async function expireKept(tx: Transaction, stageId: string): Promise<void> {
  await tx.shadowSchema.updateMany({ where: { stageId, kind: 'kept' }, data: { expiresAt: await readClock(tx) } })
}
