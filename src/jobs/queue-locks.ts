import type { PgQueryable } from 'bullmq'

/**
 * How many rows stand for BullMQ's keys, and as many again for its pairs of keys. Two keys that share one wait for each
 * other, which does no harm.
 */
const ROWS = 1_024

const PAIR = `${ROWS} + ((key # second_key) & ${ROWS - 1})`

/**
 * Functions of the queue's schema with the names and the arguments of PostgreSQL's own, as BullMQ calls them. They lock
 * rows of a table that only Wharf's login can reach, where PostgreSQL's take locks that any login of the database can
 * take: it could stop the queue of all projects.
 */
const FUNCTIONS = `
  CREATE TABLE IF NOT EXISTS bullmq.wharf_lock (id integer PRIMARY KEY);
  INSERT INTO bullmq.wharf_lock SELECT generate_series(0, ${2 * ROWS - 1}) ON CONFLICT DO NOTHING;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock(key integer) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    PERFORM FROM bullmq.wharf_lock WHERE id = key & ${ROWS - 1} FOR UPDATE;
  END
  $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock(key bigint) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    PERFORM bullmq.pg_advisory_xact_lock(hashint8(key));
  END
  $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock(key integer, second_key integer) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    PERFORM FROM bullmq.wharf_lock WHERE id = ${PAIR} FOR UPDATE;
  END
  $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock_shared(key integer, second_key integer) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    PERFORM FROM bullmq.wharf_lock WHERE id = ${PAIR} FOR SHARE;
  END
  $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_try_advisory_xact_lock(key integer) RETURNS boolean
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    PERFORM FROM bullmq.wharf_lock WHERE id = key & ${ROWS - 1} FOR UPDATE SKIP LOCKED;
    RETURN FOUND;
  END
  $$;`

/** Lets BullMQ's functions find those above before PostgreSQL's. */
const PATHS = `
  DO $$
  DECLARE
    name text;
  BEGIN
    FOR name IN
      SELECT oid::regprocedure FROM pg_catalog.pg_proc
      WHERE pronamespace = 'bullmq'::regnamespace AND prosrc LIKE '%advisory_xact_lock%'
        AND proname !~ '^pg_' AND proconfig IS DISTINCT FROM ARRAY['search_path=bullmq, pg_catalog']
    LOOP
      EXECUTE 'ALTER FUNCTION ' || name || ' SET search_path = bullmq, pg_catalog';
    END LOOP;
  END
  $$`

/**
 * Gives BullMQ rows to lock instead of its advisory locks. Safe to repeat; one process at a time.
 *
 * @param client of Wharf's own login, after BullMQ's migrations.
 * @throws where BullMQ calls a function for advisory locks that there is no other for: after an update of it.
 */
export async function replaceAdvisoryLocks(client: PgQueryable): Promise<void> {
  await client.query(FUNCTIONS)
  await client.query(PATHS)
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT called[1] AS name FROM pg_catalog.pg_proc, pg_catalog.regexp_matches(prosrc, 'pg_[a-z_]*advisory[a-z_]*', 'g') called
     WHERE pronamespace = 'bullmq'::regnamespace
       AND called[1] NOT IN (SELECT proname FROM pg_catalog.pg_proc WHERE pronamespace = 'bullmq'::regnamespace)`,
  )
  if (rows.length > 0) throw new Error(`the queue takes locks that any login can take: ${rows.map(({ name }) => name)}`)
}
