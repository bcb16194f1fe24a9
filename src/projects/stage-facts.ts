import type { Database } from '../database/database.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import type { Project } from './projects.ts'
import type { Stage } from './stages.ts'

/** What Wharf's own database knows of a stage. */
export interface StageFacts {
  /** Of its tables with their indexes; undefined in another database, and while one of them is locked. */
  readonly sizeBytes: number | undefined
  /** When the latest event of its log was written; undefined where no log is kept here. */
  readonly changedAt: Date | undefined
}

/** How long sizes wait for tables that are locked, in milliseconds: they are worth no more. */
const PATIENCE_MS = 300

/** How large stages are, and when they last changed. @returns by the id of the stage. */
export async function readStageFacts(
  { pool }: Database,
  projects: readonly Project[],
): Promise<ReadonlyMap<string, StageFacts>> {
  const stages = projects.flatMap((project) => project.stages)
  const shared = projects.filter(({ location }) => location === 'shared').flatMap((project) => project.stages)
  const [changes, sizes] = [await readChanges(pool, stages), await readSizes(pool, shared)]
  return new Map(stages.map(({ id }) => [id, { sizeBytes: sizes.get(id), changedAt: changes.get(id) }]))
}

async function readChanges(pool: Database['pool'], stages: readonly Stage[]): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await pool.query<{ id: string; at: Date }>(
    `SELECT stage_id AS id, at FROM unnest($1::uuid[]) AS stage_id CROSS JOIN LATERAL (
       SELECT greatest(event.occurred_at, event.imported_at) AS at
         FROM (SELECT id FROM system.transaction WHERE transaction.stage_id = stage_id.stage_id
                ORDER BY position DESC LIMIT 1) AS last
         JOIN system.event ON event.stage_id = stage_id.stage_id AND event.transaction_id = last.id
        ORDER BY ordinal DESC LIMIT 1) AS latest`,
    [stages.map(({ id }) => id)],
  )
  return new Map(rows.map(({ id, at }) => [id, at]))
}

async function readSizes(pool: Database['pool'], stages: readonly Stage[]): Promise<ReadonlyMap<string, number>> {
  const client = await pool.connect()
  try {
    await client.query(`BEGIN READ ONLY; SET LOCAL lock_timeout = ${PATIENCE_MS}`)
    const { rows } = await client.query<{ schema: string; bytes: number }>(
      `SELECT nspname AS schema, coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::float8 AS bytes
         FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid AND relkind IN ('r', 'm')
        WHERE nspname = ANY ($1) GROUP BY 1`,
      [stages.map(({ schemaName }) => schemaName)],
    )
    const sizes = new Map(rows.map(({ schema, bytes }) => [schema, bytes]))
    return new Map(
      stages.flatMap(({ id, schemaName }) => {
        const bytes = sizes.get(schemaName)
        return bytes === undefined ? [] : [[id, bytes] as const]
      }),
    )
  } catch (error) {
    if (sqlState(error) === SQLSTATE.lockNotAvailable) return new Map()
    throw error
  } finally {
    await client.query('ROLLBACK').then(
      () => client.release(),
      (error: Error) => client.release(error),
    )
  }
}
