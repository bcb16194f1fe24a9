import type { StageCatalog } from './catalog.ts'
import type {
  InsertOptions,
  QueryParameters,
  ReadOptions,
  ReadPlan,
  SqlStatement,
  WriteOptions,
  WritePlan,
} from './plans.ts'

export type * from './catalog.ts'
export type * from './plans.ts'

/** How the catalogs are asked: one SQL text with parameters in, rows out. */
export type CatalogQuery = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>

/**
 * Reads a stage's tables, keys and types in one statement.
 *
 * @throws {Error} where there is no such schema.
 */
export declare function readCatalog(query: CatalogQuery, schemaName: string): Promise<StageCatalog>

/**
 * Turns a query into one statement.
 *
 * The transaction's `search_path` has to be the stage's schema alone (`pg_catalog` comes before it by itself).
 *
 * @throws {AppError} NOT_FOUND for an unknown table; INVALID_REQUEST for a query that is malformed, names what the
 * stage does not have, or exceeds a limit.
 */
export declare function planRead(
  catalog: StageCatalog,
  table: string,
  query: QueryParameters,
  options: ReadOptions,
): ReadPlan

/**
 * @param body JSON text: an object, or an array of objects.
 * @throws {AppError} like `planRead`; CONFLICT where the table can't be written to, e.g. a view.
 */
export declare function planInsert(
  catalog: StageCatalog,
  table: string,
  query: QueryParameters,
  body: string,
  options: InsertOptions,
): WritePlan

/** Like `planInsert`; the body is one object: the columns to change. */
export declare function planUpdate(
  catalog: StageCatalog,
  table: string,
  query: QueryParameters,
  body: string,
  options: WriteOptions,
): WritePlan

/** Like `planInsert`, without a body. */
export declare function planDelete(
  catalog: StageCatalog,
  table: string,
  query: QueryParameters,
  options: WriteOptions,
): WritePlan

/**
 * The total of a read's rows, as its `count` asks for it; null where it does not.
 *
 * @param row what the plan's statement gave.
 * @param query runs one more statement in the same transaction, where the total is PostgreSQL's estimate.
 */
export declare function readTotal(
  plan: ReadPlan,
  row: { readonly total: number | null },
  query: (statement: SqlStatement) => Promise<readonly unknown[]>,
): Promise<number | null>

/**
 * What PostgreSQL refused in a plan's statement, as a failure of the request: INVALID_REQUEST (a malformed value, a
 * check, a missing value, ...) or CONFLICT (a key that is there already, or not there). Anything else, among them a
 * stage whose structure is no longer that of the catalog, comes back as it is.
 */
export declare function toRequestFailure(plan: ReadPlan | WritePlan, error: unknown): unknown
