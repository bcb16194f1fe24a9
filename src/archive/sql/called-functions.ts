/**
 * PostgreSQL's own functions that a definition may not call: each that acts, waits, runs SQL that is given as text, or
 * finds an object by its name.
 *
 * A function whose name is not PostgreSQL's can only be the constructor of one of the archive's ranges: nothing else that
 * an archive describes makes functions. Versions 15 to 18 are covered; a test holds this against `pg_proc` of the servers
 * that it runs on.
 */
export const mayBeCalled = (name: string, args: number): boolean =>
  // With three arguments it replaces; with two it runs the second.
  name === 'ts_rewrite' ? args === 3 : HARMLESS.has(name) || !(REFUSED.has(name) || REFUSED_FAMILIES.test(name))

/**
 * What is refused by its family below, but only gives a value; and a lock that lasts no longer than its transaction, of a
 * kind that nothing of Wharf's takes: who waits for one can be cancelled.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  ...(['pg_advisory_xact_lock', 'pg_advisory_xact_lock_shared'] as const),
  ...(['pg_backend_pid', 'pg_char_to_encoding', 'pg_client_encoding', 'pg_collation_for'] as const),
  ...(['pg_column_compression', 'pg_column_size', 'pg_conf_load_time', 'pg_current_snapshot'] as const),
  ...(['pg_current_xact_id', 'pg_current_xact_id_if_assigned', 'pg_encoding_max_length'] as const),
  ...(['pg_encoding_to_char', 'pg_input_is_valid', 'pg_postmaster_start_time', 'pg_size_bytes'] as const),
  ...(['pg_size_pretty', 'pg_snapshot_xip', 'pg_snapshot_xmax', 'pg_snapshot_xmin', 'pg_trigger_depth'] as const),
  ...(['pg_typeof', 'pg_visible_in_snapshot', 'pg_wal_lsn_diff'] as const),
])

/** Most of what begins with `pg_` reads or changes the server, and so will most that newer versions bring. */
const REFUSED_FAMILIES =
  /^(?:pg_|binary_upgrade_|lo_|dblink|has_\w+_privilege$|(?:to_)?reg(?:class|coll|conf|data|dict|name|oper|proc|role|type)|(?:query|cursor|table|schema|database)_to_xml|(?:array|domain|enum|record|range|multirange)_(?:in|recv)$)/

const REFUSED: ReadonlySet<string> = new Set([
  ...(['amvalidate', 'brin_desummarize_range', 'brin_summarize_new_values', 'brin_summarize_range'] as const),
  ...(['col_description', 'currtid2', 'gin_clean_pending_list', 'loread', 'lowrite', 'obj_description'] as const),
  ...(['plpgsql_validator', 'row_security_active', 'set_config', 'setseed', 'setval', 'shobj_description'] as const),
  ...(['fmgr_c_validator', 'fmgr_internal_validator', 'fmgr_sql_validator'] as const),
  ...(['ts_debug', 'ts_lexize', 'ts_parse', 'ts_stat', 'ts_token_type', 'txid_status'] as const),
])
