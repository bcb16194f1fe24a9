import { z } from 'zod'
import type { Transaction } from '../../database/database.ts'
import { Prisma } from '../../database/generated/client.ts'
import { AppError, conflict } from '../../errors.ts'
import { recordCrash } from '../../events/record-crash.ts'
import { readReference } from '../../events/reference.ts'
import { renameSchema } from '../../projects/project-objects.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import { readGrantsState } from '../structure/grants/stage-grants.ts'
import type { Query } from '../structure/query.ts'
import { assertNotChanging } from './assert-settled.ts'
import { countSchemaRows, listTables } from './count-rows.ts'
import { undoExternal } from './external/undo-external.ts'
import { findKept } from './find-kept.ts'
import { busyIfLocked, lockAgainstWrites } from './lock-against-writes.ts'
import { type StageIdentity, shadowName } from './shadow-schemas.ts'
import { recordImport } from './swap-stages.ts'
import {
  NOTHING_TO_UNDO,
  replacedMeanwhile,
  type Undone,
  type UndoneStage,
  type UndoOptions,
  type UndoServices,
} from './undo-options.ts'
import { exchanged, type UndoneImport, undoneImportSchema } from './undone-import.ts'

const replacedBySchema = undoneImportSchema.extend({
  reference: z.string(),
  transactions: z.array(z.string()).optional(),
  /** The same, separated by commas: what earlier versions wrote. */
  transaction: z.string().optional(),
  tables: z.array(z.string()),
  /** Earlier versions did not write down which rights there were. */
  rights: z.string().optional(),
})

/**
 * Puts back what the last import or transfer replaced. What the stage had until now is kept in its turn, for as long as after
 * an import, so that an undo can be undone.
 *
 * @param database the stage's, as the project's own login sees it. It counts the rows, before anything is locked: that
 *   evaluates the project's own policies, which may take long.
 * @throws {AppError} CONFLICT where nothing is kept, where its rows cannot be counted, or where somebody is writing;
 *   WRITTEN_SINCE where `force` is missing; PROJECT_BUSY where the project has too many imports under way.
 */
export async function undoImport(services: UndoServices, stage: UndoneStage, options: UndoOptions): Promise<Undone> {
  const { system, imports, importTurns, undoHours } = services
  if (!stage.isOwn) return undoExternal(services, stage, options)
  const { force, tokenId, authorise, onUndone } = options
  return importTurns.take([stage.projectId], async () => {
    await recordCrash(system.pool)
    const found = await system.prisma.$transaction((tx) => findUndoable(tx, stage, force))
    const tables = await countSchemaRows(stage, found.schemaName)
    return withStageLocks({ imports, system }, [stage.stageId], (lost) =>
      system.prisma
        .$transaction(
          async (tx) => {
            await lockAgainstWrites(tx, [stage.schemaName])
            await authorise(tx)
            const kept = await findUndoable(tx, stage, force)
            if (kept.schemaName !== found.schemaName) throw replacedMeanwhile()
            const replaced = await exchange(tx, stage, kept.schemaName, undoHours)
            const now = exchanged(undoneImportSchema.parse(kept.replacedBy ?? {}))
            await recordExchange(tx, stage, { replaced, tokenId, now })
            await onUndone(tx, now)
            // Without the locks, another may have begun to import.
            lost.throwIfAborted()
            return { replacedAt: kept.createdAt, tables }
          },
          { timeout: 10 * 60_000 },
        )
        .catch((error: unknown) => {
          throw busyIfLocked(error)
        }),
    )
  })
}

/** What the stage's last import replaced, where it may be put back. */
async function findUndoable(
  tx: Transaction,
  stage: StageIdentity,
  force: boolean,
): Promise<{ readonly schemaName: string; readonly createdAt: Date; readonly replacedBy: unknown }> {
  const kept = await findKept(tx, stage.stageId)
  if (!kept) throw conflict(NOTHING_TO_UNDO)
  if (!force) await assertUnwritten(tx, stage, kept.replacedBy)
  return kept
}

/** @returns the name that what was replaced has now. */
async function exchange(tx: Transaction, stage: StageIdentity, keptSchema: string, undoHours: number): Promise<string> {
  const replaced = shadowName(stage, 'old')
  await tx.$executeRawUnsafe(renameSchema(stage.schemaName, replaced))
  await tx.$executeRawUnsafe(renameSchema(keptSchema, stage.schemaName))
  await tx.$executeRaw`
    UPDATE system.side_schema
       SET schema_name = ${replaced}, created_at = now(),
           expires_at = GREATEST(expires_at, now() + make_interval(hours => ${undoHours}::int))
     WHERE schema_name = ${keptSchema}`
  await tx.stageState.update({ where: { stageId: stage.stageId }, data: { generation: { increment: 1 } } })
  return replaced
}

/** Writes down what the stage has now, as an import does, so that its own undo finds what was changed after it. */
async function recordExchange(
  tx: Transaction,
  { stageId, schemaName }: StageIdentity,
  {
    replaced,
    tokenId,
    now,
  }: { readonly replaced: string; readonly tokenId: string | null; readonly now: UndoneImport },
): Promise<void> {
  const tables = await listTables(tx, schemaName)
  const rights = await readGrantsState((sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters), schemaName)
  // What it had before its import can be of many transactions.
  const made = await tx.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT xmin::text AS id FROM (${objectsOf(schemaName)}) AS made`
  const reference = await recordImport(tx, stageId, tokenId)
  const replacedBy = { reference, transactions: made.map(({ id }) => id), tables, rights, ...now }
  await tx.shadowSchema.update({ where: { schemaName: replaced }, data: { replacedBy } })
}

/** The rows of PostgreSQL's catalogs by which a change of a schema is found. */
const objectsOf = (schemaName: string): Prisma.Sql => Prisma.sql`
  WITH schema AS (SELECT to_regnamespace(quote_ident(${schemaName})) AS oid)
  SELECT pg_class.xmin FROM pg_class, schema WHERE relnamespace = schema.oid
  UNION ALL
  SELECT pg_proc.xmin FROM pg_proc, schema WHERE pronamespace = schema.oid
  UNION ALL
  SELECT pg_trigger.xmin FROM schema JOIN pg_class ON relnamespace = schema.oid JOIN pg_trigger ON tgrelid = pg_class.oid`

/** The last event must be the import's, and the structure and the rights those that it made: plain SQL can change these unlogged. */
async function assertUnwritten(tx: Transaction, { stageId, schemaName }: StageIdentity, of: unknown): Promise<void> {
  const replacedBy = replacedBySchema.safeParse(of).data
  await assertNotChanging((sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters), schemaName)
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
  { transactions, transaction = '', tables, rights }: z.infer<typeof replacedBySchema>,
): Promise<boolean> {
  if ((await listTables(tx, schemaName)).length !== tables.length) return false
  const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
  if (rights !== undefined && (await readGrantsState(query, schemaName)) !== rights) return false
  const made = transactions ?? transaction.split(',')
  const changed = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM (${objectsOf(schemaName)}) AS now WHERE xmin::text <> ALL (${made}) LIMIT 1`
  return changed.length === 0
}
