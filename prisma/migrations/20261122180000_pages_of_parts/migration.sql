-- Takes rows of two columns, a number and a text, from an open cursor until `max_bytes` of text have come together; the
-- last row may go beyond. Returns a row for each run of the same number: that, how many rows there were, and their texts
-- joined by `separator`. Nothing when the cursor is at its end.
CREATE FUNCTION "wharf"."fetch_pages"(cursor_name refcursor, max_bytes integer, separator text)
RETURNS TABLE ("part" integer, "rows" integer, "lines" text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  line_part integer;
  line text;
  page text[] := '{}';
  bytes bigint := 0;
BEGIN
  LOOP
    FETCH cursor_name INTO line_part, line;
    EXIT WHEN NOT FOUND;
    IF line_part <> "part" THEN
      "rows" := cardinality(page);
      "lines" := array_to_string(page, separator);
      RETURN NEXT;
      page := '{}';
    END IF;
    "part" := line_part;
    page := array_append(page, line);
    bytes := bytes + octet_length(line);
    EXIT WHEN bytes >= max_bytes;
  END LOOP;
  "rows" := cardinality(page);
  IF "rows" > 0 THEN
    "lines" := array_to_string(page, separator);
    RETURN NEXT;
  END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION "wharf"."fetch_pages" FROM PUBLIC;

-- What src/projects/project-login.ts grants to new projects.
DO $$
DECLARE
  project name;
BEGIN
  FOR project IN SELECT login FROM control.project JOIN pg_catalog.pg_roles ON rolname = login LOOP
    EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION wharf.fetch_pages TO %I', project);
  END LOOP;
END
$$;
