-- AlterTable
ALTER TABLE "control"."project" ADD COLUMN "log_days" INTEGER, ADD COLUMN "log_events" INTEGER;

-- CreateTable
CREATE TABLE "system"."log_start" (
    "stage_id" UUID NOT NULL,
    "since" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "log_start_pkey" PRIMARY KEY ("stage_id")
);

-- AddForeignKey
ALTER TABLE "system"."log_start" ADD CONSTRAINT "log_start_stage_id_fkey" FOREIGN KEY ("stage_id") REFERENCES "system"."stage_state"("stage_id") ON DELETE CASCADE ON UPDATE CASCADE;
