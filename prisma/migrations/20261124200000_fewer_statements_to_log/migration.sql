-- What the log adds to a write of a single row is, for the most part, the statements that its functions run. There are five
-- now where there were eleven.
--
-- A transaction's first event of a stage has the trigger that gives it its place at commit. Which stages a transaction has
-- logged events of, and under which id, is a setting of that transaction. Whoever writes may set it to anything: so an id is
-- only believed where this transaction has added an event under it, and else is a new one, with a place of its own.
ALTER TABLE "system"."event" ADD COLUMN "is_first" BOOLEAN NOT NULL DEFAULT false;

-- Nobody adds rows to this table any more. It stays for its sequence, which earlier versions draw from while they run beside
-- this one.
DROP TRIGGER "place_transaction" ON "system"."open_transaction";

CREATE OR REPLACE FUNCTION "wharf"."add_event"(stage uuid, kind text, table_name text, key_columns text[], changed json[], token uuid)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  -- `stage id,` for each.
  opened text := coalesce(current_setting('wharf.opened', true), '');
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
    opened := set_config('wharf.opened', stage::text || ' ' || transaction::text || ',' || opened, true);
  END IF;
  INSERT INTO system.event (stage_id, transaction_id, id, kind, table_name, key_columns, rows, token_id, occurred_at, is_first)
    VALUES (stage, transaction, event, add_event.kind, add_event.table_name, add_event.key_columns, changed, token,
            clock_timestamp(), is_first);
  RETURN event;
END
$$;

-- Gives the transaction that commits its place in the log of a stage. Where it has logged events of several, these are locked
-- in one order for everybody, so that no two transactions wait for each other.
CREATE OR REPLACE FUNCTION "wharf"."place_transaction"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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
  PERFORM FROM system.stage_state WHERE stage_id = NEW.stage_id FOR NO KEY UPDATE;
  INSERT INTO system.transaction (stage_id, id, reference)
    SELECT NEW.stage_id, NEW.transaction_id, event.id FROM system.event
    WHERE event.stage_id = NEW.stage_id AND event.transaction_id = NEW.transaction_id ORDER BY event.ordinal DESC LIMIT 1;
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER "place_transaction" AFTER INSERT ON "system"."event"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW."is_first") EXECUTE FUNCTION "wharf"."place_transaction"();

-- Logs what a statement did to a table. A table that is in no stage has no log; one that an import has replaced takes
-- no writes any more, since they would be lost. The token is the transaction's own word: only what comes through Wharf
-- is to be believed there.
--
-- May be called by whoever could do to the table what he says was done.
CREATE OR REPLACE FUNCTION "wharf"."log_rows"(changed oid, operation text, "rows" json[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
  token text := current_setting('wharf.token_id', true);
  -- Of schema and table, without a statement.
  names text[];
  stage uuid;
  key_index oid;
  key_length smallint;
  key_column text;
  key text[];
  ignored uuid;
BEGIN
  IF (has_table_privilege(session_user, changed, operation)
      OR operation IN ('INSERT', 'UPDATE') AND has_any_column_privilege(session_user, changed, operation)) IS NOT TRUE
     OR operation NOT IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'this login may not log that';
  END IF;
  names := parse_ident(changed::regclass::text);
  SELECT state.stage_id, i.indexrelid, i.indnatts INTO stage, key_index, key_length
    FROM system.stage_state state LEFT JOIN pg_catalog.pg_index i ON i.indrelid = changed AND i.indisprimary
    WHERE state.schema_name = names[1];
  IF stage IS NULL THEN
    -- These names are those of now. By those of its own snapshot, a transaction may be in a stage that is not there any more:
    -- it fails where it gets its place.
    SELECT ARRAY[n.nspname::text, c.relname::text], state.stage_id, i.indexrelid, i.indnatts
      INTO names, stage, key_index, key_length
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN system.stage_state state ON state.schema_name = n.nspname
      LEFT JOIN pg_catalog.pg_index i ON i.indrelid = changed AND i.indisprimary
      WHERE c.oid = changed;
  END IF;
  IF stage IS NULL THEN
    IF EXISTS (SELECT FROM system.side_schema WHERE schema_name = names[1] AND kind = 'kept') THEN
      RAISE serialization_failure USING MESSAGE = 'the stage was replaced while this statement ran; run it again';
    END IF;
    RETURN;
  END IF;
  IF key_length = 1 THEN
    key_column := pg_get_indexdef(key_index, 1, false);
  END IF;
  IF left(key_column, 1) <> '"' THEN
    key := ARRAY[key_column];
  ELSIF key_index IS NOT NULL THEN
    SELECT array_agg(a.attname ORDER BY a.attnum) INTO key
      FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
      WHERE i.indexrelid = key_index;
  END IF;
  ignored := wharf.add_event(stage, CASE operation WHEN 'INSERT' THEN 'create' ELSE lower(operation) END, names[2], key, "rows",
    CASE WHEN token ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN token::uuid END);
END
$$;

-- The trigger of every table of a stage, once for each of INSERT, UPDATE, DELETE and TRUNCATE, per statement.
--
-- It runs with the rights, and the settings, of whoever writes, since a type may have a cast to JSON of its owner's own
-- making. A statement of very many rows becomes several events, so that none needs memory for all of them; one of a single
-- row needs no cursor. What is neither a function nor a row constructor here compares and adds numbers, for which PostgreSQL
-- has operators of its own: none of anybody's is found in his `search_path`.
CREATE OR REPLACE FUNCTION "wharf"."log_statement"() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  line json;
  found_rows bigint;
  page json[] := '{}';
  bytes bigint := 0;
  ignored text;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, NULL);
    RETURN NULL;
  END IF;
  SELECT pg_catalog.row_to_json(c.*), (SELECT pg_catalog.count(*) FROM (SELECT FROM wharf_changed LIMIT 2) first_two)
    INTO line, found_rows FROM wharf_changed c;
  IF found_rows = 1 THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, ARRAY[line]);
    RETURN NULL;
  END IF;
  FOR line IN SELECT pg_catalog.row_to_json(c.*) FROM wharf_changed c LOOP
    page := pg_catalog.array_append(page, line);
    bytes := bytes + pg_catalog.pg_column_size(line);
    IF bytes > 262144 OR pg_catalog.cardinality(page) >= 1000 THEN
      ignored := wharf.log_rows(TG_RELID, TG_OP, page);
      page := '{}';
      bytes := 0;
    END IF;
  END LOOP;
  IF bytes > 0 THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, page);
  END IF;
  RETURN NULL;
END
$$;

-- Logs that a stage of the caller's own may have been written to without its log, unless this transaction has logged
-- something of it already: whoever asks for what has changed must not hear that nothing has.
CREATE OR REPLACE FUNCTION "wharf"."record_unlogged"(stage_schema text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  stage uuid;
  is_logged boolean;
BEGIN
  SELECT stage_id INTO stage FROM system.stage_state
    WHERE schema_name = stage_schema AND pg_has_role(session_user, login, 'MEMBER');
  -- Where constraints are immediate, the transaction has its place in the order already.
  SELECT EXISTS (SELECT FROM system.event
                 WHERE stage_id = stage AND xmin = pg_current_xact_id()::xid
                   AND transaction_id = substring(current_setting('wharf.opened', true) FROM stage::text || ' ([0-9]+),')::bigint)
      OR pg_current_xact_id()::xid = (SELECT xmin FROM system.transaction WHERE stage_id = stage
                                      ORDER BY position DESC LIMIT 1)
    INTO is_logged;
  IF stage IS NOT NULL AND is_logged IS NOT TRUE THEN
    PERFORM wharf.add_event(stage, 'structure', NULL, NULL, NULL, NULL);
  END IF;
END
$$;

-- A stage's latest event in the order of commit, and how often its schema was swapped for another. NULL for a stage
-- that is not of the caller's project. In a query it is of the same snapshot as the rows that this reads.
--
-- Every read of rows calls it. As a function in SQL, it was parsed and planned for each: that took 40 of its 54 microseconds.
CREATE OR REPLACE FUNCTION "wharf"."stage_reference"(stage uuid, OUT reference uuid, OUT generation bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT state.generation INTO stage_reference.generation FROM system.stage_state state
    WHERE state.stage_id = stage AND pg_has_role(session_user, state.login, 'MEMBER');
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF wharf.crashed(stage) THEN
    reference := gen_random_uuid();
  ELSE
    SELECT latest.reference INTO stage_reference.reference FROM system.transaction latest
      WHERE latest.stage_id = stage ORDER BY latest.position DESC LIMIT 1;
  END IF;
END
$$;
