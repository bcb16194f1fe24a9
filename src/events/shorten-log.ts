/** How long events are kept, and how many; 0 for ever, and any number. */
export interface LogLength {
  readonly days: number
  readonly events: number
}

/** Runs a statement of a transaction, in the database of a log. */
export type LogStatement = <Row extends object>(sql: string, parameters: readonly unknown[]) => Promise<readonly Row[]>

/** The last of some events that are to go, and when the latest of them happened, as PostgreSQL's text. */
export interface LogEnd {
  readonly position: string
  readonly ordinal: string
  readonly until: string
}

/** How many events go in one step: each may have 256 KiB of rows. */
const STEP_EVENTS = 200

/**
 * Others do not wait for a step: it gives up before PostgreSQL looks for deadlocks. Always by the indexes, which lead to the
 * oldest events however long the log is.
 */
export const BEGIN_STEP = [
  'BEGIN READ WRITE',
  `SET LOCAL lock_timeout = '200ms'`,
  `SET LOCAL statement_timeout = '30s'`,
  ...['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'].map((name) => `SET LOCAL ${name} = off`),
].join('; ')

/** A log, or what of it is left: PostgreSQL would pass by each transaction that was removed just now. */
export interface LogPart {
  /** Of the log's tables, as SQL. */
  readonly schema: string
  readonly stageId: string
  /** Of the transaction with which it begins. */
  readonly from: string
}

/** How many events a log has more than it is to keep. @param most beyond so many, they are not counted. */
export async function countExcess(
  query: LogStatement,
  { schema, stageId }: Pick<LogPart, 'schema' | 'stageId'>,
  { keep, most }: { readonly keep: number; readonly most: number },
): Promise<number> {
  if (keep === 0) return 0
  // Counting millions takes a second: not where no more numbers were drawn, by all stages, from the first event to the last.
  const events = `SELECT ordinal FROM ${schema}.event WHERE stage_id = $1::uuid`
  const [row] = await query<{ n: string }>(
    `SELECT CASE WHEN (${events} ORDER BY transaction_id DESC, ordinal DESC LIMIT 1)
                    - (${events} ORDER BY transaction_id, ordinal LIMIT 1) >= $2::bigint
                 THEN (SELECT count(*) FROM (${events} LIMIT $3::bigint) counted) ELSE 0 END AS n`,
    [stageId, keep, keep + most],
  )
  return Math.max(0, Number(row?.n ?? 0) - keep)
}

/**
 * The last of the oldest events that are to go in one step, and how many these are; undefined where none is. The latest event
 * of all, which is the stage's reference, is none of them.
 *
 * @param before which events are too old; null for none. @param excess how many go however old they are.
 */
export async function findLogEnd(
  query: LogStatement,
  { schema, stageId, from }: LogPart,
  { before, excess }: { readonly before: Date | null; readonly excess: number },
): Promise<(LogEnd & { readonly events: number }) | undefined> {
  const transactions = `SELECT position, id FROM ${schema}.transaction WHERE stage_id = $1::uuid`
  const [end] = await query<{ position: string; ordinal: string; until: string; n: string }>(
    `SELECT position::text, ordinal::text, until::text, n FROM (
       SELECT position, ordinal, row_number() OVER so_far AS n, max(occurred_at) OVER so_far AS until,
              bool_and(occurred_at < $2::timestamptz) OVER so_far AS is_old
       FROM (
         SELECT oldest.position, event.ordinal, event.occurred_at
         FROM (${transactions} AND position >= $4::bigint ORDER BY position LIMIT ${STEP_EVENTS}) oldest
         JOIN ${schema}.event ON event.stage_id = $1::uuid AND event.transaction_id = oldest.id
         WHERE event.ordinal IS DISTINCT FROM (
           SELECT event.ordinal FROM (${transactions} ORDER BY position DESC LIMIT 1) latest
           JOIN ${schema}.event ON event.stage_id = $1::uuid AND event.transaction_id = latest.id
           ORDER BY event.ordinal DESC LIMIT 1)
         ORDER BY oldest.position, event.ordinal LIMIT ${STEP_EVENTS}
       ) first_events
       WINDOW so_far AS (ORDER BY position, ordinal)
     ) numbered
     WHERE is_old OR n <= $3::bigint ORDER BY n DESC LIMIT 1`,
    [stageId, before?.toISOString() ?? null, excess, from],
  )
  return end && { ...end, events: Number(end.n) }
}

/** Removes the events of a log from the oldest to this one. */
export async function removeUntil(
  query: LogStatement,
  { schema, stageId, from }: LogPart,
  { position, ordinal }: LogEnd,
): Promise<void> {
  const transactions = 'transaction.stage_id = $1::uuid AND transaction.position BETWEEN $2::bigint AND $3::bigint'
  await query(
    `DELETE FROM ${schema}.event USING ${schema}.transaction
     WHERE ${transactions} AND event.stage_id = $1::uuid AND event.transaction_id = transaction.id
       AND (transaction.position < $3::bigint OR event.ordinal <= $4::bigint)`,
    [stageId, from, position, ordinal],
  )
  await query(
    `DELETE FROM ${schema}.transaction WHERE ${transactions}
       AND NOT EXISTS (SELECT FROM ${schema}.event WHERE event.stage_id = $1::uuid AND event.transaction_id = transaction.id)`,
    [stageId, from, position],
  )
}
