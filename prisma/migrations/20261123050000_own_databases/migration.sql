-- A project can have a database of its own, which Wharf makes on the same server.
ALTER TABLE "control"."project" ADD COLUMN "own_database" TEXT, ADD COLUMN "unfinished" BOOLEAN NOT NULL DEFAULT false;
CREATE UNIQUE INDEX "project_own_database_key" ON "control"."project"("own_database");
