-- A project whose stages are in a database that is not Wharf's has no login in this one.
ALTER TABLE "control"."project" ALTER COLUMN "login" DROP NOT NULL, ALTER COLUMN "sealed_password" DROP NOT NULL;

-- CreateTable
CREATE TABLE "control"."attachment" (
    "project_id" UUID NOT NULL,
    "sealed_address" BYTEA NOT NULL,
    "name" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "attachment_pkey" PRIMARY KEY ("project_id")
);

-- AddForeignKey
ALTER TABLE "control"."attachment" ADD CONSTRAINT "attachment_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "control"."project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Other databases have schemas of the same names. Of those in this one, stage_state says that they are unique.
DROP INDEX "control"."stage_schema_name_key";
CREATE UNIQUE INDEX "stage_project_id_schema_name_key" ON "control"."stage"("project_id", "schema_name");
ALTER TABLE "system"."stage_state" ALTER COLUMN "schema_name" DROP NOT NULL;
