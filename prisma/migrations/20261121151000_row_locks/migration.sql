-- Locks are rows that no project's login can reach. An advisory lock can be taken by every login of the database.

-- CreateTable
CREATE TABLE "control"."lock" (
    "name" TEXT NOT NULL,

    CONSTRAINT "lock_pkey" PRIMARY KEY ("name")
);

INSERT INTO "control"."lock" ("name") VALUES ('sweep');

-- CreateTable
CREATE TABLE "system"."stage_lock" (
    "stage_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "closed_until" TIMESTAMPTZ(6),

    CONSTRAINT "stage_lock_pkey" PRIMARY KEY ("stage_id","kind")
);

-- No foreign key: to delete a stage is not to wait for its import.
CREATE FUNCTION "wharf"."make_stage_locks"() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO system.stage_lock (stage_id, kind) VALUES (NEW.stage_id, 'import'), (NEW.stage_id, 'write')
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION "wharf"."make_stage_locks" FROM PUBLIC;

CREATE TRIGGER "make_stage_locks" AFTER INSERT ON "system"."stage_state"
  FOR EACH ROW EXECUTE FUNCTION "wharf"."make_stage_locks"();

INSERT INTO "system"."stage_lock" ("stage_id", "kind")
  SELECT "stage_id", "kind" FROM "system"."stage_state", (VALUES ('import'), ('write')) AS "kinds" ("kind");

-- Keeps imports and changes of structure out of a stage until the transaction ends. Never waits: false says that one of
-- them is under way, or waits for those who are writing.
--
-- For the logins of the stage's own project: one that never ends its transaction keeps nobody else waiting.
CREATE FUNCTION "wharf"."enter_stage"(stage uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  closed timestamptz;
BEGIN
  IF NOT EXISTS (SELECT FROM system.stage_state WHERE stage_id = stage AND pg_has_role(session_user, login, 'MEMBER')) THEN
    RAISE insufficient_privilege USING MESSAGE = 'the stage is not of this login''s project';
  END IF;
  SELECT closed_until INTO closed FROM system.stage_lock WHERE stage_id = stage AND kind = 'write'
    FOR KEY SHARE SKIP LOCKED;
  RETURN FOUND AND (closed IS NULL OR closed <= clock_timestamp());
END
$$;
