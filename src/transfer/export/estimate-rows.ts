import type { ExportSelection } from '../../contract/export.ts'
import { thenCommit, withClient } from '../../database/clients.ts'
import type { Database } from '../../database/database.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import type { Stage } from '../../projects/stages.ts'
import { findSelection } from './export-selection.ts'

/**
 * How many rows an export will have: by PostgreSQL's own estimate, which ANALYZE keeps, or else by the size of tables.
 *
 * @returns a whole number; 0 where nothing is known.
 * @throws {AppError} NOT_FOUND for an unknown project or stage.
 */
export async function estimateRows(
  {
    control,
    system,
    projectDatabase,
  }: { readonly control: Database; readonly system: Database; readonly projectDatabase: FindProjectDatabase },
  selections: readonly ExportSelection[],
): Promise<number> {
  const estimates = selections.map(async (selection) => {
    const { project, stages } = await findSelection(control.prisma, selection)
    const { database, isOwn } = await projectDatabase(project, 'exports')
    // A project may have no session to spare.
    return estimateRowsIn(isOwn ? system : database, stages)
  })
  return (await Promise.all(estimates)).reduce((sum, rows) => sum + rows, 0)
}

/** The same of stages of one database. */
export async function estimateRowsIn({ pool }: Pick<Database, 'pool'>, stages: readonly Stage[]): Promise<number> {
  const schemas = stages.map(({ schemaName }) => schemaName)
  // Not by Prisma, which hides why there is no session.
  const { rows } = await pool.query<{ rows: number; unknown: string[] }>(
    `SELECT coalesce(sum(greatest(reltuples, 0)), 0)::float8 AS rows,
            coalesce(array_agg(pg_class.oid::text) FILTER (WHERE reltuples < 0), '{}') AS unknown
       FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
      WHERE relkind = 'r' AND nspname = ANY ($1)`,
    [schemas],
  )
  const [{ rows: analyzed, unknown } = { rows: 0, unknown: [] }] = rows
  return Math.round(analyzed + (unknown.length > 0 ? await estimateBySize(pool, unknown) : 0))
}

/**
 * As PostgreSQL's planner takes tables that nobody has analyzed: each row with a header and a line pointer, and values of a
 * length that varies with 32 bytes.
 *
 * @param tables by object id. @returns 0 where somebody has locked one of them: its size would have to be waited for.
 * @see https://www.postgresql.org/docs/current/storage-page-layout.html
 */
async function estimateBySize(pool: Database['pool'], tables: readonly string[]): Promise<number> {
  try {
    return await withClient(pool, async (client) => {
      await client.query(`BEGIN READ ONLY; SET LOCAL lock_timeout = '1ms'`)
      return thenCommit(client, async () => {
        const { rows } = await client.query<{ rows: number }>(ROWS_BY_SIZE, [tables])
        return rows[0]?.rows ?? 0
      })
    })
  } catch (error) {
    if (sqlState(error) === SQLSTATE.lockNotAvailable) return 0
    throw error
  }
}

const ROWS_BY_SIZE = `
  SELECT coalesce(sum(pg_catalog.pg_relation_size(oid) / (28 + width)), 0)::float8 AS rows
    FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS oid CROSS JOIN LATERAL
         (SELECT coalesce(sum(CASE WHEN attlen > 0 THEN attlen ELSE 32 END), 0) AS width FROM pg_catalog.pg_attribute
           WHERE attrelid = oid AND attnum > 0 AND NOT attisdropped) AS columns`
