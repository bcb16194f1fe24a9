import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { type AppError, invalidRequest, MethodNotAllowed, RangeNotSatisfiable } from '../errors.ts'
import type { SeenVersion } from '../events/reference-sql.ts'
import type { ContentAnswer } from './answer.ts'
import { consistentRead, isStructureFailure, type Source, untilConsistent } from './consistent-read.ts'
import type { Preferences, RowRange } from './preferences.ts'
import {
  type CallForm,
  type CallPlan,
  type CallRow,
  type CatalogFunction,
  type FunctionCall,
  POSTGREST,
  POSTGREST_SAYS,
  planCall,
  type ReadRow,
} from './query/index.ts'
import { contentRangeOf, notOneRow, type ReadingServices } from './read-rows.ts'
import { inStageTransaction } from './stage-transaction.ts'
import { statementFailure } from './statement-failure.ts'
import { assertAtMost, causedEvent, enter } from './write-rows.ts'

/** A call of a function, and what the answer shall show of its result. */
export interface CallQuery {
  readonly call: FunctionCall
  /** In which forms the client takes it, the one that it likes best first. */
  readonly forms: readonly CallForm[]
  /** Whether all results are counted. */
  readonly count: boolean
  readonly range: RowRange | undefined
  readonly preferences: Pick<Preferences, 'tx' | 'timezone' | 'max-affected'>
  /** In whose name it writes; undefined for the root token, and for nobody. */
  readonly tokenId: string | undefined
}

/** What a call read; no answer where the function gives nothing. */
export interface FunctionRead {
  /** Uncompressed. */
  readonly answer: ContentAnswer | undefined
  /** As of rows, see `RowsRead`. */
  readonly unseen: boolean
}

/** What a call gave that may have written. */
export interface Called {
  /** Undefined for a function that gives nothing. */
  readonly answer: Omit<ContentAnswer, 'reference'> | undefined
  /** The event that the call caused; undefined where it changed nothing in the stage. */
  readonly reference: string | undefined
}

/**
 * Plans a call.
 *
 * @throws {AppError} NOT_FOUND, AMBIGUOUS_FUNCTION, INVALID_REQUEST.
 */
export function planFunction(
  { pool, stage, version, extensionSchemas, reference }: Omit<Source, 'toSeen'>,
  { call, forms, count, range }: CallQuery,
  { catalogs, limits: { timeoutMs, maxRows } }: ReadingServices,
): Promise<CallPlan> {
  const { id: stageId, schemaName } = stage
  const at = { pool, stageId, schemaName, extensionSchemas, structure: version.structure, timeoutMs }
  const options = { forms, count, maxRows, ...(range && { range }), reference }
  return catalogs.plan(at, (catalog) => planCall(catalog, call, options))
}

/**
 * Calls a function in a transaction that is read only.
 *
 * All that it asks has one snapshot, but finds its tables by name while it runs. So the stage is looked at again
 * afterwards: where it was swapped meanwhile, what was read is of no one moment.
 *
 * @throws {AppError} as `readRows` does; METHOD_NOT_ALLOWED where the function writes; RAISED.
 */
export async function readFunction(source: Source, query: CallQuery, services: ReadingServices): Promise<FunctionRead> {
  const { seen, row, plan } = await consistentRead(source, services, async (version) => {
    const found = await readOnce({ ...source, version }, query, services)
    const now = await services.rereadVersion(source.stage.id)
    const isSame = now.structure === version.structure && now.generation === found.seen.generation
    return isSame ? found : { ...found, seen: { ...found.seen, in_place: false } }
  })
  const answer = toAnswer(plan, row, services)
  const { unseen } = plan
  return { answer: answer && { ...answer, reference: unseen ? randomUUID() : seen.reference }, unseen }
}

interface Found {
  readonly seen: SeenVersion
  readonly row: ReadRow
  readonly plan: CallPlan
}

async function readOnce(source: Source, query: CallQuery, services: ReadingServices): Promise<Found> {
  const { pool, stage, version, extensionSchemas, toSeen } = source
  const { limits, rereadVersion } = services
  const plan = await planFunction(source, query, services)
  const { timezone } = query.preferences
  const options = { schemaName: stage.schemaName, extensionSchemas, ...limits, table: plan.called.name, timezone }
  return inStageTransaction(pool, { mode: 'READ ONLY', callsFunctions: true, ...options }, async (client) => {
    const row = await callOnce<SeenVersion>(client, plan)
    return { seen: toSeen(row, version), row, plan }
  }).catch(async (error: unknown) => {
    if (sqlState(error) === SQLSTATE.readOnlyTransaction) throw writes(plan.called, error)
    if (!isStructureFailure(error)) throw statementFailure(plan, error)
    // What the function itself names and does not find is a reason to call it again only where the stage has changed.
    const isStale = isOutside(error) || (await rereadVersion(stage.id)).structure !== version.structure
    throw isStale ? error : statementFailure(plan, error)
  })
}

/**
 * Calls a function that may write, and commits what it wrote; nothing where it fails, or its answer cannot be sent.
 *
 * An import into the stage shuts it for writes, as for `writeRows`.
 *
 * @throws {AppError} as `writeRows` does; RAISED.
 */
export const callFunction = (source: Source, query: CallQuery, services: ReadingServices): Promise<Called> =>
  untilConsistent(source, services, async (version, isLast) => {
    const { pool, stage, extensionSchemas } = source
    const plan = await planFunction({ ...source, version }, query, services)
    const { limits, rereadVersion } = services
    const { schemaName } = stage
    const { tx, timezone } = query.preferences
    const rollsBack = tx === 'rollback'
    const options = { schemaName, extensionSchemas, ...limits, table: plan.called.name, tokenId: query.tokenId }
    const transaction = { mode: 'READ WRITE', ...options, timezone, rollsBack } as const
    return inStageTransaction(pool, transaction, async (client) => {
      await enter(client, stage.id)
      // From here on neither an import nor a change of structure can come in between.
      const before = await rereadVersion(stage.id)
      if (before.structure !== version.structure) return undefined
      const row = await callOnce<SeenVersion>(client, plan)
      assertFew(plan, row, query)
      const answer = toAnswer(plan, row, services)
      const reference = await causedEvent(client, stage.id, before.reference, rereadVersion)
      return { answer, reference: rollsBack ? undefined : reference }
    }).catch((error: unknown) => {
      if (isStructureFailure(error) && isOutside(error) && !isLast) return undefined
      // Who may call a function may read the stage.
      throw statementFailure(plan, error, { saysKeys: true })
    })
  })

/** Whether a failure is one of the calling statement, and not of what the function does. */
const isOutside = (error: unknown): boolean => error instanceof pg.DatabaseError && error.where === undefined

async function callOnce<Beside>(client: pg.PoolClient, { statement }: CallPlan): Promise<Beside & CallRow> {
  const { rows } = await client.query<Beside & CallRow>(statement.text, [...statement.values])
  const [row] = rows
  if (!row) throw new Error('a call gave no row')
  return row
}

/** As many rows as a call gives are those that it may have written: only of a set can it be said how many. */
function assertFew({ called }: CallPlan, row: CallRow, { preferences }: CallQuery): void {
  const most = preferences['max-affected']
  if (most === undefined) return
  if (!called.set) {
    const why = `the function "${called.name}" returns no set of rows, so max-affected says nothing about it`
    throw invalidRequest(why, [], POSTGREST.affectedUnknown, POSTGREST_SAYS.affectedUnknown)
  }
  assertAtMost(Number(row.results), most)
}

function toAnswer(
  { called, form, offset }: CallPlan,
  row: ReadRow,
  { limits: { maxBytes } }: ReadingServices,
): Called['answer'] {
  if (called.result.kind === 'nothing') return undefined
  const { total } = row
  const found = Number(row.rows)
  if (form.format === 'object' && found !== 1) throw notOneRow(found)
  if (total !== null && offset > 0 && offset > total) {
    const postgrest = POSTGREST_SAYS.offsetBeyondEnd(offset, total)
    const problem = `the results asked for begin at ${offset}, and there are ${total}`
    throw new RangeNotSatisfiable(problem, `*/${total}`, { postgrest })
  }
  const body = Buffer.from(row.body ?? '', form.raw === 'bytea' ? 'hex' : 'utf8')
  if (body.byteLength > maxBytes) {
    const given = `the answer would have ${body.byteLength} bytes, and at most ${maxBytes} are sent at once`
    throw invalidRequest(`${given}; ask for fewer results with "limit"`)
  }
  return {
    status: total !== null && found < total ? 206 : 200,
    contentType: form.contentType,
    contentRange: contentRangeOf(offset, found, total),
    coding: 'identity',
    body,
  }
}

function writes({ name, volatility }: CatalogFunction, cause: unknown): AppError {
  const declared = volatility === 'volatile' ? '' : ` is declared ${volatility.toUpperCase()}, and`
  const remedy = volatility === 'volatile' ? 'call it with POST' : 'declare it VOLATILE, and call it with POST'
  return new MethodNotAllowed(`the function "${name}"${declared} writes: ${remedy}`, 'POST, OPTIONS', { cause })
}
