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
  /** Since when its log is kept in the database that it is in, where it is. */
  readonly loggedSince: Date | null
}

/**
 * An event as a line of an archive. @param token whose it is, of the columns of `event`, as SQL.
 */
export const eventLineSql = (slug: string, token: string): string => `json_strip_nulls(json_build_object(
               'id', event.id, 'stage', ${quoteLiteral(slug)}::text, 'kind', kind, 'table', table_name,
               'key', key_columns, 'rows', rows::text[], 'token', ${token},
               'occurredAt', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::text`

/**
 * The event log that Wharf's own database has of a stage, in the order of commit. Where the log is kept elsewhere, that has its
 * imports since then, too: here, it is what was before, and what came with an archive.
 */
export async function* eventPages(tx: Transaction, { id, slug, loggedSince }: LoggedStage): AsyncGenerator<EventPage> {
  const own =
    loggedSince && ` AND (imported_at IS NOT NULL OR occurred_at < ${quoteLiteral(loggedSince.toISOString())})`
  await tx.$executeRawUnsafe(`
    DECLARE wharf_events NO SCROLL CURSOR FOR
    SELECT ${eventLineSql(slug, 'coalesce(token_id, archived_token_id)')}
    FROM system.transaction JOIN system.event
      ON event.stage_id = transaction.stage_id AND event.transaction_id = transaction.id
    WHERE transaction.stage_id = ${quoteLiteral(id)}::uuid${own ?? ''} ORDER BY transaction.position, event.ordinal`)
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
