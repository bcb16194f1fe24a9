import { LOG_FUNCTIONS } from './log-functions.ts'
import { LOG_SCHEMA } from './log-names.ts'

/**
 * The tables of the log: those that Wharf's own database has, of the same names, but for the reference. Here, it follows from
 * all transactions together, so that none waits for another to commit: `recent` has a number for each, which are added up in
 * `settled_1` and `settled_2` of the stage now and then.
 */
const TABLES = [
  `CREATE SCHEMA ${LOG_SCHEMA}`,
  `COMMENT ON SCHEMA ${LOG_SCHEMA} IS 'Event log of tables that Wharf serves over HTTP. wharf stage:log --off removes it.'`,
  `CREATE TABLE ${LOG_SCHEMA}.stage_state (stage_id uuid PRIMARY KEY, schema_name text NOT NULL UNIQUE, first_transaction bigint,
     settled_1 bigint NOT NULL DEFAULT 0, settled_2 bigint NOT NULL DEFAULT 0)`,
  `CREATE TABLE ${LOG_SCHEMA}.recent (stage_id uuid NOT NULL, part_1 bigint NOT NULL, part_2 bigint NOT NULL)`,
  `CREATE INDEX ON ${LOG_SCHEMA}.recent (stage_id)`,
  `CREATE TABLE ${LOG_SCHEMA}.transaction (
     stage_id uuid NOT NULL, position bigserial NOT NULL, id bigint NOT NULL,
     PRIMARY KEY (stage_id, position))`,
  `CREATE TABLE ${LOG_SCHEMA}.open_transaction (
     xid bigint NOT NULL, stage_id uuid NOT NULL, id bigserial NOT NULL, PRIMARY KEY (xid, stage_id))`,
  `CREATE TABLE ${LOG_SCHEMA}.event (
     stage_id uuid NOT NULL, transaction_id bigint NOT NULL, ordinal bigserial NOT NULL,
     id uuid NOT NULL DEFAULT pg_catalog.gen_random_uuid(), kind text NOT NULL, table_name text, key_columns text[],
     rows json[], token_id uuid, occurred_at timestamptz(6) NOT NULL DEFAULT pg_catalog.now(),
     PRIMARY KEY (stage_id, transaction_id, ordinal))`,
  // Compressing rows would take longer than writing them.
  `ALTER TABLE ${LOG_SCHEMA}.event ALTER rows SET STORAGE EXTERNAL`,
  // A row for each stage, as long as PostgreSQL has not crashed, which empties it as every other UNLOGGED table.
  `CREATE UNLOGGED TABLE ${LOG_SCHEMA}.crash_check (stage_id uuid PRIMARY KEY)`,
] as const

/** Whatever default privileges gave to others: those who write need no rights on the log. */
const REVOKE_ALL = `
DO $$
DECLARE
  granted record;
BEGIN
  FOR granted IN
    SELECT 'SCHEMA ${LOG_SCHEMA}' AS what, a.grantee FROM pg_catalog.pg_namespace n, pg_catalog.aclexplode(n.nspacl) a
     WHERE n.nspname = '${LOG_SCHEMA}' AND a.grantee <> n.nspowner
     UNION
    SELECT pg_catalog.format('%s ${LOG_SCHEMA}.%I', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.relname), a.grantee
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace, pg_catalog.aclexplode(c.relacl) a
     WHERE n.nspname = '${LOG_SCHEMA}' AND c.relkind IN ('r', 'S') AND a.grantee <> c.relowner
     UNION
    SELECT 'FUNCTION ' || p.oid::pg_catalog.regprocedure::text, a.grantee
      FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace,
           pg_catalog.aclexplode(COALESCE(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
     WHERE n.nspname = '${LOG_SCHEMA}' AND a.grantee <> p.proowner
  LOOP
    EXECUTE pg_catalog.format('REVOKE ALL ON %s FROM %s', granted.what,
      CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(granted.grantee)) END);
  END LOOP;
END
$$`

/** Replica sessions have to be logged, too: without its place, an event is no reference. */
const ORDER_TRIGGER = [
  `CREATE CONSTRAINT TRIGGER place_transaction AFTER INSERT ON ${LOG_SCHEMA}.open_transaction
     DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${LOG_SCHEMA}.place_transaction()`,
  `ALTER TABLE ${LOG_SCHEMA}.open_transaction ENABLE ALWAYS TRIGGER place_transaction`,
] as const

/**
 * The statements that make the log in a database that is not Wharf's, as the login that owns it then. Nobody else gets
 * any rights.
 *
 * @param isThere whether its tables are there: then, its functions are made as they are to be now.
 */
export const installStatements = (isThere: boolean): readonly string[] =>
  isThere ? [...LOG_FUNCTIONS, REVOKE_ALL] : [...TABLES, ...LOG_FUNCTIONS, ...ORDER_TRIGGER, REVOKE_ALL]
