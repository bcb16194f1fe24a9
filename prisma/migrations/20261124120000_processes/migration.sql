-- CreateTable
CREATE TABLE "control"."process" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "parts" TEXT[],
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "process_pkey" PRIMARY KEY ("id")
);
