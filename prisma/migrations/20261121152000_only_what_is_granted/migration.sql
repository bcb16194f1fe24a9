-- Functions of Wharf's are for those to whom they are granted, one by one: nobody else can call them, nor name them in
-- a definition. What later migrations make is closed to PUBLIC from its first moment.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "wharf" FROM PUBLIC;
REVOKE ALL ON SCHEMA "wharf" FROM PUBLIC;

-- A DO block does the same, and cannot be reached from a definition. Where a project has named it in one, it stays
-- and does nothing: what a project made must not keep a migration from running.
DO $$
BEGIN
  DROP FUNCTION wharf.execute_script(text);
EXCEPTION WHEN dependent_objects_still_exist THEN
  CREATE OR REPLACE FUNCTION wharf.execute_script(script text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
  BEGIN
    RAISE feature_not_supported USING MESSAGE = 'wharf.execute_script is not there any more: use a DO block';
  END
  $body$;
END
$$;

-- Temporary objects come last: without being named, they come first.
ALTER FUNCTION "wharf"."fetch_page" SET search_path = pg_catalog, pg_temp;

-- One row, as long as PostgreSQL has not crashed: a crash empties it, as it empties every other UNLOGGED table.
--
-- CreateTable
CREATE UNLOGGED TABLE "system"."crash_check" (
    "id" BOOLEAN NOT NULL DEFAULT true,

    CONSTRAINT "crash_check_pkey" PRIMARY KEY ("id")
);
INSERT INTO "system"."crash_check" DEFAULT VALUES;

-- Logs, once after each crash, that it has emptied the UNLOGGED tables of stages. For Wharf's own login.
CREATE FUNCTION "wharf"."record_crash"() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM system.crash_check) THEN
    RETURN;
  END IF;
  -- Waits for another who records the same crash; what that has recorded is there when this goes on.
  INSERT INTO system.crash_check DEFAULT VALUES ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM wharf.add_event(state.stage_id, 'truncate', c.relname::text, NULL, NULL, NULL)
      FROM system.stage_state state
      JOIN pg_catalog.pg_namespace n ON n.nspname = state.schema_name
      JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r' AND c.relpersistence = 'u'
      ORDER BY state.stage_id, c.oid;
  END IF;
END
$$;

-- A stage's latest event in the order of commit, and how often its schema was swapped for another. NULL for a stage
-- that is not of the caller's project. In a query it is of the same snapshot as the rows that this reads.
--
-- After a crash that has not been recorded yet, the latest event may be older than what the crash has emptied: what is
-- given then is a reference that nothing else has.
CREATE OR REPLACE FUNCTION "wharf"."stage_reference"(stage uuid, OUT reference uuid, OUT generation bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN EXISTS (SELECT FROM system.crash_check)
    THEN (SELECT reference FROM system.transaction WHERE stage_id = stage ORDER BY position DESC LIMIT 1)
    ELSE gen_random_uuid() END, state.generation
  FROM system.stage_state state
  WHERE state.stage_id = stage AND pg_has_role(session_user, state.login, 'MEMBER')
$$;

-- Tables in the schema that lack one of these triggers as `log_tables` makes them: under another condition, for some
-- columns only, disabled, or put off, it would not log everything.
CREATE OR REPLACE FUNCTION "wharf"."unlogged_tables"(schema_name text, OUT "table" regclass, OUT kind text, OUT "exists" boolean) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.oid::regclass, wanted.kind, g.oid IS NOT NULL
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  -- Of `tgtype`, only the bit of the event is set: the others are for each row, before, and instead of.
  CROSS JOIN (VALUES ('create', 4, NULL, 'wharf_changed'), ('update', 16, NULL, 'wharf_changed'),
                     ('delete', 8, 'wharf_changed', NULL), ('truncate', 32, NULL, NULL)) AS wanted (kind, type, old, new)
  LEFT JOIN pg_catalog.pg_trigger g ON g.tgrelid = c.oid AND g.tgname = 'wharf_' || wanted.kind
  WHERE n.nspname = schema_name AND c.relkind IN ('r', 'p')
    AND (g.tgfoid, g.tgenabled::text, g.tgtype::integer, g.tgoldtable::text, g.tgnewtable::text, g.tgqual IS NULL,
         g.tgattr::text, g.tgnargs::integer, g.tgisinternal, g.tgdeferrable, g.tginitdeferred,
         g.tgconstraint, g.tgconstrrelid, g.tgconstrindid, g.tgparentid)
        IS DISTINCT FROM
        ('wharf.log_statement'::regproc::oid, 'O', wanted.type, wanted.old, wanted.new, true,
         '', 0, false, false, false, 0::oid, 0::oid, 0::oid, 0::oid)
$$;

-- Logs that a stage of the caller's own may have been written to without its log, unless this transaction has logged
-- something of it already: whoever asks for what has changed must not hear that nothing has.
CREATE FUNCTION "wharf"."record_unlogged"(stage_schema text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  stage uuid;
  is_logged boolean;
BEGIN
  SELECT stage_id INTO stage FROM system.stage_state
    WHERE schema_name = stage_schema AND pg_has_role(session_user, login, 'MEMBER');
  -- Where constraints are immediate, the transaction has its place in the order already.
  SELECT EXISTS (SELECT FROM system.open_transaction
                 WHERE xid = pg_current_xact_id()::text::bigint AND stage_id = stage)
      OR pg_current_xact_id()::xid = (SELECT xmin FROM system.transaction WHERE stage_id = stage
                                      ORDER BY position DESC LIMIT 1)
    INTO is_logged;
  IF stage IS NOT NULL AND is_logged IS NOT TRUE THEN
    PERFORM wharf.add_event(stage, 'structure', NULL, NULL, NULL, NULL);
  END IF;
END
$$;

-- Makes sure that every table in the schema has the triggers of the log. For the owner of the tables; those of others
-- are left as they are.
CREATE OR REPLACE FUNCTION "wharf"."log_tables"(schema_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  missing record;
  is_complete boolean := true;
BEGIN
  FOR missing IN
    SELECT u.* FROM wharf.unlogged_tables(schema_name) u JOIN pg_catalog.pg_class c ON c.oid = u."table"
    WHERE pg_has_role(c.relowner, 'USAGE') ORDER BY c.oid, u.kind
  LOOP
    is_complete := false;
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
  -- Not before: the locks of the triggers are waited for until everybody who wrote without them has committed.
  IF NOT is_complete THEN
    PERFORM wharf.record_unlogged(schema_name);
  END IF;
END
$$;

-- What the logins of projects may call, which src/projects/project-login.ts grants to new ones.
DO $$
DECLARE
  project name;
BEGIN
  FOR project IN SELECT login FROM control.project JOIN pg_catalog.pg_roles ON rolname = login LOOP
    EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA wharf TO %I', project);
    EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION wharf.enter_stage, wharf.fetch_page, wharf.log_rows, wharf.log_statement, wharf.log_tables,
      wharf.record_import, wharf.record_structure_change, wharf.record_unlogged, wharf.stage_reference,
      wharf.unlogged_tables TO %I', project);
  END LOOP;
END
$$;
