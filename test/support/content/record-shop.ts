import pg from 'pg'
import {
  type InsertOptions,
  planDelete,
  planInsert,
  planRead,
  planUpdate,
  type QueryParameters,
  type ReadOptions,
  type ReadPlan,
  type ReadRow,
  readCatalog,
  readTotal,
  type StageCatalog,
  toRequestFailure,
  type WriteOptions,
  type WritePlan,
  type WriteRow,
} from '../../../src/content/query/index.ts'
import { createTestDatabase } from '../database/database.ts'
import { openStage, type StageSession } from '../database/stage-session.ts'

export const SCHEMA = 'shop.live'

/** What a read gave: `body` parsed where it is JSON. */
export interface Read extends Omit<ReadRow, 'body'> {
  readonly text: string | null
  readonly json: unknown
  readonly plan: ReadPlan
}

export interface Written extends Omit<WriteRow, 'body'> {
  readonly json: unknown
}

/** A stage, and the query dialect on it, without a service around it. */
export interface QueryStage {
  readonly catalog: StageCatalog
  readonly session: StageSession
  /** The rows of one table; `query` is the part of a URL after the question mark, and may be left unencoded. */
  rows(table: string, query?: string): Promise<unknown>
  read(table: string, query?: string, options?: Partial<ReadOptions>): Promise<Read>
  insert(table: string, body: unknown, query?: string, options?: Partial<InsertOptions>): Promise<Written>
  update(table: string, body: unknown, query?: string, options?: Partial<WriteOptions>): Promise<Written>
  delete(table: string, query?: string, options?: Partial<WriteOptions>): Promise<Written>
  close(): Promise<void>
}

/** Splits a query as a URL has it, without asking that it be encoded: only `&` and the first `=` have a meaning. */
const parametersOf = (query: string): QueryParameters =>
  query === ''
    ? []
    : query.split('&').map((part): [string, string] => {
        const at = part.indexOf('=')
        return [part.slice(0, at), part.slice(at + 1)]
      })

const REPRESENTATION = { format: 'json', return: 'representation' } as const

/** Opens a stage of a database of its own, with what a script makes in it. */
export async function openQueryStage(fill: (session: StageSession) => Promise<void>): Promise<QueryStage> {
  const database = await createTestDatabase()
  const session = await openStage(database.url, SCHEMA)
  await fill(session)
  const catalog = await readCatalog(session.query, SCHEMA)
  const run = async <Row>(plan: ReadPlan | WritePlan): Promise<Row> => {
    const [row] = await session.query<Row>(plan.statement.text, plan.statement.values).catch((error: unknown) => {
      throw toRequestFailure(plan, error)
    })
    if (!row) throw new Error('the statement gave no row')
    return row
  }
  const read: QueryStage['read'] = async (table, query = '', options = {}) => {
    const plan = planRead(catalog, table, parametersOf(query), { format: 'json', ...options })
    const row = await run<ReadRow>(plan)
    const total = await readTotal(plan, row, ({ text, values }) => session.query(text, values))
    const json = plan && options.format !== 'csv' && row.body !== null ? JSON.parse(row.body) : null
    return { ...row, total, text: row.body, json, plan }
  }
  const write = async (plan: WritePlan): Promise<Written> => {
    const { body, ...row } = await run<WriteRow>(plan)
    return { ...row, json: body === null ? null : JSON.parse(body) }
  }
  const toText = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))
  return {
    catalog,
    session,
    read,
    rows: async (table, query) => (await read(table, query)).json,
    insert: async (table, body, query = '', options = {}) =>
      write(planInsert(catalog, table, parametersOf(query), toText(body), { ...REPRESENTATION, ...options })),
    update: async (table, body, query = '', options = {}) =>
      write(planUpdate(catalog, table, parametersOf(query), toText(body), { ...REPRESENTATION, ...options })),
    delete: async (table, query = '', options = {}) =>
      write(planDelete(catalog, table, parametersOf(query), { ...REPRESENTATION, ...options })),
    async close() {
      await session.end()
      await database.drop()
    },
  }
}

export const openRecordShop = (): Promise<QueryStage> =>
  openQueryStage((session) => session.runFixture('record-shop.sql'))

/** Undoes what `use` writes. */
export async function undone(stage: QueryStage, use: () => Promise<void>): Promise<void> {
  await stage.session.run(['BEGIN'])
  try {
    await use()
  } finally {
    await stage.session.run(['ROLLBACK'])
  }
}

/** What a query is refused with. */
export async function failureOf(asked: Promise<unknown>): Promise<{ code: unknown; message: string; faults: unknown }> {
  try {
    await asked
  } catch (error) {
    if (error instanceof pg.DatabaseError || !(error instanceof Error)) throw error
    const { code, faults } = error as Error & { code?: unknown; faults?: unknown }
    return { code, message: error.message, faults }
  }
  throw new Error('it was not refused')
}
