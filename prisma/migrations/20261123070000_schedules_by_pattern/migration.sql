-- AlterTable
ALTER TABLE "control"."schedule" ADD COLUMN "held" JSONB;
