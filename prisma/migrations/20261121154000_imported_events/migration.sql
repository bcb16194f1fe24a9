-- Events that came with an archive are told from those that happened here. Their tokens are those of the server that wrote
-- the archive, as it says: they are kept apart from ours.
ALTER TABLE "system"."event" ADD COLUMN "imported_at" TIMESTAMPTZ(6);
ALTER TABLE "system"."event" ADD COLUMN "imported_by" UUID;
ALTER TABLE "system"."event" ADD COLUMN "archived_token_id" UUID;
ALTER TABLE "system"."loading_event" RENAME COLUMN "token_id" TO "archived_token_id";
