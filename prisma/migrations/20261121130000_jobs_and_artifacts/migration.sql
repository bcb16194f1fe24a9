-- CreateTable
CREATE TABLE "control"."job" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "request" JSONB NOT NULL,
    "sealed_secrets" BYTEA,
    "project_ids" UUID[],
    "created_by" UUID,
    "schedule_id" UUID,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "progress" JSONB,
    "result" JSONB,
    "error" JSONB,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "max_attempts" INTEGER NOT NULL,
    "heartbeat_at" TIMESTAMPTZ(6),
    "cancel_requested_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(6),
    "finished_at" TIMESTAMPTZ(6),
    "expires_at" TIMESTAMPTZ(6),
    "idempotency_key" TEXT,
    "idempotency_hash" BYTEA,

    CONSTRAINT "job_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."artifact" (
    "id" UUID NOT NULL,
    "job_id" UUID,
    "kind" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'writing',
    "bytes" BIGINT,
    "sha256" BYTEA,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6),

    CONSTRAINT "artifact_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "job_idempotency_key_key" ON "control"."job"("idempotency_key");

-- CreateIndex
CREATE INDEX "job_created_at_id_idx" ON "control"."job"("created_at", "id");

-- CreateIndex
CREATE INDEX "job_status_idx" ON "control"."job"("status");

-- CreateIndex
CREATE UNIQUE INDEX "artifact_key_key" ON "control"."artifact"("key");

-- CreateIndex
CREATE INDEX "artifact_job_id_idx" ON "control"."artifact"("job_id");

-- CreateIndex
CREATE INDEX "artifact_state_expires_at_idx" ON "control"."artifact"("state", "expires_at");

-- AddForeignKey
ALTER TABLE "control"."artifact" ADD CONSTRAINT "artifact_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "control"."job"("id") ON DELETE SET NULL ON UPDATE CASCADE;
