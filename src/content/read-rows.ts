import { randomUUID } from 'node:crypto'
import { SQLSTATE, sqlMessage, sqlState } from '../database/sqlstate.ts'
import { AppError, invalidRequest, RangeNotSatisfiable } from '../errors.ts'
import type { SeenVersion } from '../events/reference-sql.ts'
import type { ContentAnswer } from './answer.ts'
import type { Catalogs } from './catalogs.ts'
import { consistentRead, type RereadVersion, type Source } from './consistent-read.ts'
import { type Form, type FormHere, formIn, type RowRange } from './preferences.ts'
import {
  type CountKind,
  findTable,
  POSTGREST,
  POSTGREST_SAYS,
  planRead,
  type QueryParameters,
  type ReadPlan,
  type ReadRow,
  readTotal,
} from './query/index.ts'
import { readInStage } from './stage-transaction.ts'
import { statementFailure } from './statement-failure.ts'

/** What is asked for. */
export interface RowsQuery {
  readonly form: Form
  readonly table: string
  readonly parameters: QueryParameters
  readonly count: CountKind | undefined
  readonly range: RowRange | undefined
  readonly timezone: string | undefined
}

export interface ReadingLimits {
  /** How long a statement may take. */
  readonly timeoutMs: number
  /** How many rows are given at once, whatever is asked for. */
  readonly maxRows: number
  /** How long an answer may be, uncompressed. */
  readonly maxBytes: number
}

export interface ReadingServices {
  readonly catalogs: Catalogs
  readonly rereadVersion: RereadVersion
  readonly limits: ReadingLimits
}

/** What was read. Of what is unseen by the stage's log, the answer has a reference that does not come again. */
export interface RowsRead {
  /** Uncompressed. */
  readonly answer: ContentAnswer
  readonly unseen: boolean
}

/**
 * Reads rows and the reference that they belong to, of one moment.
 *
 * @throws {AppError} NOT_FOUND, INVALID_REQUEST, RANGE_NOT_SATISFIABLE, NOT_ACCEPTABLE where exactly one row was asked
 * for and there is another number of them; QUERY_TIMED_OUT; CONFLICT where the stage goes on changing its structure.
 */
export async function readRows(source: Source, query: RowsQuery, services: ReadingServices): Promise<RowsRead> {
  const found = await consistentRead(source, services, (version) => readOnce({ ...source, version }, query, services))
  return { answer: toAnswer(found, services.limits), unseen: found.plan.unseen }
}

/** A plan, with the form that its answer has. */
interface RowsPlan extends ReadPlan {
  readonly form: FormHere
}

/** Plans a read. @throws {AppError} NOT_FOUND, INVALID_REQUEST, NOT_ACCEPTABLE. */
export function planRows(
  { pool, stage, version, extensionSchemas, reference }: Omit<Source, 'toSeen'>,
  query: RowsQuery,
  { catalogs, limits }: Pick<ReadingServices, 'catalogs'> & { limits: Omit<ReadingLimits, 'maxBytes'> },
): Promise<RowsPlan> {
  const { id: stageId, schemaName } = stage
  const { structure } = version
  const at = { pool, stageId, schemaName, extensionSchemas, structure, timeoutMs: limits.timeoutMs }
  return catalogs.plan(at, (catalog) => {
    const form = formIn(catalog, query.form, () => ({
      table: findTable(catalog, query.table),
      isSelected: query.parameters.some(([name]) => name === 'select'),
    }))
    const plan = planRead(catalog, query.table, query.parameters, {
      format: form.format,
      stripNulls: form.stripNulls,
      aggregate: form.aggregate,
      maxRows: limits.maxRows,
      ...(query.count && { count: query.count }),
      ...(query.range && { range: query.range }),
      reference,
    })
    return { form, ...plan }
  })
}

interface Found {
  readonly seen: SeenVersion
  readonly row: ReadRow
  readonly total: number | null
  readonly plan: Pick<RowsPlan, 'offset' | 'unseen' | 'form'>
}

async function readOnce(
  { pool, stage, version, extensionSchemas, reference, toSeen }: Source,
  query: RowsQuery,
  { catalogs, limits: { timeoutMs, maxRows } }: ReadingServices,
): Promise<Found> {
  const { schemaName } = stage
  const { structure } = version
  const plan = await planRows({ pool, stage, version, extensionSchemas, reference }, query, {
    catalogs,
    limits: { timeoutMs, maxRows },
  })
  const options = { schemaName, extensionSchemas, table: query.table, timeoutMs, structure, timezone: query.timezone }
  try {
    const [row] = await readInStage<SeenVersion & ReadRow>(pool, options, plan.statement)
    if (!row) throw new Error('a read gave no row')
    const total = await readTotal(plan, row, (statement) => readInStage(pool, options, statement))
    return { seen: toSeen(row, version), row, total, plan }
  } catch (error) {
    throw wouldWrite(error) ?? statementFailure(plan, error)
  }
}

/** Reads run in transactions that are read-only, whatever the database takes: a view calls what writes, such as `nextval`. */
function wouldWrite(error: unknown): AppError | undefined {
  if (sqlState(error) !== SQLSTATE.readOnlyTransaction) return undefined
  const message = `a read writes nothing, and this one would, by a function that it calls: ${sqlMessage(error)}`
  return new AppError('INVALID_REQUEST', message, { cause: error })
}

function toAnswer(
  { seen, row, total, plan: { offset, unseen, form } }: Found,
  { maxBytes }: ReadingLimits,
): ContentAnswer {
  const found = Number(row.rows)
  if (form.format === 'object' && found !== 1) throw notOneRow(found)
  if (total !== null && offset > 0 && offset > total) {
    const postgrest = POSTGREST_SAYS.offsetBeyondEnd(offset, total)
    const problem = `the rows asked for begin at ${offset}, and there are ${total}`
    throw new RangeNotSatisfiable(problem, `*/${total}`, { postgrest })
  }
  const body = Buffer.from(row.body ?? '', form.aggregate?.givesBytes ? 'hex' : 'utf8')
  if (body.byteLength > maxBytes) {
    throw invalidRequest(
      `the answer would have ${body.byteLength} bytes, and at most ${maxBytes} are sent at once; ask for fewer rows with "limit"`,
    )
  }
  return {
    status: total !== null && found < total ? 206 : 200,
    reference: unseen ? randomUUID() : seen.reference,
    contentType: form.contentType,
    contentRange: contentRangeOf(offset, found, total),
    coding: 'identity',
    body,
  }
}

/** As PostgREST writes it: `0-9/100`, with `*` for what is not known, or for no rows. */
export const contentRangeOf = (offset: number, rows: number, total: number | null): string =>
  `${rows > 0 && total !== 0 ? `${offset}-${offset + rows - 1}` : '*'}/${total ?? '*'}`

export const notOneRow = (rows: number): AppError =>
  new AppError('NOT_ACCEPTABLE', `exactly one row was asked for, and there ${rows === 0 ? 'is none' : 'are more'}`, {
    faults: [{ detail: `The result contains ${rows} rows` }],
    postgrestCode: POSTGREST.notOneRow,
    postgrest: POSTGREST_SAYS.notOneRow(rows),
  })
