-- CreateTable
CREATE TABLE "control"."upload" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "created_by" UUID,
    "length" BIGINT NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "upload_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "upload_expires_at_idx" ON "control"."upload"("expires_at");

-- AlterTable
ALTER TABLE "control"."artifact" ADD COLUMN "upload_id" UUID,
ADD COLUMN "upload_offset" BIGINT;

-- CreateIndex
CREATE INDEX "artifact_upload_id_idx" ON "control"."artifact"("upload_id");

-- AddForeignKey
ALTER TABLE "control"."artifact" ADD CONSTRAINT "artifact_upload_id_fkey" FOREIGN KEY ("upload_id") REFERENCES "control"."upload"("id") ON DELETE SET NULL ON UPDATE CASCADE;
