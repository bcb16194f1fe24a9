-- Who may have SQL of their own run as the project's login: scripts, and archives that build a stage.
ALTER TABLE "control"."role" ADD COLUMN "content_structure" BOOLEAN NOT NULL DEFAULT false;

-- The roles that have it in new projects could build a stage from an archive until now.
UPDATE "control"."role" SET "content_structure" = true
WHERE "name" IN ('admin', 'content_admin') AND "content_import";
