import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import type { Project } from '../../projects/projects.ts'
import type { CreateStatements } from '../structure/create-statements.ts'
import type { PlannedPart, PlannedTable } from './archive-plan.ts'
import { assertBuilt } from './assert-built.ts'
import type { TargetStage } from './import-targets.ts'
import { loadFailure } from './load-failure.ts'
import type { StageLoader } from './stage-loader.ts'

/** Whose stage it is. */
export type TargetLogin = Pick<Project, 'login'>

/** A stage whose rows are there, but that nobody sees yet. */
export interface LoadedStage extends LoadedRows {
  readonly target: TargetStage
  readonly project: TargetLogin
  /** The schema beside the stage's own; undefined for one that was loaded in place, and is there already. */
  readonly loadingSchema: string | undefined
  /** What was loaded in place is visible, and there for good, only once this was called; undefined for others. */
  readonly commit: (() => Promise<void>) | undefined
  /** Gives up what has not been committed. */
  readonly abandon: () => void
}

export interface LoadedRows {
  /** By table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /** The id of the transaction that loaded them, as `xmin` has it. */
  readonly transaction: string
}

/** Where the rows of a stage come from. */
export interface RowSource {
  /** Those whose rows come, in their order; one without columns comes once it is whole. */
  readonly tables: AsyncIterable<PlannedTable> | Iterable<PlannedTable>
  partsOf(table: PlannedTable): AsyncIterable<PlannedPart> | Iterable<PlannedPart>
  /** The rows of a part, to its end. */
  bytesOf(table: PlannedTable, part: PlannedPart): AsyncIterable<BorrowedBytes>
  /** Told of rows as PostgreSQL takes them, about. */
  readonly onRows?: ((loaded: LoadedPart) => void) | undefined
}

export interface LoadedPart {
  readonly stage: string
  readonly table: string
  /** How many were added; negative where a load was given up, and begins again. */
  readonly rows: number
}

/**
 * Builds and fills a stage in the transaction of a loader.
 *
 * @param schemaName of the schema that the loader loads into, where that is beside the stage's own.
 * @throws {AppError} ARCHIVE_INVALID for a value that a column refuses; CONFLICT for a key, a foreign key or a check
 *   that the rows break, or where what was built is not what was to be.
 */
export async function loadStage(
  loader: StageLoader,
  { stage, mode, structure, comment }: TargetStage,
  { before, after }: CreateStatements,
  { schemaName, source }: { readonly schemaName: string | undefined; readonly source: RowSource },
): Promise<LoadedRows> {
  await runAll(loader, before)
  const rows = await loadTables(loader, stage.slug, source)
  await runAll(loader, after)
  await runAll(
    loader,
    structure.tables.map(({ name }) => `ANALYZE ${quoteIdentifier(name)}`),
  )
  if (schemaName !== undefined) {
    if (comment !== undefined) await loader.execute(commentOnSchema(schemaName, comment))
    await assertBuilt(loader, schemaName, { lines: structure, isOwn: mode === 'swap' })
  }
  // Not before: what was loaded is one event, the import's.
  await loader.query('SELECT wharf.log_tables($1)', [schemaName ?? stage.schemaName])
  const [id] = await loader.query<{ transaction: string }>(LOW_HALF_OF_TRANSACTION_ID)
  return { rows, transaction: id?.transaction ?? '' }
}

/** @returns rows by table, as many as were planned. */
async function loadTables(loader: StageLoader, stage: string, source: RowSource): Promise<ReadonlyMap<string, number>> {
  const rows = new Map<string, number>()
  for await (const table of source.tables) {
    const taken =
      table.columns.length > 0 ? await copyParts(loader, stage, table, source) : await loader.insertEmpty(table)
    if (taken !== table.rows) throw new Error(`${taken} of ${table.rows} rows of a table were loaded`)
    rows.set(table.name, taken)
  }
  return rows
}

/** @returns how many rows PostgreSQL took. */
async function copyParts(
  loader: StageLoader,
  stage: string,
  table: PlannedTable,
  { partsOf, bytesOf, onRows = () => undefined }: RowSource,
): Promise<number> {
  let taken = 0
  for await (const part of partsOf(table)) {
    const told = tellRows(part, (rows) => onRows({ stage, table: table.name, rows }))
    taken += await loader.copy(table, part, told.watch(bytesOf(table, part)))
    told.all()
  }
  return taken
}

/** Counts rows by their share of the part's bytes: which bytes are a row, only PostgreSQL looks at now. */
function tellRows(part: PlannedPart, tell: (rows: number) => void) {
  let told = 0
  const tellUpTo = (rows: number): void => {
    if (rows <= told) return
    tell(rows - told)
    told = rows
  }
  async function* watch(chunks: AsyncIterable<BorrowedBytes>): AsyncGenerator<BorrowedBytes, void, undefined> {
    let bytes = 0
    for await (const chunk of chunks) {
      yield chunk
      bytes += chunk.length
      tellUpTo(Math.floor((part.rows * bytes) / (part.range.end - part.range.start)))
    }
  }
  return { watch, all: () => tellUpTo(part.rows) }
}

const commentOnSchema = (name: string, comment: string): string =>
  `COMMENT ON SCHEMA ${quoteIdentifier(name)} IS ${quoteLiteral(comment)}`

const LOW_HALF_OF_TRANSACTION_ID =
  'SELECT (pg_catalog.pg_current_xact_id()::text::numeric % 4294967296)::text AS transaction'

async function runAll(loader: StageLoader, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    try {
      await loader.execute(statement)
    } catch (error) {
      throw loadFailure(error)
    }
  }
}
