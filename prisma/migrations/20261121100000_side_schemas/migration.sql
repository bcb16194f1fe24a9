-- CreateTable
CREATE TABLE "system"."side_schema" (
    "schema_name" TEXT NOT NULL,
    "stage_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6),
    "replaced_by" JSONB,

    CONSTRAINT "side_schema_pkey" PRIMARY KEY ("schema_name")
);

-- CreateTable
CREATE TABLE "system"."loading_event" (
    "stage_id" UUID NOT NULL,
    "position" BIGINT NOT NULL,
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "table_name" TEXT,
    "key" JSONB,
    "values" JSONB,
    "token_id" UUID,
    "occurred_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "loading_event_pkey" PRIMARY KEY ("stage_id","position")
);

-- CreateIndex
CREATE INDEX "side_schema_stage_id_idx" ON "system"."side_schema"("stage_id");

-- AddForeignKey
ALTER TABLE "system"."side_schema" ADD CONSTRAINT "side_schema_stage_id_fkey" FOREIGN KEY ("stage_id") REFERENCES "system"."stage_state"("stage_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "system"."loading_event" ADD CONSTRAINT "loading_event_stage_id_fkey" FOREIGN KEY ("stage_id") REFERENCES "system"."stage_state"("stage_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Logs, in the transaction that loaded it in place, that a stage of the caller's own was imported.
CREATE FUNCTION "wharf"."record_import"(stage uuid, token uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  event uuid;
BEGIN
  PERFORM FROM system.stage_state
    WHERE stage_id = stage AND pg_has_role(session_user, login, 'MEMBER') FOR UPDATE;
  IF NOT FOUND THEN
    RAISE insufficient_privilege USING MESSAGE = 'the stage is not of this login''s project';
  END IF;
  INSERT INTO system.event (stage_id, position, kind, token_id)
    SELECT stage, coalesce(max(position), 0) + 1, 'import', token FROM system.event WHERE stage_id = stage
    RETURNING id INTO event;
  RETURN event;
END
$$;
