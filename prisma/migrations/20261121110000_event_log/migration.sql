-- The event log, in the order of commit, and the stage's reference: its latest event.
--
-- A statement's trigger adds the event. The transaction's place in the order is drawn when it commits, under the lock of
-- the stage's state, so that nobody waits for a writer before it is at its end. Nothing is ever updated: a transaction
-- at REPEATABLE READ would fail where another has updated the same row.

-- CreateTable
CREATE TABLE "system"."transaction" (
    "stage_id" UUID NOT NULL,
    "position" BIGSERIAL NOT NULL,
    "id" BIGINT NOT NULL,
    "reference" UUID NOT NULL,

    CONSTRAINT "transaction_pkey" PRIMARY KEY ("stage_id","position")
);

-- CreateTable
CREATE TABLE "system"."open_transaction" (
    "xid" BIGINT NOT NULL,
    "stage_id" UUID NOT NULL,
    "id" BIGSERIAL NOT NULL,

    CONSTRAINT "open_transaction_pkey" PRIMARY KEY ("xid","stage_id")
);

CREATE TABLE "system"."old_event" AS TABLE "system"."event";
DROP TABLE "system"."event";

-- CreateTable
CREATE TABLE "system"."event" (
    "stage_id" UUID NOT NULL,
    "transaction_id" BIGINT NOT NULL,
    "ordinal" BIGSERIAL NOT NULL,
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "kind" TEXT NOT NULL,
    "table_name" TEXT,
    "key_columns" TEXT[],
    "rows" JSON[],
    "token_id" UUID,
    "occurred_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "event_pkey" PRIMARY KEY ("stage_id","transaction_id","ordinal")
);

-- Compressing rows would take longer than writing them.
ALTER TABLE "system"."event" ALTER "rows" SET STORAGE EXTERNAL;

-- What an import was loading is of no use in another form: that import is gone.
DROP TABLE "system"."loading_event";

-- CreateTable
CREATE TABLE "system"."loading_event" (
    "stage_id" UUID NOT NULL,
    "position" BIGINT NOT NULL,
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "table_name" TEXT,
    "key_columns" TEXT[],
    "rows" JSON[],
    "token_id" UUID,
    "occurred_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "loading_event_pkey" PRIMARY KEY ("stage_id","position")
);

-- AddForeignKey
ALTER TABLE "system"."loading_event" ADD CONSTRAINT "loading_event_stage_id_fkey" FOREIGN KEY ("stage_id") REFERENCES "system"."stage_state"("stage_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Every stage has an event from now on. What was logged before is one transaction of each stage's.
INSERT INTO "system"."old_event" ("stage_id", "position", "kind")
  SELECT "stage_id", 1, 'structure' FROM "system"."stage_state"
  WHERE "stage_id" NOT IN (SELECT "stage_id" FROM "system"."old_event");
INSERT INTO "system"."event" ("stage_id", "transaction_id", "id", "kind", "table_name", "key_columns", "rows", "token_id", "occurred_at")
  SELECT "stage_id", "place", "id", "kind", "table_name", ARRAY(SELECT jsonb_object_keys("key")),
         CASE WHEN "values" IS NOT NULL THEN ARRAY["values"::json] END, "token_id", "occurred_at"
  FROM "system"."old_event" JOIN (
    SELECT "stage_id", nextval('system.open_transaction_id_seq') AS "place" FROM "system"."stage_state"
  ) "log" USING ("stage_id") ORDER BY "stage_id", "position";
INSERT INTO "system"."transaction" ("stage_id", "id", "reference")
  SELECT DISTINCT ON ("stage_id") "stage_id", "transaction_id", "id" FROM "system"."event" ORDER BY "stage_id", "ordinal" DESC;
DROP TABLE "system"."old_event";

-- Adds an event to a stage's log. For the functions below, which decide who may.
CREATE FUNCTION "wharf"."add_event"(stage uuid, kind text, table_name text, key_columns text[], changed json[], token uuid)
RETURNS uuid LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  this_xid bigint := pg_current_xact_id()::text::bigint;
  transaction bigint;
  is_first boolean;
  event uuid;
BEGIN
  SELECT open.id INTO transaction FROM system.open_transaction open WHERE open.xid = this_xid AND open.stage_id = stage;
  is_first := NOT FOUND;
  IF is_first THEN
    transaction := nextval('system.open_transaction_id_seq');
  END IF;
  INSERT INTO system.event (stage_id, transaction_id, kind, table_name, key_columns, rows, token_id, occurred_at)
    VALUES (stage, transaction, add_event.kind, add_event.table_name, add_event.key_columns, changed, token, clock_timestamp())
    RETURNING id INTO event;
  -- After the event: where constraints are immediate, the transaction gets its place by this very statement.
  IF is_first THEN
    INSERT INTO system.open_transaction (xid, stage_id, id) VALUES (this_xid, stage, transaction);
  END IF;
  RETURN event;
END
$$;
REVOKE EXECUTE ON FUNCTION "wharf"."add_event" FROM PUBLIC;

-- Gives the transaction that commits its place in the logs of all stages that it wrote to. The stages are locked in one
-- order for everybody, so that no two transactions wait for each other.
CREATE FUNCTION "wharf"."place_transaction"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  open record;
BEGIN
  FOR open IN SELECT * FROM system.open_transaction WHERE xid = NEW.xid ORDER BY stage_id LOOP
    PERFORM FROM system.stage_state WHERE stage_id = open.stage_id FOR NO KEY UPDATE;
    INSERT INTO system.transaction (stage_id, id, reference)
      SELECT open.stage_id, open.id, event.id FROM system.event
      WHERE event.stage_id = open.stage_id AND event.transaction_id = open.id ORDER BY event.ordinal DESC LIMIT 1;
    DELETE FROM system.open_transaction WHERE xid = open.xid AND stage_id = open.stage_id;
  END LOOP;
  RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION "wharf"."place_transaction" FROM PUBLIC;

CREATE CONSTRAINT TRIGGER "place_transaction" AFTER INSERT ON "system"."open_transaction"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "wharf"."place_transaction"();

-- The token in whose name a transaction writes: its own word for it, so only what comes through Wharf is to be believed.
CREATE FUNCTION "wharf"."acting_token"() RETURNS uuid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN setting ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN setting::uuid END
  FROM current_setting('wharf.token_id', true) AS setting
$$;

-- Logs what a statement did to a table. A table that is in no stage has no log; one that an import has replaced takes
-- no writes any more, since they would be lost.
--
-- May be called by whoever could do to the table what he says was done.
CREATE FUNCTION "wharf"."log_rows"(changed regclass, kind text, "rows" json[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  needed text := CASE kind WHEN 'create' THEN 'INSERT' WHEN 'update' THEN 'UPDATE' WHEN 'delete' THEN 'DELETE' WHEN 'truncate' THEN 'TRUNCATE' END;
  place record;
BEGIN
  SELECT c.relname::text AS name, n.nspname::text AS schema, state.stage_id,
         ARRAY(SELECT a.attname::text
                 FROM pg_catalog.pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
                WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY k.place) AS key
    INTO place
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN system.stage_state state ON state.schema_name = n.nspname::text
    WHERE c.oid = changed;
  IF needed IS NULL OR NOT (has_table_privilege(session_user, changed, needed)
      OR needed IN ('INSERT', 'UPDATE') AND has_any_column_privilege(session_user, changed, needed)) THEN
    RAISE insufficient_privilege USING MESSAGE = 'this login may not log that';
  END IF;
  IF place.stage_id IS NOT NULL THEN
    PERFORM wharf.add_event(place.stage_id, kind, place.name, nullif(place.key, '{}'), "rows", wharf.acting_token());
  ELSIF EXISTS (SELECT FROM system.side_schema WHERE schema_name = place.schema AND side_schema.kind = 'kept') THEN
    RAISE serialization_failure USING MESSAGE = 'the stage was replaced while this statement ran; run it again';
  END IF;
END
$$;

-- The trigger of every table of a stage, once for each of INSERT, UPDATE, DELETE and TRUNCATE, per statement.
--
-- It runs with the rights of whoever writes, since a type may have a cast to JSON of its owner's own making.
-- A statement of very many rows becomes several events, so that none needs memory for all of them.
CREATE FUNCTION "wharf"."log_statement"() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET "IntervalStyle" = 'postgres' SET bytea_output = 'hex' SET extra_float_digits = 1
AS $$
DECLARE
  kind text := CASE TG_OP WHEN 'INSERT' THEN 'create' ELSE lower(TG_OP) END;
  line json;
  page json[] := '{}';
  bytes bigint := 0;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    PERFORM wharf.log_rows(TG_RELID, kind, NULL);
    RETURN NULL;
  END IF;
  FOR line IN SELECT row_to_json(c.*) FROM wharf_changed c LOOP
    page := array_append(page, line);
    bytes := bytes + octet_length(line::text);
    IF bytes > 262144 OR cardinality(page) >= 1000 THEN
      PERFORM wharf.log_rows(TG_RELID, kind, page);
      page := '{}';
      bytes := 0;
    END IF;
  END LOOP;
  IF page <> '{}' THEN
    PERFORM wharf.log_rows(TG_RELID, kind, page);
  END IF;
  RETURN NULL;
END
$$;

-- Tables in the schema that lack one of these triggers, or have it disabled.
CREATE FUNCTION "wharf"."unlogged_tables"(schema_name text, OUT "table" regclass, OUT kind text, OUT "exists" boolean) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.oid::regclass, wanted.kind, g.oid IS NOT NULL
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN (VALUES ('create'), ('update'), ('delete'), ('truncate')) AS wanted (kind)
  LEFT JOIN pg_catalog.pg_trigger g ON g.tgrelid = c.oid AND g.tgname = 'wharf_' || wanted.kind
  WHERE n.nspname = schema_name AND c.relkind IN ('r', 'p')
    AND (g.tgfoid IS DISTINCT FROM 'wharf.log_statement'::regproc OR g.tgenabled <> 'O')
$$;

-- Makes sure that every table in the schema has the triggers of the log. For the owner of the tables; those of others
-- are left as they are.
CREATE FUNCTION "wharf"."log_tables"(schema_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  missing record;
BEGIN
  FOR missing IN
    SELECT u.* FROM wharf.unlogged_tables(schema_name) u JOIN pg_catalog.pg_class c ON c.oid = u."table"
    WHERE pg_has_role(c.relowner, 'USAGE') ORDER BY c.oid, u.kind
  LOOP
    IF missing."exists" THEN
      EXECUTE format('DROP TRIGGER %I ON %s', 'wharf_' || missing.kind, missing."table");
    END IF;
    EXECUTE format('CREATE TRIGGER %I AFTER %s ON %s%s FOR EACH STATEMENT EXECUTE FUNCTION wharf.log_statement()',
      'wharf_' || missing.kind,
      CASE missing.kind WHEN 'create' THEN 'INSERT' ELSE upper(missing.kind) END,
      missing."table",
      CASE missing.kind
        WHEN 'truncate' THEN ''
        WHEN 'delete' THEN ' REFERENCING OLD TABLE AS wharf_changed'
        ELSE ' REFERENCING NEW TABLE AS wharf_changed'
      END);
  END LOOP;
END
$$;

-- A stage's latest event in the order of commit, and how often its schema was swapped for another. NULL for a stage
-- that is not of the caller's project. In a query it is of the same snapshot as the rows that this reads.
CREATE FUNCTION "wharf"."stage_reference"(stage uuid, OUT reference uuid, OUT generation bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT (SELECT reference FROM system.transaction WHERE stage_id = stage ORDER BY position DESC LIMIT 1), state.generation
  FROM system.stage_state state
  WHERE state.stage_id = stage AND pg_has_role(session_user, state.login, 'MEMBER')
$$;

-- Records, in the transaction that made it, a change of the structure of a stage of the caller's own.
CREATE OR REPLACE FUNCTION "wharf"."record_structure_change"(stage uuid, script text, token uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change uuid;
BEGIN
  IF NOT EXISTS (SELECT FROM system.stage_state WHERE stage_id = stage AND login = session_user) THEN
    RAISE insufficient_privilege USING MESSAGE = 'the stage is not of this login''s project';
  END IF;
  INSERT INTO system.structure_change (stage_id, sql, token_id) VALUES (stage, script, token) RETURNING id INTO change;
  PERFORM wharf.add_event(stage, 'structure', NULL, NULL, NULL, token);
  RETURN change;
END
$$;

-- Logs, in the transaction that loaded or swapped it in, that a stage of the caller's own was imported.
CREATE OR REPLACE FUNCTION "wharf"."record_import"(stage uuid, token uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM system.stage_state WHERE stage_id = stage AND pg_has_role(session_user, login, 'MEMBER')) THEN
    RAISE insufficient_privilege USING MESSAGE = 'the stage is not of this login''s project';
  END IF;
  RETURN wharf.add_event(stage, 'import', NULL, NULL, NULL, token);
END
$$;

-- A stage's first event. For Wharf, which makes stages.
CREATE FUNCTION "wharf"."record_creation"() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM wharf.add_event(NEW.stage_id, 'structure', NULL, NULL, NULL, NULL);
  RETURN NULL;
END
$$;

CREATE TRIGGER "record_creation" AFTER INSERT ON "system"."stage_state"
  FOR EACH ROW EXECUTE FUNCTION "wharf"."record_creation"();

-- The log of a stage goes with it.
CREATE FUNCTION "wharf"."forget_log"() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM system.open_transaction WHERE stage_id = OLD.stage_id;
  DELETE FROM system.transaction WHERE stage_id = OLD.stage_id;
  DELETE FROM system.event WHERE stage_id = OLD.stage_id;
  RETURN NULL;
END
$$;

CREATE TRIGGER "forget_log" AFTER DELETE ON "system"."stage_state"
  FOR EACH ROW EXECUTE FUNCTION "wharf"."forget_log"();
