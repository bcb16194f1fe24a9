-- AlterTable
ALTER TABLE "control"."schedule" ADD COLUMN "max_age_hours" INTEGER, ADD COLUMN "shrink_percent" INTEGER, ADD COLUMN "overdue_since" TIMESTAMPTZ(6);

-- AlterTable
ALTER TABLE "control"."webhook" ADD COLUMN "kind" TEXT NOT NULL DEFAULT 'standard', ADD COLUMN "schedule_id" UUID;

-- AlterTable
ALTER TABLE "control"."notification" ADD COLUMN "schedule_id" UUID;

-- CreateIndex
CREATE UNIQUE INDEX "webhook_schedule_id_key" ON "control"."webhook"("schedule_id");

-- AddForeignKey
ALTER TABLE "control"."webhook" ADD CONSTRAINT "webhook_schedule_id_fkey" FOREIGN KEY ("schedule_id") REFERENCES "control"."schedule"("id") ON DELETE CASCADE ON UPDATE CASCADE;
