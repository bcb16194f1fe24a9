-- CreateTable
CREATE TABLE "control"."installation" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "recovered_from" TEXT,

    CONSTRAINT "installation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."backup" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "key" TEXT NOT NULL,
    "began_at" TIMESTAMPTZ(6) NOT NULL,
    "bytes" BIGINT,

    CONSTRAINT "backup_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."recovered_project" (
    "project_id" UUID NOT NULL,
    "outcome" JSONB NOT NULL,

    CONSTRAINT "recovered_project_pkey" PRIMARY KEY ("project_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "backup_key_key" ON "control"."backup"("key");

-- CreateIndex
CREATE INDEX "backup_began_at_idx" ON "control"."backup"("began_at");

INSERT INTO "control"."installation" DEFAULT VALUES;

INSERT INTO "control"."lock" ("name") VALUES ('backup');
