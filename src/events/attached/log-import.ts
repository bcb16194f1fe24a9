import { LOG_SCHEMA } from './log-names.ts'
import { findLog, type LogQuery, missingTriggers } from './log-triggers.ts'

/**
 * Makes the triggers on tables that were loaded beside a stage whose log is kept in its database, so that they keep it from
 * the moment at which they are its own.
 */
export async function logLoaded(query: LogQuery, schemaName: string, loaded: string): Promise<void> {
  if ((await findLog(query, schemaName)) !== undefined) await addTriggers(query, loaded)
}

/**
 * Logs, in the transaction that makes it visible, that such a stage was replaced. What comes without triggers, since it was
 * replaced before there was a log, gets them.
 *
 * @param stage `id`: in the log, see `findLog`.
 * @param options `isNewLog`: whether the archive has brought another log, which is kept in Wharf's own database. What was
 *   logged here until now is no part of it; it is removed later, since readers wait now.
 */
export async function logReplaced(
  query: LogQuery,
  { id, schemaName }: { readonly id: string; readonly schemaName: string },
  { tokenId, isNewLog }: { readonly tokenId: string | null; readonly isNewLog: boolean },
): Promise<void> {
  await addTriggers(query, schemaName)
  await query(`SELECT ${LOG_SCHEMA}.add_event($1::pg_catalog.uuid, 'import', NULL, NULL, NULL, $2::pg_catalog.uuid)`, [
    id,
    tokenId,
  ])
  if (isNewLog) await query(BEGIN_LOG_SQL, [id])
}

const BEGIN_LOG_SQL = `
UPDATE ${LOG_SCHEMA}.stage_state state SET first_transaction = open.id
  FROM ${LOG_SCHEMA}.open_transaction open
 WHERE state.stage_id = $1::pg_catalog.uuid AND open.stage_id = state.stage_id
   AND open.xid = pg_catalog.pg_current_xact_id()::text::bigint`

/** Looks for the log, too. */
export async function logReplacedIfLogged(
  query: LogQuery,
  schemaName: string,
  options: Parameters<typeof logReplaced>[2],
): Promise<void> {
  const id = await findLog(query, schemaName)
  if (id !== undefined) await logReplaced(query, { id, schemaName }, options)
}

/** Removes what was logged of a stage before its log was replaced. */
export async function forgetReplacedLog(query: LogQuery, stageId: string): Promise<void> {
  await query(FORGET_SQL, [stageId])
}

const FORGET_SQL = `
WITH replaced AS (
  DELETE FROM ${LOG_SCHEMA}.transaction t
   USING ${LOG_SCHEMA}.stage_state s
    JOIN ${LOG_SCHEMA}.transaction first ON first.stage_id = s.stage_id AND first.id = s.first_transaction
   WHERE s.stage_id = $1::pg_catalog.uuid AND t.stage_id = s.stage_id AND t.position < first.position
  RETURNING t.id
)
DELETE FROM ${LOG_SCHEMA}.event e USING replaced WHERE e.stage_id = $1::pg_catalog.uuid AND e.transaction_id = replaced.id`

async function addTriggers(query: LogQuery, schemaName: string): Promise<void> {
  for (const { statements } of await missingTriggers(query, schemaName)) {
    for (const statement of statements) await query(statement, [])
  }
}
