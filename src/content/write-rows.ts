import type pg from 'pg'
import { AppError, invalidRequest } from '../errors.ts'
import { ENTER_STAGE, STAGE_REFERENCE } from '../events/statements.ts'
import { isStructureFailure, type RereadVersion, type Source, untilConsistent } from './consistent-read.ts'
import { type Form, formIn, type Preferences } from './preferences.ts'
import {
  POSTGREST,
  POSTGREST_SAYS,
  planDelete,
  planInsert,
  planPut,
  planUpdate,
  type QueryParameters,
  type StageCatalog,
  type WritePlan,
  type WriteRow,
} from './query/index.ts'
import { notOneRow, type ReadingLimits, type ReadingServices } from './read-rows.ts'
import { inStageTransaction } from './stage-transaction.ts'
import { statementFailure } from './statement-failure.ts'

/** What is to be written, and what the answer shall show of it. */
export interface RowsWrite {
  readonly kind: 'insert' | 'update' | 'put' | 'delete'
  readonly table: string
  readonly parameters: QueryParameters
  /** JSON text; none for a `delete`. */
  readonly body: string | undefined
  readonly form: Form
  readonly preferences: Preferences
  /** Whether who writes may read rows, too. */
  readonly mayRead: boolean
  /** In whose name it is written; undefined for the root token, and for nobody. */
  readonly tokenId: string | undefined
}

export interface Written {
  /** The event that the write caused; undefined where it changed nothing. */
  readonly reference: string | undefined
  readonly rows: number
  /** How many of these were there before, and were changed by an insert. */
  readonly merged: number
  /** Whether an insert matched rows with those that are there, as `resolution` says. */
  readonly matched: boolean
  /** The rows written, where they were asked for. */
  readonly body: string | undefined
  readonly contentType: string
  /** The key of the row inserted, by column, where it was asked for. */
  readonly key: string | undefined
}

export type WritingServices = Omit<ReadingServices, 'limits'> & Pick<ReadingLimits, 'timeoutMs'>

/**
 * Writes rows, whole or not at all.
 *
 * An import into the stage shuts it for writes: they are refused, and none that was acknowledged vanishes in the swap.
 *
 * @throws {AppError} NOT_FOUND, INVALID_REQUEST; CONFLICT for a key that is there already, or a row that is referred
 * to, and with `Retry-After` where the stage is shut; CONSTRAINT_VIOLATED; NOT_ACCEPTABLE where exactly one row was
 * asked for and another number was written, INVALID_REQUEST where more than `max-affected`; QUERY_TIMED_OUT. Nothing
 * is changed then, nor with `tx=rollback`, which is answered as if it were.
 */
export const writeRows = (source: Source, write: RowsWrite, services: WritingServices): Promise<Written> =>
  untilConsistent(source, services, async ({ structure }, isLast) => {
    const { pool, stage, extensionSchemas } = source
    const { catalogs, timeoutMs } = services
    const at = { pool, stageId: stage.id, schemaName: stage.schemaName, extensionSchemas, structure, timeoutMs }
    const plan = await catalogs.plan(at, (catalog) => {
      const form = formIn(catalog, write.form)
      return { ...planFor(catalog, { ...write, form }), form }
    })
    if (!plan.filtered) throw unfiltered(write.kind)
    return tryToWrite(source, plan, { ...write, form: plan.form }, { structure, ...services }).catch(
      (error: unknown) => {
        if (isStructureFailure(error) && !isLast) return undefined
        // What a view does not show of a table, an error does not say.
        throw statementFailure(plan, error, { saysKeys: write.mayRead && !plan.isView })
      },
    )
  })

function planFor(
  catalog: StageCatalog,
  { kind, table, parameters, body = '', form, preferences }: RowsWrite,
): WritePlan {
  const options = { format: form.format, stripNulls: form.stripNulls, return: preferences.return ?? 'minimal' } as const
  if (kind === 'delete') return planDelete(catalog, table, parameters, options)
  if (kind === 'put') return planPut(catalog, table, parameters, body, options)
  const missing = preferences.missing ?? 'null'
  if (kind === 'update') return planUpdate(catalog, table, parameters, body, { ...options, missing })
  const onDuplicate = { 'merge-duplicates': 'merge', 'ignore-duplicates': 'ignore' } as const
  return planInsert(catalog, table, parameters, body, {
    ...options,
    onDuplicate: preferences.resolution ? onDuplicate[preferences.resolution] : 'fail',
    missing,
  })
}

/** @returns undefined where the structure is no longer the one that was planned for; nothing is changed then. */
function tryToWrite(
  { pool, stage, extensionSchemas }: Source,
  plan: WritePlan,
  write: RowsWrite,
  { structure, rereadVersion, timeoutMs }: WritingServices & { readonly structure: string },
): Promise<Written | undefined> {
  const { schemaName } = stage
  const { table, preferences, tokenId } = write
  const rollsBack = preferences.tx === 'rollback'
  const { timezone } = preferences
  const shared = { schemaName, extensionSchemas, table, timeoutMs, tokenId, timezone, rollsBack }
  return inStageTransaction(pool, { mode: 'READ WRITE', ...shared }, async (client) => {
    await enter(client, stage.id)
    // From here on neither an import nor a change of structure can come in between.
    const before = await rereadVersion(stage.id)
    if (before.structure !== structure) return undefined
    const { rows } = await client.query<WriteRow>(plan.statement.text, [...plan.statement.values])
    const [row] = rows
    if (!row) throw new Error('a write gave no row')
    const count = Number(row.rows)
    assertWanted(count, write)
    const find = plan.isView
      ? () => causedEvent(client, stage.id, before.reference, rereadVersion)
      : () => latestEvent(client, stage.id)
    const reference = count > 0 ? await find() : undefined
    return {
      reference: rollsBack ? undefined : reference,
      rows: count,
      merged: Number(row.merged),
      matched: plan.matches,
      body: preferences.return === 'representation' ? (row.body ?? '') : undefined,
      contentType: write.form.contentType,
      key: row.key ?? undefined,
    }
  })
}

/** Makes sure that as many rows were written as the client wants, whether it is shown them or not. */
function assertWanted(count: number, { kind, form, preferences }: RowsWrite): void {
  if (kind === 'put' && count !== 1) {
    const problem = 'the body has no row with the primary key that the filters name; nothing was changed'
    throw invalidRequest(problem, [], POSTGREST.putOfAnotherKey, POSTGREST_SAYS.putOfAnotherKey)
  }
  if (form.format === 'object' && count !== 1) throw notOneRow(count)
  assertAtMost(count, preferences['max-affected'])
}

/** @throws {AppError} INVALID_REQUEST where more rows were written than may be. */
export function assertAtMost(count: number, most: number | undefined): void {
  if (most === undefined || count <= most) return
  const problem = `${count} rows would be written, and at most ${most} may be (max-affected); nothing was changed`
  throw invalidRequest(problem, [], POSTGREST.tooManyAffected, POSTGREST_SAYS.tooManyAffected(count))
}

/**
 * Lets a transaction write to a stage.
 *
 * @throws {AppError} CONFLICT where the stage is shut.
 */
export async function enter(client: pg.PoolClient, stageId: string): Promise<void> {
  const { rows } = await client.query<{ open: boolean }>(ENTER_STAGE, [stageId])
  if (rows[0]?.open) return
  throw new AppError(
    'CONFLICT',
    'an import or a change of structure of this stage is under way, and until it has ended no rows can be written',
    { retryAfterSeconds: 5 },
  )
}

/**
 * The stage's latest event as this transaction sees it: what is put off to its end is done now, and where that wrote, nobody
 * else can move the stage's reference before it ends.
 */
async function latestEvent(client: pg.PoolClient, stageId: string): Promise<string | undefined> {
  await client.query('SET CONSTRAINTS ALL IMMEDIATE')
  const { rows } = await client.query<{ reference: string }>(STAGE_REFERENCE, [stageId])
  return rows[0]?.reference
}

/**
 * The event of this transaction; undefined where it changed nothing in the stage.
 *
 * @param before the stage's reference after `enter`.
 */
export async function causedEvent(
  client: pg.PoolClient,
  stageId: string,
  before: string,
  rereadVersion: RereadVersion,
): Promise<string | undefined> {
  const reference = await latestEvent(client, stageId)
  if (reference === before) return undefined
  // What others see already is theirs.
  return (await rereadVersion(stageId)).reference === reference ? undefined : reference
}

const unfiltered = (kind: RowsWrite['kind']): AppError =>
  invalidRequest(
    `${kind === 'update' ? 'PATCH' : 'DELETE'} without a filter would write every row of the table; say which ones, e.g. "?id=eq.1"`,
  )
