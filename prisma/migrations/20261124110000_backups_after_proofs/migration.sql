-- AlterTable
ALTER TABLE "control"."backup" ADD COLUMN "interim" BOOLEAN NOT NULL DEFAULT false;

-- CreateIndex
CREATE INDEX "artifact_proven_at_idx" ON "control"."artifact"("proven_at");
