-- CreateTable
CREATE TABLE "control"."webhook" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT NOT NULL,
    "sealed_address" BYTEA NOT NULL,
    "address" TEXT NOT NULL,
    "events" TEXT[],
    "job_kinds" TEXT[],
    "projects" TEXT[],
    "schedule_ids" UUID[],
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "gone_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."notification" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "type" TEXT NOT NULL,
    "job_id" UUID,
    "data" JSONB,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "addressed_at" TIMESTAMPTZ(6),

    CONSTRAINT "notification_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "control"."delivery" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "notification_id" UUID NOT NULL,
    "webhook_id" UUID NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'waiting',
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "retry_until" TIMESTAMPTZ(6) NOT NULL,
    "taken_until" TIMESTAMPTZ(6),
    "tried_at" TIMESTAMPTZ(6),
    "answered" INTEGER,
    "error" TEXT,
    "ended_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "delivery_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "notification_addressed_at_created_at_idx" ON "control"."notification"("addressed_at", "created_at");

-- CreateIndex
CREATE INDEX "notification_created_at_idx" ON "control"."notification"("created_at");

-- CreateIndex
CREATE INDEX "delivery_webhook_id_status_due_at_idx" ON "control"."delivery"("webhook_id", "status", "due_at");

-- CreateIndex
CREATE INDEX "delivery_webhook_id_taken_until_idx" ON "control"."delivery"("webhook_id", "taken_until");

-- CreateIndex
CREATE INDEX "delivery_webhook_id_created_at_id_idx" ON "control"."delivery"("webhook_id", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "delivery_notification_id_webhook_id_key" ON "control"."delivery"("notification_id", "webhook_id");

-- AddForeignKey
ALTER TABLE "control"."delivery" ADD CONSTRAINT "delivery_notification_id_fkey" FOREIGN KEY ("notification_id") REFERENCES "control"."notification"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "control"."delivery" ADD CONSTRAINT "delivery_webhook_id_fkey" FOREIGN KEY ("webhook_id") REFERENCES "control"."webhook"("id") ON DELETE CASCADE ON UPDATE CASCADE;
