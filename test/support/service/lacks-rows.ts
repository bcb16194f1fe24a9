/** A table that archives have, and one that none can: PostgreSQL's own `date` hides its type. */
export const LACKS_ROWS = `
  CREATE TABLE song (id integer PRIMARY KEY, name text);
  INSERT INTO song SELECT n, 'song ' || n FROM generate_series(1, 3) AS n;
  CREATE TYPE date AS ENUM ('monday');
  DO $$ BEGIN
    EXECUTE format('CREATE TABLE concert (id integer PRIMARY KEY, day %I.date)', current_schema());
    EXECUTE format('INSERT INTO concert VALUES (1, %L)', 'monday');
  END $$;`

/** Text that would be wrong about an archive without the rows of `concert`. */
export const SAYS_ALL_IS_THERE = /has all rows|all rows are there|whole and sound|is complete|no rows are missing/i
