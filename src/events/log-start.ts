import type { Queryable, Transaction } from '../database/database.ts'

/**
 * Since when all events of some stages are in their logs; undefined where none was ever removed.
 *
 * @returns ISO 8601, in UTC.
 */
export async function readLogStart(database: Queryable, stageIds: readonly string[]): Promise<string | undefined> {
  const [row] = await database.$queryRaw<{ since: string | null }[]>`
    SELECT to_char(max(since) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS since
    FROM system.log_start WHERE stage_id = ANY (${stageIds}::uuid[])`
  return row?.since ?? undefined
}

/** Says so of a log that has come with an archive. @param since ISO 8601; undefined where none was ever removed. */
export async function replaceLogStart(tx: Transaction, stageId: string, since: string | undefined): Promise<void> {
  await tx.logStart.deleteMany({ where: { stageId } })
  if (since === undefined) return
  await tx.$executeRaw`INSERT INTO system.log_start (stage_id, since) VALUES (${stageId}::uuid, ${since}::timestamptz)`
}

/** The same of a log from which events are removed: it only ever gets later. @param since as PostgreSQL's text. */
export const moveLogStart = (database: Queryable, stageId: string, since: string): Promise<unknown> =>
  database.$executeRaw`
    INSERT INTO system.log_start (stage_id, since)
    SELECT stage_id, ${since}::timestamptz FROM system.stage_state WHERE stage_id = ${stageId}::uuid
    ON CONFLICT (stage_id) DO UPDATE SET since = greatest(log_start.since, excluded.since)`
