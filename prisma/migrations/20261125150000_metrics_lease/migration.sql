-- CreateTable
CREATE TABLE "control"."metrics_lease" (
    "id" SMALLINT NOT NULL DEFAULT 1,
    "process_id" UUID NOT NULL,
    "renewed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "metrics_lease_pkey" PRIMARY KEY ("id")
);
