import { LOG_SCHEMA } from './log-names.ts'
import { STAGE_VERSION_FUNCTION } from './stage-version-sql.ts'

/** With the rights of the login that owns the log, not of the one that writes; always by the indexes, as Wharf's own log does. */
const AS_OWNER = 'SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off'

/**
 * Adds an event to a stage's log, by the rules of `wharf.add_event` in Wharf's own database: nothing is ever updated, and
 * the transaction's place in the order is drawn when it commits.
 */
const ADD_EVENT = `
CREATE OR REPLACE FUNCTION ${LOG_SCHEMA}.add_event(stage uuid, kind text, table_name text, key_columns text[], changed json[], token uuid)
RETURNS uuid LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  this_xid bigint := pg_current_xact_id()::text::bigint;
  transaction bigint;
  is_first boolean;
  event uuid;
BEGIN
  SELECT open.id INTO transaction FROM ${LOG_SCHEMA}.open_transaction open WHERE open.xid = this_xid AND open.stage_id = stage;
  is_first := NOT FOUND;
  IF is_first THEN
    transaction := nextval('${LOG_SCHEMA}.open_transaction_id_seq');
  END IF;
  INSERT INTO ${LOG_SCHEMA}.event (stage_id, transaction_id, kind, table_name, key_columns, rows, token_id, occurred_at)
    VALUES (stage, transaction, add_event.kind, add_event.table_name, add_event.key_columns, changed, token, clock_timestamp())
    RETURNING id INTO event;
  -- After the event: where constraints are immediate, the transaction gets its place by this very statement.
  IF is_first THEN
    INSERT INTO ${LOG_SCHEMA}.open_transaction (xid, stage_id, id) VALUES (this_xid, stage, transaction);
  END IF;
  RETURN event;
END
$$`

/**
 * Gives the transaction that commits its place in the logs of all stages that it wrote to. It still holds its locks, so one
 * that has to wait for it comes later; others wait for nothing.
 */
const ORDER_TRANSACTION = `
CREATE OR REPLACE FUNCTION ${LOG_SCHEMA}.place_transaction() RETURNS trigger LANGUAGE plpgsql ${AS_OWNER} AS $$
DECLARE
  open record;
  random text;
BEGIN
  FOR open IN SELECT * FROM ${LOG_SCHEMA}.open_transaction WHERE xid = NEW.xid ORDER BY stage_id LOOP
    INSERT INTO ${LOG_SCHEMA}.transaction (stage_id, id) VALUES (open.stage_id, open.id);
    random := gen_random_uuid()::text;
    INSERT INTO ${LOG_SCHEMA}.recent VALUES (open.stage_id, hashtextextended(random, 1), hashtextextended(random, 2));
    DELETE FROM ${LOG_SCHEMA}.open_transaction WHERE xid = open.xid AND stage_id = open.stage_id;
  END LOOP;
  RETURN NULL;
END
$$`

/**
 * The trigger of every table of a stage, once for each of INSERT, UPDATE, DELETE and TRUNCATE, per statement. Unlike Wharf's
 * own, it runs with the rights of the login that owns the log: others need none to write. A table that is in no stage has no log.
 */
const LOG_STATEMENT = `
CREATE OR REPLACE FUNCTION ${LOG_SCHEMA}.log_statement() RETURNS trigger LANGUAGE plpgsql ${AS_OWNER} AS $$
DECLARE
  token text := current_setting('wharf.token_id', true);
  token_id uuid := CASE WHEN token ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN token::uuid END;
  kind text := CASE TG_OP WHEN 'INSERT' THEN 'create' ELSE lower(TG_OP) END;
  stage uuid;
  key text[];
  line json;
  page json[] := '{}';
  bytes bigint := 0;
BEGIN
  SELECT stage_id INTO stage FROM ${LOG_SCHEMA}.stage_state WHERE schema_name = TG_TABLE_SCHEMA;
  IF stage IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT array_agg(a.attname ORDER BY a.attnum) INTO key
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
    WHERE i.indrelid = TG_RELID AND i.indisprimary;
  IF TG_OP = 'TRUNCATE' THEN
    PERFORM ${LOG_SCHEMA}.add_event(stage, kind, TG_TABLE_NAME::text, key, NULL, token_id);
    RETURN NULL;
  END IF;
  -- A statement of very many rows becomes several events, so that none needs memory for all of them.
  FOR line IN SELECT row_to_json(c.*) FROM wharf_changed c LOOP
    page := page || line;
    bytes := bytes + pg_column_size(line);
    IF bytes > 262144 OR cardinality(page) >= 1000 THEN
      PERFORM ${LOG_SCHEMA}.add_event(stage, kind, TG_TABLE_NAME::text, key, page, token_id);
      page := '{}';
      bytes := 0;
    END IF;
  END LOOP;
  IF bytes > 0 THEN
    PERFORM ${LOG_SCHEMA}.add_event(stage, kind, TG_TABLE_NAME::text, key, page, token_id);
  END IF;
  RETURN NULL;
END
$$`

/** Logs, once after each crash, that it has emptied the UNLOGGED tables of a stage. */
const RECORD_CRASH = `
CREATE OR REPLACE FUNCTION ${LOG_SCHEMA}.record_crash(stage uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Waits for another who records the same crash.
  INSERT INTO ${LOG_SCHEMA}.crash_check (stage_id) VALUES (stage) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM ${LOG_SCHEMA}.add_event(stage, 'truncate', c.relname::text, NULL, NULL, NULL)
      FROM ${LOG_SCHEMA}.stage_state state
      JOIN pg_namespace n ON n.nspname = state.schema_name
      JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r' AND c.relpersistence = 'u'
      WHERE state.stage_id = stage ORDER BY c.oid;
  END IF;
END
$$`

/** In the order in which they are made. */
export const LOG_FUNCTIONS: readonly string[] = [
  ADD_EVENT,
  ORDER_TRANSACTION,
  LOG_STATEMENT,
  RECORD_CRASH,
  STAGE_VERSION_FUNCTION,
]
