-- The trigger of every table of a stage runs with the settings of whoever writes, and so finds operators in his
-- `search_path`. PostgreSQL has none of its own for exactly json[] and json, so that it could have called one that somebody
-- made for these. All that is left here compares and adds numbers, for which it has.
CREATE OR REPLACE FUNCTION "wharf"."log_statement"() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  line json;
  page json[] := '{}';
  bytes bigint := 0;
  ignored text;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, NULL);
    RETURN NULL;
  END IF;
  FOR line IN SELECT pg_catalog.row_to_json(c.*) FROM wharf_changed c LOOP
    page := pg_catalog.array_append(page, line);
    bytes := bytes + pg_catalog.pg_column_size(line);
    IF bytes > 262144 OR pg_catalog.cardinality(page) >= 1000 THEN
      ignored := wharf.log_rows(TG_RELID, TG_OP, page);
      page := '{}';
      bytes := 0;
    END IF;
  END LOOP;
  IF bytes > 0 THEN
    ignored := wharf.log_rows(TG_RELID, TG_OP, page);
  END IF;
  RETURN NULL;
END
$$;
