import { quoteLiteral } from '../../database/quoting.ts'
import { conflict } from '../../errors.ts'
import { BYTE_TEXT_COLUMN, readByteText } from '../../lib/runtime.ts'
import { type EventPage, eventLineSql } from '../event-pages.ts'
import { LOG_SCHEMA } from './log-names.ts'
import { findLog, type LogQuery } from './log-triggers.ts'

/** How many events are fetched at once; each may have 256 KiB of rows. */
const EVENTS_PER_FETCH = 50

interface LogSession {
  readonly query: LogQuery
  execute(statement: string): Promise<void>
}

/**
 * The event log of a stage that is kept in the stage's own database, in the order of commit.
 *
 * @param session reads as the login that owns the log, in the snapshot of the rows.
 * @throws {AppError} CONFLICT where it is not there, or closed to the login: it would be missing in the archive.
 */
export async function* attachedEventPages(
  { query, execute }: LogSession,
  { id, slug, schemaName }: { readonly id: string; readonly slug: string; readonly schemaName: string },
): AsyncGenerator<EventPage> {
  const stageId = await findLog(query, schemaName)
  if (stageId !== id) {
    throw conflict(
      `the event log of stage "${slug}" is not in its database any more, or its login may not read it: make it again, or keep ` +
        'none (stage:log), or export without system data',
    )
  }
  await execute(`
    DECLARE wharf_events NO SCROLL CURSOR FOR
    SELECT ${eventLineSql(slug, 'token_id')} AS ${BYTE_TEXT_COLUMN}
    FROM ${LOG_SCHEMA}.transaction JOIN ${LOG_SCHEMA}.event
      ON event.stage_id = transaction.stage_id AND event.transaction_id = transaction.id
    WHERE transaction.stage_id = ${quoteLiteral(id)}::uuid AND transaction.position >= coalesce((
        SELECT first.position FROM ${LOG_SCHEMA}.stage_state state JOIN ${LOG_SCHEMA}.transaction first
            ON first.stage_id = state.stage_id AND first.id = state.first_transaction
         WHERE state.stage_id = ${quoteLiteral(id)}::uuid), 0)
    ORDER BY transaction.position, event.ordinal`)
  for (;;) {
    const events = await query<{ [BYTE_TEXT_COLUMN]: string }>(`FETCH ${EVENTS_PER_FETCH} FROM wharf_events`, [])
    if (events.length === 0) break
    for (const { [BYTE_TEXT_COLUMN]: line } of events) yield { events: 1, lines: readByteText(line) }
  }
  await execute('CLOSE wharf_events')
}
