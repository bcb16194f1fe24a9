-- AlterTable
ALTER TABLE "system"."side_schema" ADD COLUMN "job_id" UUID,
ADD COLUMN "attempt" INTEGER,
ADD COLUMN "saved" JSONB;

-- CreateIndex
CREATE INDEX "side_schema_job_id_idx" ON "system"."side_schema"("job_id");
