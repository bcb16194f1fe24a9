import { LOG_SCHEMA } from './attached/log-names.ts'

/*
 * The functions of the event log that sessions of any login call. Their names are qualified: a session may have the stage's
 * schema alone as its `search_path`.
 */

/** Makes every table of a schema keep the log, where it does not yet. `$1`: the schema. */
export const LOG_TABLES = 'SELECT wharf.log_tables($1)::text'

/** Logs that the stage was replaced, and gives the event's id. `$1`: the stage; `$2`: the token, or null. */
export const RECORD_IMPORT = 'SELECT wharf.record_import($1::uuid, $2::uuid)::text AS id'

/** Records a script that changed the stage's structure. `$1`: the stage; `$2`: the script; `$3`: the token, or null. */
export const RECORD_STRUCTURE_CHANGE = 'SELECT wharf.record_structure_change($1::uuid, $2::text, $3::uuid)::text AS id'

/** Holds off imports and changes of structure until the transaction ends; `open` is false where one is under way. */
export const ENTER_STAGE = 'SELECT wharf.enter_stage($1) AS open'

/** The id of the stage's latest event, and how often its schema was swapped. */
export const STAGE_REFERENCE = 'SELECT reference::text, generation FROM wharf.stage_reference($1::uuid)'

/** What the triggers call that keep the log, in Wharf's own database and in others: schemas and names, as SQL. */
export const LOG_FUNCTIONS = `('wharf', 'log_statement'), ('${LOG_SCHEMA}', 'log_statement')`
