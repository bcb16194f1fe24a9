-- One at a time attaches a database, so that no two make a stage of the same schema.
INSERT INTO "control"."lock" ("name") VALUES ('attachments');
