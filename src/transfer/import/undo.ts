import { z } from 'zod'
import { readClock } from '../../database/clock.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import { AppError, conflict } from '../../errors.ts'
import { readReference } from '../../events/reference.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import { lockAgainstWrites } from './lock-against-writes.ts'
import { type StageIdentity, sideName } from './side-schemas.ts'
import { recordImport } from './swap-stages.ts'

const replacedBySchema = z.object({ reference: z.string(), transaction: z.string(), tables: z.array(z.string()) })

export interface Undone {
  /** When what was given back had been replaced. */
  readonly replacedAt: Date
  /** Rows by table that the stage has now. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
}

/**
 * Puts back what the last import or transfer replaced. What the stage had until now is kept in its turn, until the same
 * moment, so that an undo can be undone.
 *
 * @param force also where the stage was written to since: those writes are then kept with what is replaced.
 * @throws {AppError} CONFLICT where nothing is kept, or where somebody is writing; WRITTEN_SINCE where `force` is
 *   missing.
 */
export async function undoImport(
  { system, snapshots }: { readonly system: Database; readonly snapshots: Database },
  stage: StageIdentity,
  { force, tokenId }: { readonly force: boolean; readonly tokenId: string | null },
): Promise<Undone> {
  return withStageLocks(snapshots, [stage.stageId], () =>
    system.prisma.$transaction(
      async (tx) => {
        const kept = await tx.sideSchema.findFirst({
          where: { stageId: stage.stageId, kind: 'kept', expiresAt: { gt: await readClock(tx) } },
        })
        if (!kept) throw conflict(NOTHING_TO_UNDO)
        await lockAgainstWrites(tx, [stage.schemaName])
        if (!force) await assertUnwritten(tx, stage, kept.replacedBy)
        await exchange(tx, stage, kept.schemaName)
        await recordImport(tx, stage.stageId, tokenId)
        return { replacedAt: kept.createdAt, tables: await countRows(tx, stage.schemaName) }
      },
      { timeout: 10 * 60_000 },
    ),
  )
}

const NOTHING_TO_UNDO =
  'there is nothing to undo: no import replaced this stage, or what it replaced is not kept any more, or the last one ' +
  'was loaded in place, as for stages with views, triggers or the like'

async function exchange(tx: Transaction, stage: StageIdentity, keptSchema: string): Promise<void> {
  const replaced = sideName(stage, 'old')
  await tx.$executeRawUnsafe(`ALTER SCHEMA ${quoteIdentifier(stage.schemaName)} RENAME TO ${quoteIdentifier(replaced)}`)
  await tx.$executeRawUnsafe(
    `ALTER SCHEMA ${quoteIdentifier(keptSchema)} RENAME TO ${quoteIdentifier(stage.schemaName)}`,
  )
  // Its structure is of many transactions, so that later changes cannot be told from it.
  await tx.$executeRaw`
    UPDATE system.side_schema SET schema_name = ${replaced}, replaced_by = NULL, created_at = now()
    WHERE schema_name = ${keptSchema}`
  await tx.stageState.update({ where: { stageId: stage.stageId }, data: { generation: { increment: 1 } } })
}

/** The last event must be the import's, and the structure the one that it made: whoever changes that is not logged. */
async function assertUnwritten(tx: Transaction, { stageId, schemaName }: StageIdentity, of: unknown): Promise<void> {
  const replacedBy = replacedBySchema.safeParse(of).data
  const { reference } = await readReference({ prisma: tx }, stageId)
  if (replacedBy?.reference === reference && (await isBuiltAsLoaded(tx, schemaName, replacedBy))) return
  throw new AppError(
    'WRITTEN_SINCE',
    'the stage was, or may have been, written to since: undo with force, which gives these writes up',
  )
}

/** Whatever is made or altered in a schema leaves a row of its own transaction here, and what is dropped is missing. */
async function isBuiltAsLoaded(
  tx: Transaction,
  schemaName: string,
  { transaction, tables }: z.infer<typeof replacedBySchema>,
): Promise<boolean> {
  if ((await listTables(tx, schemaName)).length !== tables.length) return false
  const changed = await tx.$queryRaw<unknown[]>`
    WITH schema AS (SELECT to_regnamespace(quote_ident(${schemaName})) AS oid)
    SELECT 1 FROM pg_class, schema WHERE relnamespace = schema.oid AND pg_class.xmin::text <> ${transaction}
    UNION ALL
    SELECT 1 FROM pg_proc, schema WHERE pronamespace = schema.oid AND pg_proc.xmin::text <> ${transaction}
    UNION ALL
    SELECT 1 FROM schema JOIN pg_class ON relnamespace = schema.oid JOIN pg_trigger ON tgrelid = pg_class.oid
    WHERE pg_trigger.xmin::text <> ${transaction}
    LIMIT 1`
  return changed.length === 0
}

async function countRows(tx: Transaction, schemaName: string): Promise<Undone['tables']> {
  const counted = []
  for (const name of await listTables(tx, schemaName)) {
    const [row] = await tx.$queryRawUnsafe<{ rows: number }[]>(
      `SELECT count(*)::float8 AS rows FROM ONLY ${quoteQualified(schemaName, name)}`,
    )
    counted.push({ name, rows: row?.rows ?? 0 })
  }
  return counted
}

async function listTables(tx: Transaction, schemaName: string): Promise<readonly string[]> {
  const rows = await tx.$queryRaw<{ name: string }[]>`
    SELECT relname::text AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = ${schemaName} AND relkind = 'r' ORDER BY relname`
  return rows.map(({ name }) => name)
}
