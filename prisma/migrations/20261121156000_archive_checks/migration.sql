-- Kept archives are read again now and then, and those whose bytes have changed are marked.
ALTER TABLE "control"."artifact"
  ADD COLUMN "checked_at" TIMESTAMPTZ(6),
  ADD COLUMN "check_began_at" TIMESTAMPTZ(6),
  ADD COLUMN "damaged_at" TIMESTAMPTZ(6);
