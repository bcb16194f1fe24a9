-- An attached stage has an event log in its own database only when asked for, since that puts triggers on its tables.
ALTER TABLE "control"."stage" ADD COLUMN "logged_since" TIMESTAMPTZ(6);
