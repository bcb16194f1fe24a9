-- What the login of a project may call: the only things of Wharf's that it can reach. Prisma does not describe
-- functions, so this migration is written by hand.
CREATE SCHEMA "wharf";
GRANT USAGE ON SCHEMA "wharf" TO PUBLIC;

-- Runs a script of any number of statements in the caller's transaction and with the caller's rights. EXECUTE
-- refuses BEGIN, COMMIT and ROLLBACK, so what a script does is done whole or not at all.
CREATE FUNCTION "wharf"."execute_script"(script text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE script;
END
$$;

-- Takes rows of one text column from an open cursor until `max_bytes` have come together; the last row may
-- go beyond. Returns how many there were, and their texts joined by `separator` (NULL when the cursor is at its end).
CREATE FUNCTION "wharf"."fetch_page"(cursor_name refcursor, max_bytes integer, separator text,
                                     OUT "rows" integer, OUT "lines" text)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  line text;
  page text[] := '{}';
  bytes bigint := 0;
BEGIN
  LOOP
    FETCH cursor_name INTO line;
    EXIT WHEN NOT FOUND;
    page := array_append(page, line);
    bytes := bytes + octet_length(line);
    EXIT WHEN bytes >= max_bytes;
  END LOOP;
  "rows" := cardinality(page);
  IF "rows" > 0 THEN
    "lines" := array_to_string(page, separator);
  END IF;
END
$$;

-- Records, in the transaction that made it, a change of the structure of a stage of the caller's own.
CREATE FUNCTION "wharf"."record_structure_change"(stage uuid, script text, token uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  change uuid;
BEGIN
  IF NOT EXISTS (SELECT FROM system.stage_state WHERE stage_id = stage AND login = session_user) THEN
    RAISE insufficient_privilege USING MESSAGE = 'the stage is not of this login''s project';
  END IF;
  INSERT INTO system.structure_change (stage_id, sql, token_id) VALUES (stage, script, token) RETURNING id INTO change;
  RETURN change;
END
$$;
