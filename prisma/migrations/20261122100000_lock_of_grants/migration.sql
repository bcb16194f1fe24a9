-- Locked while rights on the database, and on what all projects share in it, are granted or taken.
INSERT INTO "control"."lock" ("name") VALUES ('grants');
