-- A row for each stage, as long as PostgreSQL has not crashed: what is logged of a crash is logged of each stage by
-- itself, so that a stage whose log is held by somebody keeps no other waiting.
CREATE UNLOGGED TABLE "system"."stage_crash_check" (
    "stage_id" UUID NOT NULL,

    CONSTRAINT "stage_crash_check_pkey" PRIMARY KEY ("stage_id")
);
INSERT INTO "system"."stage_crash_check" ("stage_id")
  SELECT "stage_id" FROM "system"."stage_state" WHERE EXISTS (SELECT FROM "system"."crash_check");

-- Whether PostgreSQL has crashed since, and what that has emptied of the stage is in no log yet. NULL for no stage. No UNLOGGED table can be
-- read on a standby, which has none of their rows either: nothing is planned there that names one.
CREATE FUNCTION "wharf"."crashed"(stage uuid) RETURNS boolean
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RETURN false;
  END IF;
  RETURN NOT EXISTS (SELECT FROM system.stage_crash_check WHERE stage_id = stage);
END
$$;

CREATE OR REPLACE FUNCTION "wharf"."stage_reference"(stage uuid, OUT reference uuid, OUT generation bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN wharf.crashed(state.stage_id)
    THEN gen_random_uuid()
    ELSE (SELECT reference FROM system.transaction WHERE stage_id = stage ORDER BY position DESC LIMIT 1)
    END, state.generation
  FROM system.stage_state state
  WHERE state.stage_id = stage AND pg_has_role(session_user, state.login, 'MEMBER')
$$;

-- Logs of every stage, once after each crash, that this has emptied its UNLOGGED tables. For Wharf's own login.
--
-- A transaction of the project's own may hold the place of the stage in its log for as long as it likes. Nobody waits for
-- it: that stage is left to the next call. No one else waits for this either, as long as its transaction is short.
CREATE OR REPLACE FUNCTION "wharf"."record_crash"() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  stages uuid[];
BEGIN
  INSERT INTO system.stage_crash_check (stage_id)
    SELECT state.stage_id FROM system.stage_state state
    WHERE NOT EXISTS (SELECT FROM system.stage_crash_check recorded WHERE recorded.stage_id = state.stage_id)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
                      WHERE n.nspname = state.schema_name AND c.relkind = 'r' AND c.relpersistence = 'u')
    ORDER BY state.stage_id
    ON CONFLICT DO NOTHING;
  SELECT array_agg(stage_id ORDER BY stage_id) INTO stages FROM (
    SELECT state.stage_id FROM system.stage_state state
    WHERE NOT EXISTS (SELECT FROM system.stage_crash_check recorded WHERE recorded.stage_id = state.stage_id)
    FOR NO KEY UPDATE SKIP LOCKED) AS free;
  -- Another may have recorded one between the look and the lock. The lock is held now: what that has recorded is seen.
  SELECT array_agg(id ORDER BY id) INTO stages FROM unnest(stages) AS free (id)
    WHERE NOT EXISTS (SELECT FROM system.stage_crash_check recorded WHERE recorded.stage_id = free.id);
  PERFORM wharf.add_event(state.stage_id, 'truncate', c.relname::text, NULL, NULL, NULL)
    FROM system.stage_state state
    JOIN pg_catalog.pg_namespace n ON n.nspname = state.schema_name
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r' AND c.relpersistence = 'u'
    WHERE state.stage_id = ANY (stages)
    ORDER BY state.stage_id, c.oid;
  INSERT INTO system.stage_crash_check (stage_id) SELECT unnest(stages) ON CONFLICT DO NOTHING;
END
$$;

DROP TABLE "system"."crash_check";

-- A stage is made with nothing that a crash could have emptied, and needs its row no longer than it lasts.
CREATE FUNCTION "wharf"."make_crash_check"() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO system.stage_crash_check (stage_id) VALUES (NEW.stage_id) ON CONFLICT DO NOTHING;
  ELSE
    DELETE FROM system.stage_crash_check WHERE stage_id = OLD.stage_id;
  END IF;
  RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION "wharf"."crashed", "wharf"."make_crash_check" FROM PUBLIC;

CREATE TRIGGER "make_crash_check" AFTER INSERT OR DELETE ON "system"."stage_state"
  FOR EACH ROW EXECUTE FUNCTION "wharf"."make_crash_check"();
