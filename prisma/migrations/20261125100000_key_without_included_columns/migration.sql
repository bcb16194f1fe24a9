-- Columns that a primary key INCLUDEs are no part of it: events name the key alone.

-- Logs what a statement did to a table. A table that is in no stage has no log; one that an import has replaced takes
-- no writes any more, since they would be lost. The token is the transaction's own word: only what comes through Wharf
-- is to be believed there.
--
-- May be called by whoever could do to the table what he says was done.
CREATE OR REPLACE FUNCTION "wharf"."log_rows"(changed oid, operation text, "rows" json[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  token text := current_setting('wharf.token_id', true);
  token_id uuid := CASE WHEN token ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN token::uuid END;
  kind text := CASE operation WHEN 'INSERT' THEN 'create' ELSE lower(operation) END;
  -- Of schema and table, without a statement.
  names text[];
  stage uuid;
  key_index oid;
  key_length smallint;
  key text[];
  transaction bigint;
  ignored text;
BEGIN
  IF (has_table_privilege(session_user, changed, operation)
      OR operation IN ('INSERT', 'UPDATE') AND has_any_column_privilege(session_user, changed, operation)) IS NOT TRUE
     OR operation NOT IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'this login may not log that';
  END IF;
  names := parse_ident(changed::regclass::text);
  SELECT stage_id INTO stage FROM system.stage_state WHERE schema_name = names[1];
  IF stage IS NULL THEN
    -- These names are those of now. By those of its own snapshot, a transaction may be in a stage that is not there any more:
    -- it fails where it gets its place.
    SELECT ARRAY[n.nspname::text, c.relname::text], state.stage_id INTO names, stage
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN system.stage_state state ON state.schema_name = n.nspname
      WHERE c.oid = changed;
  END IF;
  IF stage IS NULL THEN
    IF EXISTS (SELECT FROM system.side_schema side WHERE side.schema_name = names[1] AND side.kind = 'kept') THEN
      RAISE serialization_failure USING MESSAGE = 'the stage was replaced while this statement ran; run it again';
    END IF;
    RETURN;
  END IF;
  SELECT indexrelid, indnkeyatts INTO key_index, key_length FROM pg_catalog.pg_index WHERE indrelid = changed AND indisprimary;
  IF key_length = 1 THEN
    key := parse_ident(pg_get_indexdef(key_index, 1, false));
  ELSIF key_length > 1 THEN
    SELECT array_agg(a.attname ORDER BY a.attnum) INTO key
      FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a
        ON a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:key_length - 1])
      WHERE i.indexrelid = key_index;
  END IF;
  IF current_setting('wharf.opened', true) <> '' THEN
    ignored := wharf.add_event(stage, kind, names[2], key, "rows", token_id);
    RETURN;
  END IF;
  transaction := nextval('system.open_transaction_id_seq');
  -- Before the event: where constraints are immediate, the transaction gets its place by that very statement.
  ignored := set_config('wharf.opened', concat(stage, ' ', transaction, ',1'), true);
  INSERT INTO system.event (stage_id, transaction_id, kind, table_name, key_columns, rows, token_id, occurred_at, is_first)
    VALUES (stage, transaction, kind, names[2], key, "rows", token_id, clock_timestamp(), true);
END
$$;
