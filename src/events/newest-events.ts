import type { Database } from '../database/database.ts'

/** An event as it is shown. */
export interface ShownEvent {
  readonly id: string
  readonly kind: 'create' | 'update' | 'delete' | 'truncate' | 'import' | 'structure'
  readonly table: string | null
  readonly rowCount: number
  /** The first of them as JSON, those that are long cut off. */
  readonly rows: readonly string[]
  readonly tokenId: string | null
  readonly occurredAt: Date
  readonly importedAt: Date | null
  /** Where it is in the order of commit. */
  readonly position: string
  readonly ordinal: string
}

/** So many rows of an event are shown, and so many characters of a row. */
const SHOWN = { rows: 20, characters: 10_000 } as const

interface EventPage {
  readonly limit: number
  /** Only what was before it. */
  readonly before: Pick<ShownEvent, 'position' | 'ordinal'> | undefined
}

/** The newest events of a stage that Wharf's own database has, the newest first. */
export async function newestEvents(
  { pool }: Pick<Database, 'pool'>,
  stageId: string,
  { limit, before }: EventPage,
): Promise<readonly ShownEvent[]> {
  const { rows } = await pool.query<ShownEvent>(
    `SELECT event.id, kind, table_name AS "table", coalesce(cardinality(rows), 0) AS "rowCount",
            ARRAY(SELECT CASE WHEN length(text) > $4 THEN left(text, $4) || '…' ELSE text END
                    FROM unnest((rows[1:$5])::text[]) AS text) AS rows,
            token_id AS "tokenId", occurred_at AS "occurredAt", imported_at AS "importedAt",
            transaction.position::text AS position, ordinal::text AS ordinal
       FROM system.transaction JOIN system.event
         ON event.stage_id = transaction.stage_id AND event.transaction_id = transaction.id
      WHERE transaction.stage_id = $1
        AND ($2::bigint IS NULL OR (transaction.position <= $2 AND (transaction.position, ordinal) < ($2, $3::bigint)))
      ORDER BY transaction.position DESC, ordinal DESC LIMIT $6`,
    [stageId, before?.position ?? null, before?.ordinal ?? null, SHOWN.characters, SHOWN.rows, limit],
  )
  return rows
}
