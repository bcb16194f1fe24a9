import type pg from 'pg'
import { preparedQuery } from '../database/prepared-query.ts'

/** How a stage stood at one moment. Two equal marks say that nothing of it changed between them. */
export interface StageMark {
  /** The UUID of its latest event. */
  readonly reference: string
  /** Which tables and columns it has: another text after each swap and each change of structure. */
  readonly structure: string
  /** Raised by every swap of its schema. */
  readonly generation: string
}

interface Row {
  readonly stage_id: string
  readonly reference: string
  readonly generation: string
  readonly structure: string
}

const SQL = `
  SELECT stage_state.stage_id, stage_state.generation,
         (SELECT reference FROM system.transaction WHERE transaction.stage_id = stage_state.stage_id
          ORDER BY position DESC LIMIT 1) AS reference,
         stage_state.generation || ' ' || coalesce(
           (SELECT max(applied_at)::text FROM system.structure_change WHERE structure_change.stage_id = stage_state.stage_id),
           '') AS structure
  FROM system.stage_state WHERE stage_id = ANY($1::uuid[])`

/** Reads how stages stand, all at one moment. Stages that are not there any more are left out. */
export async function readStageMarks(
  pool: pg.Pool,
  stageIds: readonly string[],
): Promise<ReadonlyMap<string, StageMark>> {
  if (stageIds.length === 0) return new Map()
  const rows = await preparedQuery<Row>(pool, { name: 'wharf-content-marks', text: SQL }, [stageIds])
  return new Map(rows.map(({ stage_id, ...mark }) => [stage_id, mark]))
}
