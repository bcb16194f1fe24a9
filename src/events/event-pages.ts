import { EVENT_PARTS } from '../archive/pages.ts'
import type { Transaction } from '../database/database.ts'
import { quoteLiteral } from '../database/quoting.ts'
import type { ByteText } from '../lib/byte-text.ts'
import { BYTE_TEXT_COLUMN, readByteText } from '../lib/runtime.ts'

/** Bytes after which a page of events is full. */
const PAGE_BYTES = 512 * 1024

export interface EventPage {
  readonly events: number
  readonly lines: ByteText
}

interface LoggedStage {
  readonly id: string
  readonly slug: string
}

/** The event log of some stages, one after the other, each in the order of commit. */
export async function* eventPages(tx: Transaction, stages: readonly LoggedStage[]): AsyncGenerator<EventPage> {
  for (const stage of stages) {
    await tx.$executeRawUnsafe(`
      DECLARE wharf_events NO SCROLL CURSOR FOR
      SELECT json_strip_nulls(json_build_object(
               'id', event.id, 'stage', ${quoteLiteral(stage.slug)}::text, 'kind', kind, 'table', table_name,
               'key', key_columns, 'rows', rows::text[], 'token', coalesce(token_id, archived_token_id),
               'occurredAt', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::text
      FROM system.transaction JOIN system.event
        ON event.stage_id = transaction.stage_id AND event.transaction_id = transaction.id
      WHERE transaction.stage_id = ${quoteLiteral(stage.id)}::uuid ORDER BY transaction.position, event.ordinal`)
    for (;;) {
      const [page] = await tx.$queryRawUnsafe<{ rows: number; [BYTE_TEXT_COLUMN]: string | null }[]>(
        `SELECT "rows", "lines" AS ${BYTE_TEXT_COLUMN} FROM wharf.fetch_page('wharf_events', $1::int, $2)`,
        PAGE_BYTES,
        EVENT_PARTS.join,
      )
      const lines = page?.[BYTE_TEXT_COLUMN]
      if (!page || typeof lines !== 'string') break
      yield { events: page.rows, lines: readByteText(lines) }
    }
    await tx.$executeRawUnsafe('CLOSE wharf_events')
  }
}
