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

-- Adds an event to a stage's log. For the functions below, which decide who may, and whose search_path it has.
CREATE FUNCTION "wharf"."add_event"(stage uuid, kind text, table_name text, key_columns text[], changed json[], token uuid)
RETURNS uuid LANGUAGE plpgsql AS $$
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
LANGUAGE plpgsql SECURITY DEFINER
-- Always by the indexes: open transactions come and go, and leave many dead rows behind.
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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

-- Logs what a statement did to a table. A table that is in no stage has no log; one that an import has replaced takes
-- no writes any more, since they would be lost. The token is the transaction's own word: only what comes through Wharf
-- is to be believed there.
--
-- May be called by whoever could do to the table what he says was done.
CREATE FUNCTION "wharf"."log_rows"(changed oid, operation text, "rows" json[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
-- Whoever writes a single row pays for these look-ups: by their indexes they take a third of the time.
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
  token text := current_setting('wharf.token_id', true);
  is_allowed boolean := has_table_privilege(session_user, changed, operation)
    OR operation IN ('INSERT', 'UPDATE') AND has_any_column_privilege(session_user, changed, operation);
  table_name text;
  namespace oid;
  schema text;
  stage uuid;
  key text[];
  ignored uuid;
BEGIN
  SELECT relname, relnamespace INTO table_name, namespace FROM pg_catalog.pg_class WHERE oid = changed;
  SELECT nspname INTO schema FROM pg_catalog.pg_namespace WHERE oid = namespace;
  SELECT stage_id INTO stage FROM system.stage_state WHERE schema_name = schema;
  SELECT array_agg(a.attname ORDER BY a.attnum) INTO key
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = changed AND i.indisprimary;
  IF is_allowed IS NOT TRUE OR operation NOT IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'this login may not log that';
  END IF;
  IF stage IS NOT NULL THEN
    ignored := wharf.add_event(stage, CASE operation WHEN 'INSERT' THEN 'create' ELSE lower(operation) END, table_name, key, "rows",
      CASE WHEN token ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN token::uuid END);
  ELSIF EXISTS (SELECT FROM system.side_schema WHERE schema_name = schema AND kind = 'kept') THEN
    RAISE serialization_failure USING MESSAGE = 'the stage was replaced while this statement ran; run it again';
  END IF;
END
$$;

-- The trigger of every table of a stage, once for each of INSERT, UPDATE, DELETE and TRUNCATE, per statement.
--
-- It runs with the rights, and the settings, of whoever writes, since a type may have a cast to JSON of its owner's own
-- making. A statement of very many rows becomes several events, so that none needs memory for all of them.
CREATE FUNCTION "wharf"."log_statement"() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  line json;
  page json[] := '{}';
  bytes bigint := 0;
  ignored text;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, NULL);
    RETURN NULL;
  END IF;
  FOR line IN SELECT pg_catalog.row_to_json(c.*) FROM wharf_changed c LOOP
    page := page || line;
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
