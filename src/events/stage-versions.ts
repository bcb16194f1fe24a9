import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { preparedQuery } from '../database/prepared-query.ts'
import type { LogCoverage } from './attached/log-coverage.ts'
import { recordCrash } from './record-crash.ts'

/** How a stage stood at one moment. Two equal versions say that nothing of it changed between them. */
export interface StageVersion {
  /** The UUID of its latest event. */
  readonly reference: string
  /** Which tables and columns it has: another text after each swap and each change of structure. */
  readonly structure: string
  /** Raised by every swap of its schema. */
  readonly generation: string
  /** Of a stage in a database that is not Wharf's: what its log sees. Of others, it sees everything. */
  readonly coverage?: LogCoverage
}

export interface VersionRow {
  readonly reference: string
  readonly generation: string
  readonly structure: string
  /** Whether PostgreSQL has crashed, and what that has emptied of it is in no log yet: the reference says nothing then. */
  readonly crashed: boolean
}

/** The columns of `VersionRow`, of a row of `system.stage_state`. */
export const VERSION_COLUMNS = `
  stage_state.generation::text,
  (SELECT reference FROM system.transaction WHERE transaction.stage_id = stage_state.stage_id
   ORDER BY position DESC LIMIT 1) AS reference,
  stage_state.generation || ' ' || coalesce(
    (SELECT max(applied_at)::text FROM system.structure_change WHERE structure_change.stage_id = stage_state.stage_id),
    '') AS structure,
  wharf.crashed(stage_state.stage_id) AS crashed`

/** The array is selected, so that PostgreSQL keeps one plan for all: see `grantsSql`. */
const SQL = `SELECT stage_state.stage_id, ${VERSION_COLUMNS} FROM system.stage_state WHERE stage_id = ANY ((SELECT $1::uuid[])::uuid[])`

/**
 * Runs a query that reads versions. Where PostgreSQL has crashed since anybody did so, what that has emptied is logged
 * first: a reference that stays the same says that nothing has changed.
 */
export async function queryVersions<Row extends Partial<VersionRow> & pg.QueryResultRow>(
  system: pg.Pool,
  query: { readonly name: string; readonly text: string },
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const rows = await preparedQuery<Row>(system, query, values)
  if (!rows.some(({ crashed }) => crashed)) return rows
  await recordCrash(system)
  const again = await preparedQuery<Row>(system, query, values)
  // As long as the crash is not logged, no answer may say that nothing has changed.
  return again.map((row) => (row.crashed ? { ...row, reference: randomUUID() } : row))
}

/** Reads how stages stand, all at one moment. Stages that are not there any more are left out. */
export async function readStageVersions(
  pool: pg.Pool,
  stageIds: readonly string[],
): Promise<ReadonlyMap<string, StageVersion>> {
  if (stageIds.length === 0) return new Map()
  const rows = await queryVersions<VersionRow & { readonly stage_id: string }>(
    pool,
    { name: 'wharf-content-versions', text: SQL },
    [stageIds],
  )
  return new Map(rows.map(({ stage_id, crashed: _, ...version }) => [stage_id, version]))
}
