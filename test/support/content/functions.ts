/** A small record shop with functions of every kind. */
export const FUNCTION_SHOP = `
  CREATE TABLE artist (id int PRIMARY KEY, name text NOT NULL);
  CREATE TABLE album (id int PRIMARY KEY, title text NOT NULL, year int, artist_id int REFERENCES artist);
  INSERT INTO artist VALUES (1, 'Ada'), (2, 'Bo');
  INSERT INTO album VALUES (1, 'Cold', 1975, 1), (2, 'Warm', 1979, 1), (3, 'Ice', 1983, 2), (4, 'Salt', NULL, 2);
  CREATE TABLE visit (n int PRIMARY KEY, note text);
  CREATE VIEW old_album AS SELECT * FROM album WHERE year < 1980;
  CREATE TYPE point_2d AS (x int, y int);
  CREATE TYPE mood AS ENUM ('glad', 'sad');
  CREATE DOMAIN positive AS int CHECK (VALUE > 0);

  CREATE FUNCTION add_them(a int, b int DEFAULT 10) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a + b';
  CREATE FUNCTION hello(name text) RETURNS text STABLE LANGUAGE sql AS $$ SELECT 'Hello, ' || name $$;
  CREATE FUNCTION numbers() RETURNS int[] IMMUTABLE LANGUAGE sql AS 'SELECT ARRAY[1, 2, 3]';
  CREATE FUNCTION counted(upto int) RETURNS SETOF int IMMUTABLE LANGUAGE sql AS 'SELECT generate_series(1, upto)';
  CREATE FUNCTION nothing() RETURNS int STABLE LANGUAGE sql AS 'SELECT NULL::int';
  CREATE FUNCTION origin() RETURNS point_2d STABLE LANGUAGE sql AS 'SELECT (10, 5)::point_2d';
  CREATE FUNCTION moody(how mood) RETURNS mood STABLE LANGUAGE sql AS 'SELECT how';
  CREATE FUNCTION doubled(val positive) RETURNS positive STABLE LANGUAGE sql AS 'SELECT (val * 2)::positive';
  CREATE FUNCTION as_json() RETURNS json STABLE LANGUAGE sql AS $$ SELECT '{"n": 12345678901234567890}'::json $$;
  CREATE FUNCTION any_record() RETURNS record STABLE LANGUAGE sql AS 'SELECT a FROM album a WHERE id = 1';
  CREATE FUNCTION record_rows() RETURNS SETOF record STABLE LANGUAGE sql AS 'SELECT id, title FROM album WHERE id < 3';
  CREATE FUNCTION out_one(num int, OUT plus_one int) STABLE LANGUAGE sql AS 'SELECT num + 1';
  CREATE FUNCTION inout_two(INOUT num int, INOUT str text DEFAULT 'none') STABLE LANGUAGE sql AS 'SELECT num + 1, str';
  CREATE FUNCTION as_table() RETURNS TABLE (a text, b int) STABLE LANGUAGE sql AS $$ VALUES ('A', 1), ('B', 2) $$;
  CREATE FUNCTION albums() RETURNS SETOF album STABLE LANGUAGE sql AS 'SELECT * FROM album ORDER BY id';
  CREATE FUNCTION old_albums() RETURNS SETOF old_album STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM old_album; END $$;
  CREATE FUNCTION an_album(id int) RETURNS album STABLE LANGUAGE sql AS 'SELECT a FROM album a WHERE a.id = an_album.id';
  CREATE FUNCTION below(id int) RETURNS SETOF album STABLE LANGUAGE sql AS 'SELECT * FROM album a WHERE a.id < below.id';
  CREATE FUNCTION joined(VARIADIC v text[] DEFAULT '{}') RETURNS text[] IMMUTABLE LANGUAGE sql AS 'SELECT v';
  CREATE FUNCTION sums(nums int[]) RETURNS bigint STABLE LANGUAGE sql AS 'SELECT sum(n) FROM unnest(nums) n';
  CREATE FUNCTION kind_of(arg json) RETURNS text STABLE LANGUAGE sql AS 'SELECT json_typeof(arg)';
  CREATE FUNCTION point_sum(p point_2d) RETURNS int STABLE LANGUAGE sql AS 'SELECT p.x + p.y';
  CREATE FUNCTION loaded() RETURNS int[] STABLE LANGUAGE sql AS 'SELECT ARRAY[1]';
  CREATE FUNCTION loaded(a int, b int) RETURNS int STABLE LANGUAGE sql AS 'SELECT a + b';
  CREATE FUNCTION loaded(a text, b text, c text) RETURNS text STABLE LANGUAGE sql AS 'SELECT a || b || c';
  CREATE FUNCTION same(arg int) RETURNS int STABLE LANGUAGE sql AS 'SELECT arg';
  CREATE FUNCTION same(arg text) RETURNS text STABLE LANGUAGE sql AS 'SELECT arg';
  CREATE DOMAIN page AS text;
  CREATE FUNCTION as_page() RETURNS page STABLE LANGUAGE sql AS $$ SELECT 'as it is'::page $$;
  CREATE FUNCTION as_xml(xml) RETURNS xml STABLE LANGUAGE sql AS 'SELECT $1';
  CREATE FUNCTION as_bytes(bytea) RETURNS bytea STABLE LANGUAGE sql AS 'SELECT $1';
  CREATE FUNCTION no_text() RETURNS text STABLE LANGUAGE sql AS 'SELECT NULL::text';
  CREATE FUNCTION whole(json) RETURNS json STABLE LANGUAGE sql AS 'SELECT $1';
  CREATE FUNCTION whole(text) RETURNS text STABLE LANGUAGE sql AS 'SELECT $1';
  CREATE FUNCTION whole(bytea) RETURNS int STABLE LANGUAGE sql AS 'SELECT octet_length($1)';
  CREATE FUNCTION whole(a int, b int) RETURNS int STABLE LANGUAGE sql AS 'SELECT a + b';
  CREATE FUNCTION "quoted Name"("fullName" text) RETURNS json STABLE LANGUAGE sql AS $$ SELECT json_build_object('fullName', "fullName") $$;

  CREATE FUNCTION undying() RETURNS int STABLE LANGUAGE plpgsql AS $$
    BEGIN LOOP BEGIN PERFORM pg_sleep(3600); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$;
  CREATE VIEW for_ever AS SELECT undying();

  CREATE FUNCTION first_album(artist) RETURNS SETOF album STABLE ROWS 1 LANGUAGE sql AS
    'SELECT * FROM album WHERE artist_id = $1.id ORDER BY id';

  CREATE FUNCTION chance() RETURNS float8 VOLATILE LANGUAGE sql AS 'SELECT random()';
  CREATE SEQUENCE calls;
  CREATE FUNCTION call_count() RETURNS bigint VOLATILE LANGUAGE sql AS $$ SELECT nextval('calls') $$;
  CREATE FUNCTION visits(first int, last int) RETURNS SETOF visit VOLATILE LANGUAGE sql
    AS $$ INSERT INTO visit SELECT n, 'visit ' || n FROM generate_series(first, last) n RETURNING * $$;
  CREATE FUNCTION forget() RETURNS void VOLATILE LANGUAGE sql AS 'DELETE FROM visit';
  CREATE FUNCTION writes_nothing() RETURNS void VOLATILE LANGUAGE sql AS 'SELECT';
  CREATE FUNCTION stable_nothing() RETURNS void STABLE LANGUAGE sql AS 'SELECT';
  CREATE FUNCTION says_stable() RETURNS SETOF visit STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM visits(100, 100); END $$;
  CREATE FUNCTION the_time() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT clock_timestamp()';
  CREATE FUNCTION endless() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1 FROM pg_sleep(3600)';
  CREATE FUNCTION endless_write() RETURNS int VOLATILE LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO visit VALUES (-1); PERFORM pg_sleep(3600); RETURN 1; END $$;
  CREATE FUNCTION refuses(code text, message text) RETURNS int STABLE LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION '%', message USING ERRCODE = code, DETAIL = 'Quota exceeded', HINT = 'Upgrade'; END $$;
  CREATE FUNCTION refuses_pgrst(said text, answer text) RETURNS int STABLE LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION '%', said USING ERRCODE = 'PGRST', DETAIL = answer; END $$;
  CREATE FUNCTION breaks() RETURNS int VOLATILE LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO visit VALUES (-2); INSERT INTO artist VALUES (1, 'twice'); RETURN 1; END $$;
  CREATE FUNCTION broken() RETURNS SETOF album VOLATILE LANGUAGE plpgsql
    AS $$ BEGIN PERFORM nextval('calls'); RETURN QUERY EXECUTE 'SELECT * FROM not_there'; END $$;
  CREATE FUNCTION on_visit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
  CREATE FUNCTION of_any(a anyelement) RETURNS anyelement STABLE LANGUAGE sql AS 'SELECT a';
  CREATE FUNCTION hidden() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1';
  REVOKE EXECUTE ON FUNCTION hidden FROM PUBLIC;
  CREATE PROCEDURE proceed() LANGUAGE sql AS 'DELETE FROM visit'`

export const RPC = '/content/shop/live/rpc'
