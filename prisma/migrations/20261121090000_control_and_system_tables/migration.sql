-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "control";

-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "system";

-- CreateTable
CREATE TABLE "control"."project" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "slug" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "sealed_password" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."stage" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "project_id" UUID NOT NULL,
    "slug" TEXT NOT NULL,
    "schema_name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "stage_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."role" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "content_read" BOOLEAN NOT NULL DEFAULT false,
    "content_write" BOOLEAN NOT NULL DEFAULT false,
    "content_export" BOOLEAN NOT NULL DEFAULT false,
    "content_import" BOOLEAN NOT NULL DEFAULT false,
    "system_export" BOOLEAN NOT NULL DEFAULT false,
    "system_import" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "role_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."token" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),

    CONSTRAINT "token_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."membership" (
    "token_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "role_id" UUID NOT NULL,

    CONSTRAINT "membership_pkey" PRIMARY KEY ("token_id","project_id")
);

-- CreateTable
CREATE TABLE "system"."stage_state" (
    "stage_id" UUID NOT NULL,
    "schema_name" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "generation" BIGINT NOT NULL DEFAULT 1,

    CONSTRAINT "stage_state_pkey" PRIMARY KEY ("stage_id")
);

-- CreateTable
CREATE TABLE "system"."structure_change" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "stage_id" UUID NOT NULL,
    "sql" TEXT NOT NULL,
    "token_id" UUID,
    "applied_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "structure_change_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "system"."event" (
    "stage_id" UUID NOT NULL,
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "position" BIGINT NOT NULL,
    "kind" TEXT NOT NULL,
    "table_name" TEXT,
    "key" JSONB,
    "values" JSONB,
    "token_id" UUID,
    "occurred_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "event_pkey" PRIMARY KEY ("stage_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "project_slug_key" ON "control"."project"("slug");

-- CreateIndex
CREATE UNIQUE INDEX "project_login_key" ON "control"."project"("login");

-- CreateIndex
CREATE UNIQUE INDEX "stage_schema_name_key" ON "control"."stage"("schema_name");

-- CreateIndex
CREATE UNIQUE INDEX "stage_project_id_slug_key" ON "control"."stage"("project_id", "slug");

-- CreateIndex
CREATE UNIQUE INDEX "role_project_id_name_key" ON "control"."role"("project_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "token_hash_key" ON "control"."token"("hash");

-- CreateIndex
CREATE UNIQUE INDEX "stage_state_schema_name_key" ON "system"."stage_state"("schema_name");

-- CreateIndex
CREATE INDEX "structure_change_stage_id_applied_at_idx" ON "system"."structure_change"("stage_id", "applied_at");

-- CreateIndex
CREATE UNIQUE INDEX "event_stage_id_position_key" ON "system"."event"("stage_id", "position");

-- AddForeignKey
ALTER TABLE "control"."stage" ADD CONSTRAINT "stage_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "control"."project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "control"."role" ADD CONSTRAINT "role_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "control"."project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "control"."membership" ADD CONSTRAINT "membership_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "control"."token"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "control"."membership" ADD CONSTRAINT "membership_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "control"."project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "control"."membership" ADD CONSTRAINT "membership_role_id_fkey" FOREIGN KEY ("role_id") REFERENCES "control"."role"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "system"."structure_change" ADD CONSTRAINT "structure_change_stage_id_fkey" FOREIGN KEY ("stage_id") REFERENCES "system"."stage_state"("stage_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "system"."event" ADD CONSTRAINT "event_stage_id_fkey" FOREIGN KEY ("stage_id") REFERENCES "system"."stage_state"("stage_id") ON DELETE CASCADE ON UPDATE CASCADE;
