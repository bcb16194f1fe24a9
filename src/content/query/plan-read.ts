import { notFound } from '../../errors.ts'
import { bodySql } from './body-sql.ts'
import type { CatalogTable, StageCatalog } from './catalog.ts'
import { LIMITS } from './limits.ts'
import { Parameters } from './parameters.ts'
import { parseQuery } from './parse-query.ts'
import type { QueryParameters, ReadOptions, ReadPlan, SqlStatement } from './plans.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { ALIKE, POSTGREST_SAYS } from './postgrest-words.ts'
import { countedSql, selectSql } from './select-sql.ts'
import { mostAlike, suggest } from './suggest.ts'
import { buildTree, type TableNode } from './tree.ts'

/**
 * Turns a query into one statement, which gives one row (`ReadRow`, after the columns of the reference).
 *
 * The transaction's `search_path` has to be that of the stage (`stagePath`; `pg_catalog` comes before it by itself).
 *
 * @throws {AppError} NOT_FOUND for an unknown table; INVALID_REQUEST for a query that is malformed, names what the
 * stage does not have, or exceeds a limit.
 */
export function planRead(
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  options: ReadOptions,
): ReadPlan {
  const { reference, count = null } = options
  const root = buildTree(catalog, findTable(catalog, tableName), parseQuery(query))
  const { offset, limit } = restrict(root, options)
  const parameters = new Parameters(reference?.values)
  const scope = { catalog, parameters, kept: true, plain: takesWhole(options) }
  const countedUpTo = count === 'estimated' ? (options.maxRows ?? LIMITS.exactEstimate) : null
  const body = bodySql(selectSql(scope, root), options, scope)
  const total = totalSql(count, countedUpTo, () => countedSql(scope, root), parameters)
  const page = `SELECT body, rows, ${total} AS total FROM (${body}) AS answer`
  const text = reference
    ? `SELECT ${reference.select}, page.* FROM ${reference.from} CROSS JOIN (${page}) AS page`
    : page
  return {
    statement: { text, values: parameters.values },
    locate: (value) => parameters.locate(value),
    offset,
    limit,
    count,
    countedUpTo,
    unseen: parameters.unseen,
    estimate: count === 'planned' || count === 'estimated' ? estimateOf(catalog, root) : null,
  }
}

/** Whether an answer is made by an aggregate of the table, which takes its rows as they are. */
export const takesWhole = ({ aggregate }: Pick<ReadOptions, 'aggregate'>): boolean =>
  aggregate !== undefined && aggregate.table !== null

/** @throws {AppError} NOT_FOUND */
export function findTable({ tables, schemaName }: StageCatalog, name: string): CatalogTable {
  const table = tables.get(name)
  if (table) return table
  const sought = name.slice(0, 200)
  throw notFound('table', sought, `in this stage${suggest(name, tables.keys())}`, {
    postgrestCode: POSTGREST.unknownTable,
    postgrest: POSTGREST_SAYS.unknownTable(schemaName, sought, mostAlike(name, tables.keys(), ALIKE.tables)),
  })
}

/** Leaves the rows that are within `limit` and `offset`, within the range, and no more than are allowed. */
export function restrict(
  root: Pick<TableNode, 'limit' | 'offset'>,
  { range, maxRows }: Pick<ReadOptions, 'range' | 'maxRows'>,
): { offset: number; limit: number | null } {
  const start = Math.max(root.offset, range?.offset ?? 0)
  const end = Math.min(
    root.offset + (root.limit ?? Number.POSITIVE_INFINITY),
    (range?.offset ?? 0) + (range?.limit ?? Number.POSITIVE_INFINITY),
    start + (maxRows ?? Number.POSITIVE_INFINITY),
  )
  root.offset = start
  root.limit = Number.isFinite(end) ? Math.max(0, end - start) : null
  return { offset: root.offset, limit: root.limit }
}

function totalSql(
  count: ReadPlan['count'],
  countedUpTo: number | null,
  counted: () => string,
  parameters: Parameters,
): string {
  if (count === null || count === 'planned') return 'NULL::pg_catalog.float8'
  const upTo = countedUpTo === null ? '' : ` LIMIT ${parameters.integer(countedUpTo + 1)}`
  return `(SELECT pg_catalog.count(*) FROM (${counted()}${upTo}) AS counted)::pg_catalog.float8`
}

function estimateOf(catalog: StageCatalog, root: TableNode): SqlStatement {
  const parameters = new Parameters()
  const text = `EXPLAIN (FORMAT JSON) ${countedSql({ catalog, parameters, kept: true }, root)}`
  return { text, values: parameters.values }
}
