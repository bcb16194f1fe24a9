import { z } from 'zod'
import type { Database, Transaction } from '../../database/database.ts'
import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { AppError, conflict } from '../../errors.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import { type StageIdentity, sideName } from './side-schemas.ts'

const contentsSchema = z.object({ transaction: z.string(), rows: z.record(z.string(), z.number()) })

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
 * @throws {AppError} CONFLICT where nothing is kept; WRITTEN_SINCE where `force` is missing.
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
          where: { stageId: stage.stageId, kind: 'kept', expiresAt: { gt: new Date() } },
        })
        if (!kept) throw conflict(NOTHING_TO_UNDO)
        if (!force) await assertUnwritten(tx, stage, kept.replacedBy)
        await exchange(tx, stage, kept.schemaName)
        await tx.$queryRaw`SELECT wharf.record_import(${stage.stageId}::uuid, ${tokenId}::uuid)::text`
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
  // What the stage was before an import has rows of many transactions, so later writes cannot be told from it.
  await tx.$executeRaw`
    UPDATE system.side_schema SET schema_name = ${replaced}, replaced_by = NULL, created_at = now()
    WHERE schema_name = ${keptSchema}`
  await tx.stageState.update({ where: { stageId: stage.stageId }, data: { generation: { increment: 1 } } })
}

/** Locks the tables against writes, so that none comes between this look and the exchange. */
async function assertUnwritten(tx: Transaction, stage: StageIdentity, replacedBy: unknown): Promise<void> {
  const contents = contentsSchema.safeParse(replacedBy).data
  const tables = await listTables(tx, stage.schemaName)
  if (tables.length > 0) await lockAgainstWrites(tx, stage.schemaName, tables)
  if (contents && (await isAsLoaded(tx, stage.schemaName, tables, contents))) return
  throw new AppError(
    'WRITTEN_SINCE',
    'the stage was, or may have been, written to since: undo with force, which gives these writes up',
  )
}

async function lockAgainstWrites(tx: Transaction, schemaName: string, tables: readonly string[]): Promise<void> {
  const names = tables.map((table) => quoteQualified(schemaName, table)).join(', ')
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '2s'`)
  await tx.$executeRawUnsafe(`LOCK TABLE ${names} IN SHARE MODE`).catch((error: unknown) => {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    throw conflict('somebody is writing to the stage; try again when that has ended')
  })
}

async function isAsLoaded(
  tx: Transaction,
  schemaName: string,
  tables: readonly string[],
  { transaction, rows }: z.infer<typeof contentsSchema>,
): Promise<boolean> {
  if (tables.length !== Object.keys(rows).length || !(await isBuiltAsLoaded(tx, schemaName, transaction))) return false
  for (const table of tables) {
    const [found] = await tx.$queryRawUnsafe<{ all: number; loaded: number }[]>(
      `SELECT count(*)::float8 AS all, count(*) FILTER (WHERE xmin::text = $1)::float8 AS loaded
         FROM ONLY ${quoteQualified(schemaName, table)}`,
      transaction,
    )
    if (found?.all !== rows[table] || found?.loaded !== found?.all) return false
  }
  return true
}

/** Whatever is made or altered in a schema leaves a row of its own transaction here. */
async function isBuiltAsLoaded(tx: Transaction, schemaName: string, transaction: string): Promise<boolean> {
  const changed = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(${schemaName})) AND xmin::text <> ${transaction}
    UNION ALL
    SELECT 1 FROM pg_proc WHERE pronamespace = to_regnamespace(quote_ident(${schemaName})) AND xmin::text <> ${transaction}
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
