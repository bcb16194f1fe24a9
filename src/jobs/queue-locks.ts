import type { PgQueryable } from 'bullmq'

/**
 * Functions of the queue's schema with the names and the arguments of PostgreSQL's own, as BullMQ calls them. They lock
 * rows of a table that only Wharf's login can reach, where PostgreSQL's take locks that any login of the database can
 * take: it could stop the queue of all projects.
 *
 * Each key has a row of its own, made when it is first taken. BullMQ takes several keys in one transaction, in an order
 * that it has thought of: if two shared a row, transactions that never meet on a key could wait for each other in a
 * circle. A transaction that inserts a row keeps others from it until it has ended, as if it had locked the row.
 */
const FUNCTIONS = `
  DROP TABLE IF EXISTS bullmq.wharf_lock;
  CREATE TABLE IF NOT EXISTS bullmq.wharf_key (key text PRIMARY KEY);

  CREATE OR REPLACE FUNCTION bullmq.wharf_take(wanted text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    LOOP
      PERFORM FROM bullmq.wharf_key WHERE key = wanted FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO bullmq.wharf_key VALUES (wanted) ON CONFLICT DO NOTHING;
    END LOOP;
  END
  $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock(key bigint) RETURNS void
  LANGUAGE sql SET search_path = pg_catalog AS $$ SELECT bullmq.wharf_take(key::text) $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock(key integer) RETURNS void
  LANGUAGE sql SET search_path = pg_catalog AS $$ SELECT bullmq.wharf_take(key::text) $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock(key integer, second_key integer) RETURNS void
  LANGUAGE sql SET search_path = pg_catalog AS $$ SELECT bullmq.wharf_take(key || ' ' || second_key) $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_advisory_xact_lock_shared(key integer, second_key integer) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  DECLARE
    wanted text := key || ' ' || second_key;
  BEGIN
    LOOP
      PERFORM FROM bullmq.wharf_key WHERE wharf_key.key = wanted FOR SHARE;
      EXIT WHEN FOUND;
      INSERT INTO bullmq.wharf_key VALUES (wanted) ON CONFLICT DO NOTHING;
    END LOOP;
  END
  $$;

  CREATE OR REPLACE FUNCTION bullmq.pg_try_advisory_xact_lock(key integer) RETURNS boolean
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  DECLARE
    wanted text := key;
  BEGIN
    PERFORM FROM bullmq.wharf_key WHERE wharf_key.key = wanted FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      RETURN true;
    END IF;
    PERFORM FROM bullmq.wharf_key WHERE wharf_key.key = wanted;
    IF FOUND THEN
      RETURN false;
    END IF;
    INSERT INTO bullmq.wharf_key VALUES (wanted) ON CONFLICT DO NOTHING;
    RETURN FOUND;
  END
  $$;`

/** What BullMQ takes a key for, in a queue whose jobs have no parents and no deduplication. */
const PURPOSES = ['concurrency', 'evnotify', 'evtrim', 'jidseq', 'limiter']

/** The rows of those keys, so that nobody has to wait for another who makes one. */
const ROWS = `
  INSERT INTO bullmq.wharf_key
  SELECT hashtext('bullmq:' || purpose || ':' || queue)::text FROM unnest($1::text[]) queue, unnest($2::text[]) purpose
  UNION SELECT hashtext('bullmq:finalization') || ' ' || hashtext(queue) FROM unnest($1::text[]) queue
  ON CONFLICT DO NOTHING`

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
 * @param queues their names.
 * @throws where BullMQ calls a function for advisory locks that there is no other for: after an update of it.
 */
export async function replaceAdvisoryLocks(client: PgQueryable, queues: readonly string[]): Promise<void> {
  await client.query(FUNCTIONS)
  await client.query(ROWS, [queues, PURPOSES])
  await client.query(PATHS)
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT called[1] AS name FROM pg_catalog.pg_proc, pg_catalog.regexp_matches(prosrc, 'pg_[a-z_]*advisory[a-z_]*', 'g') called
     WHERE pronamespace = 'bullmq'::regnamespace
       AND called[1] NOT IN (SELECT proname FROM pg_catalog.pg_proc WHERE pronamespace = 'bullmq'::regnamespace)`,
  )
  if (rows.length > 0) throw new Error(`the queue takes locks that any login can take: ${rows.map(({ name }) => name)}`)
}
