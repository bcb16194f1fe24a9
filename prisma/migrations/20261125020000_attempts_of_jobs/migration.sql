-- AlterTable
ALTER TABLE "control"."job" ADD COLUMN "attempts" JSONB NOT NULL DEFAULT '[]';
