-- CreateTable
CREATE TABLE "control"."attached_server" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT NOT NULL,
    "sealed_address" BYTEA NOT NULL,
    "address" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "prefix" TEXT NOT NULL DEFAULT '',
    "excluded" TEXT[],
    "detached" TEXT[],
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "changed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "attached_server_pkey" PRIMARY KEY ("id")
);

-- AlterTable
ALTER TABLE "control"."attachment" ADD COLUMN "server_id" UUID, ADD COLUMN "database" TEXT;

-- CreateIndex
CREATE UNIQUE INDEX "attached_server_name_key" ON "control"."attached_server"("name");
CREATE UNIQUE INDEX "attachment_server_id_database_key" ON "control"."attachment"("server_id", "database");

-- AddForeignKey
ALTER TABLE "control"."attachment" ADD CONSTRAINT "attachment_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "control"."attached_server"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
