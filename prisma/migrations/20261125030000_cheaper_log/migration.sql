-- What the log adds to a write of a single row takes a fifth less: two look-ups by index take less than a join of both, the
-- reference of a transaction of a single event needs none, and fewer settings are changed for a function and back.

-- Adds an event to a stage's log. For the functions below, which decide who may, and whose search_path it has.
-- Always by the indexes: a plan that was made for a short log is kept while it grows.
--
-- `wharf.opened` has `stage id,` for each stage of which this transaction has logged events, and ends with a 1 where that is
-- a single event. Whoever writes may set it to anything: so an id is only believed where this transaction has added an event under it.
CREATE OR REPLACE FUNCTION "wharf"."add_event"(stage uuid, kind text, table_name text, key_columns text[], changed json[], token uuid)
RETURNS uuid LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  opened text := rtrim(coalesce(current_setting('wharf.opened', true), ''), '1');
  transaction bigint;
  is_first boolean := true;
  event uuid := gen_random_uuid();
BEGIN
  IF position(stage::text IN opened) > 0 THEN
    transaction := substring(opened FROM stage::text || ' ([0-9]+),');
    is_first := NOT EXISTS (SELECT FROM system.event known WHERE known.stage_id = stage AND known.transaction_id = transaction
                            AND known.xmin = pg_current_xact_id()::xid);
    IF is_first THEN
      opened := regexp_replace(opened, stage::text || '[^,]*,', '', 'g');
    END IF;
  END IF;
  IF is_first THEN
    transaction := nextval('system.open_transaction_id_seq');
    opened := stage::text || ' ' || transaction::text || ',' || opened;
  END IF;
  opened := set_config('wharf.opened', opened, true);
  INSERT INTO system.event (stage_id, transaction_id, id, kind, table_name, key_columns, rows, token_id, occurred_at, is_first)
    VALUES (stage, transaction, event, add_event.kind, add_event.table_name, add_event.key_columns, changed, token,
            clock_timestamp(), is_first);
  RETURN event;
END
$$;

-- Gives a transaction its place in the log of a stage, whatever else it has logged. Where that is of several stages, these are
-- locked in one order for everybody, so that no two transactions wait for each other.
CREATE FUNCTION "wharf"."place_among_others"(stage uuid, placed bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
  opened text := coalesce(current_setting('wharf.opened', true), '');
BEGIN
  IF position(',' IN opened) < length(opened) THEN
    -- As everything that is set, it may name any stage, and many.
    PERFORM FROM system.stage_state
      WHERE stage_id::text = ANY (ARRAY(SELECT split_part(entry, ' ', 1) FROM string_to_table(opened, ',') AS entry))
        AND pg_has_role(session_user, login, 'MEMBER')
      ORDER BY stage_id FOR NO KEY UPDATE;
  END IF;
  -- What is still to come in this transaction is another one in the log, which has a place behind this.
  opened := set_config('wharf.opened', '', true);
  PERFORM FROM system.stage_state WHERE stage_id = stage FOR NO KEY UPDATE;
  INSERT INTO system.transaction (stage_id, id, reference)
    SELECT stage, placed, event.id FROM system.event
    WHERE event.stage_id = stage AND event.transaction_id = placed ORDER BY event.ordinal DESC LIMIT 1;
END
$$;

REVOKE EXECUTE ON FUNCTION "wharf"."place_among_others" FROM PUBLIC;

-- Gives the transaction that commits its place in the log of a stage.
--
-- Where it says that it has logged a single event, that one is its last. If that is a lie, its reference is still one that nothing else has.
CREATE OR REPLACE FUNCTION "wharf"."place_transaction"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  opened text := current_setting('wharf.opened', true);
BEGIN
  IF opened = concat(NEW.stage_id, ' ', NEW.transaction_id, ',1') THEN
    opened := set_config('wharf.opened', '', true);
    PERFORM FROM system.stage_state WHERE stage_id = NEW.stage_id FOR NO KEY UPDATE;
    INSERT INTO system.transaction (stage_id, id, reference) VALUES (NEW.stage_id, NEW.transaction_id, NEW.id);
  ELSE
    opened := wharf.place_among_others(NEW.stage_id, NEW.transaction_id);
  END IF;
  RETURN NULL;
END
$$;

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
  SELECT indexrelid, indnatts INTO key_index, key_length FROM pg_catalog.pg_index WHERE indrelid = changed AND indisprimary;
  IF key_length = 1 THEN
    key := parse_ident(pg_get_indexdef(key_index, 1, false));
  ELSIF key_length > 1 THEN
    SELECT array_agg(a.attname ORDER BY a.attnum) INTO key
      FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
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

-- The trigger of every table of a stage, once for each of INSERT, UPDATE, DELETE and TRUNCATE, per statement.
--
-- It runs with the rights, and the settings, of whoever writes, since a type may have a cast to JSON of its owner's own
-- making, and names the schema of each operator, too. A statement of very many rows becomes several events, so that none needs
-- memory for all of them; one of a single row needs no cursor.
CREATE OR REPLACE FUNCTION "wharf"."log_statement"() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  page pg_catalog.json[];
  line pg_catalog.json;
  bytes bigint := 0;
  ignored pg_catalog.text;
BEGIN
  IF TG_OP OPERATOR(pg_catalog.=) 'TRUNCATE' THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, NULL);
    RETURN NULL;
  END IF;
  page := ARRAY(SELECT pg_catalog.row_to_json(c.*) FROM wharf_changed c LIMIT 2);
  IF pg_catalog.cardinality(page) OPERATOR(pg_catalog.<) 2 THEN
    IF pg_catalog.cardinality(page) OPERATOR(pg_catalog.=) 1 THEN
      ignored := wharf.log_rows(TG_RELID, TG_OP, page);
    END IF;
    RETURN NULL;
  END IF;
  page := '{}';
  FOR line IN SELECT pg_catalog.row_to_json(c.*) FROM wharf_changed c LOOP
    page := pg_catalog.array_append(page, line);
    bytes := bytes OPERATOR(pg_catalog.+) pg_catalog.pg_column_size(line);
    IF bytes OPERATOR(pg_catalog.>) 262144 OR pg_catalog.cardinality(page) OPERATOR(pg_catalog.>=) 1000 THEN
      ignored := wharf.log_rows(TG_RELID, TG_OP, page);
      page := '{}';
      bytes := 0;
    END IF;
  END LOOP;
  IF bytes OPERATOR(pg_catalog.>) 0 THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, page);
  END IF;
  RETURN NULL;
END
$$;
