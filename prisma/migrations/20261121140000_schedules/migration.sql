-- AlterTable
ALTER TABLE "control"."project" ADD COLUMN "scratch_for" UUID;

-- AlterTable
ALTER TABLE "control"."artifact" ADD COLUMN "proven_at" TIMESTAMPTZ(6);

-- CreateTable
CREATE TABLE "control"."schedule" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT NOT NULL,
    "cron" TEXT NOT NULL,
    "timezone" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "request" JSONB NOT NULL,
    "sealed_secrets" BYTEA,
    "keep_last" INTEGER,
    "keep_days" INTEGER,
    "verify" BOOLEAN NOT NULL DEFAULT false,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "created_by" UUID,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "next_run_at" TIMESTAMPTZ(6),

    CONSTRAINT "schedule_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."schedule_run" (
    "schedule_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(6) NOT NULL,
    "by_hand" BOOLEAN NOT NULL DEFAULT false,
    "job_id" UUID,
    "outcome" TEXT,
    "finished_at" TIMESTAMPTZ(6),
    "proven_at" TIMESTAMPTZ(6),

    CONSTRAINT "schedule_run_pkey" PRIMARY KEY ("schedule_id","due_at")
);

-- CreateIndex
CREATE INDEX "schedule_next_run_at_idx" ON "control"."schedule"("next_run_at");

-- CreateIndex
CREATE UNIQUE INDEX "schedule_run_job_id_key" ON "control"."schedule_run"("job_id");

-- AddForeignKey
ALTER TABLE "control"."schedule_run" ADD CONSTRAINT "schedule_run_schedule_id_fkey" FOREIGN KEY ("schedule_id") REFERENCES "control"."schedule"("id") ON DELETE CASCADE ON UPDATE CASCADE;
