import { readFile } from 'node:fs/promises'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'

/**
 * What somebody with the login of one project tries with psql. `$MINE`, `$VICTIM` and `$STAGE` are the logins of both
 * projects and the id of the other's stage. All of it is refused, by PostgreSQL or by Wharf's functions.
 */
const REFUSED: Readonly<Record<string, string>> = {
  'runs code whenever somebody alters anything, by an event trigger': `
    CREATE FUNCTION spy() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
    CREATE EVENT TRIGGER spy ON ddl_command_end EXECUTE FUNCTION spy()`,
  'keeps locks without a session, by a prepared transaction': `
    BEGIN; LOCK TABLE mine; PREPARE TRANSACTION 'kept'`,
  'reaches other servers, by a foreign data wrapper': `CREATE FOREIGN DATA WRAPPER away`,
  'loads code into the server': `CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'getpid'`,
  'calls functions of the server directly': `CREATE FUNCTION f(text) RETURNS text LANGUAGE internal AS 'pg_read_file'`,
  'makes a language': 'CREATE TRUSTED LANGUAGE mine',
  'sends all changes away': 'CREATE PUBLICATION all_of_it FOR ALL TABLES',
  'replicates from elsewhere': `CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1' PUBLICATION p WITH (connect = false)`,
  'shadows a function of PostgreSQL':
    'CREATE FUNCTION pg_catalog.upper(int) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
  'shadows an operator of PostgreSQL':
    'CREATE OPERATOR pg_catalog.= (FUNCTION = int4eq, LEFTARG = int4, RIGHTARG = int4)',
  'puts a function where every login looks':
    'CREATE FUNCTION public.upper(uuid) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
  'puts an operator where every login looks':
    'CREATE OPERATOR public.= (FUNCTION = int4eq, LEFTARG = int4, RIGHTARG = int4)',
  'turns text into ids by a cast of its own': `
    CREATE FUNCTION id(text) RETURNS uuid LANGUAGE sql AS $$ SELECT NULL::uuid $$;
    CREATE CAST (text AS uuid) WITH FUNCTION id(text) AS IMPLICIT`,
  'takes another operator class for its default': `
    CREATE OPERATOR CLASS c DEFAULT FOR TYPE uuid USING btree AS OPERATOR 1 <`,
  'writes events itself': `INSERT INTO system.event (stage_id, transaction_id, kind) VALUES ('$STAGE', 1, 'create')`,
  "writes events by Wharf's function": `SELECT wharf.add_event('$STAGE', 'create', NULL, NULL, NULL, NULL)`,
  'logs what another did not do': `SELECT wharf.log_rows('"victim.live".secret'::regclass, 'INSERT', '{}')`,
  'logs what another did not do, by number': `
    SELECT wharf.log_rows(pg_class.oid, 'INSERT', '{}') FROM pg_class WHERE relname = 'secret'`,
  'gives another stage an import': `SELECT wharf.record_import('$STAGE', NULL)`,
  'gives another stage a change of structure': `SELECT wharf.record_structure_change('$STAGE', 'x', NULL)`,
  'says that there was a crash': 'SELECT wharf.record_crash()',
  'forgets that there was no crash': 'DELETE FROM system.stage_crash_check',
  'draws places in the log': `SELECT nextval('system.open_transaction_id_seq')`,
  'drops a trigger of the log of all': 'DROP TRIGGER place_transaction ON system.open_transaction',
  "drops another's trigger": 'DROP TRIGGER wharf_create ON "victim.live".secret',
  "disables another's trigger": 'ALTER TABLE "victim.live".secret DISABLE TRIGGER wharf_create',
  'silences triggers for its session': 'SET session_replication_role = replica',
  "locks the stages' states": 'LOCK TABLE system.stage_state IN ACCESS SHARE MODE',
  "locks another's table": 'LOCK TABLE "victim.live".secret IN ACCESS SHARE MODE',
  "drops another's objects": 'DROP OWNED BY $VICTIM',
  "takes another's objects": 'REASSIGN OWNED BY $VICTIM TO $MINE',
  "joins another's login": 'GRANT $VICTIM TO $MINE',
  "joins Wharf's login": 'GRANT wharf TO $MINE',
  'runs programs on the server': 'SET ROLE pg_execute_server_program',
  'reads all rows there are': 'SET ROLE pg_read_all_data',
  "changes the settings of Wharf's login": `ALTER ROLE wharf SET search_path = "mallory.live"`,
  "changes another's settings": `ALTER ROLE $VICTIM SET search_path = "mallory.live"`,
  'has a token of another for its writes from now on': `
    ALTER ROLE $MINE SET wharf.token_id = '00000000-0000-0000-0000-000000000000'`,
  'changes the settings of the database': `DO $do$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = "mallory.live"', current_database()); END $do$`,
  "grants what Wharf's login makes": 'ALTER DEFAULT PRIVILEGES FOR ROLE wharf GRANT ALL ON TABLES TO $MINE',
  "has rows of Wharf's deleted by a foreign key": 'CREATE TABLE t (id uuid REFERENCES system.stage_state)',
  "reads another's rows as their parent": 'CREATE TABLE t () INHERITS ("victim.live".secret)',
  "looks into Wharf's tables by a view": 'CREATE VIEW v AS SELECT * FROM control.token',
  "looks into another's table by a policy": 'CREATE POLICY p ON mine USING (EXISTS (SELECT FROM "victim.live".secret))',
  'reads a file into a large object': `SELECT lo_import('/etc/hostname')`,
  "ends Wharf's sessions": `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'wharf'`,
  'cancels statements of others': `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'wharf'`,
  'forgets the statistics of others': `SELECT pg_stat_reset()`,
  'makes a schema to be found in': 'CREATE SCHEMA mallory',
  'gives its stage another name': 'ALTER SCHEMA "mallory.live" RENAME TO "victim.draft"',
  'becomes a member of the superusers': 'GRANT pg_write_server_files TO $MINE',
  'makes itself grow': 'ALTER ROLE $MINE CREATEROLE',
}

/** PostgreSQL's words for no: no right, no such thing, not switched on. */
const NO = /^(42501|42704|55000|0A000|42P01)$/

/** What is not refused, and must harm nobody. */
const HARMLESS: Readonly<Record<string, string>> = {
  'shadows tables and types by temporary ones': `
    SET search_path = pg_temp, "mallory.live";
    CREATE TEMP TABLE stage_state (stage_id uuid, schema_name text, login name, generation bigint);
    INSERT INTO pg_temp.stage_state VALUES ('$STAGE', 'mallory.live', current_user, 7);
    CREATE TEMP TABLE stage_crash_check (stage_id uuid); CREATE TEMP TABLE pg_class (oid oid, relname text, relnamespace oid);
    CREATE TYPE pg_temp.uuid AS (a int); CREATE DOMAIN pg_temp.json AS pg_catalog.text;
    DO $do$ BEGIN PERFORM wharf.record_import('$STAGE'::pg_catalog.uuid, NULL); EXCEPTION WHEN insufficient_privilege THEN NULL; END $do$;
    DO $do$ BEGIN PERFORM wharf.record_unlogged('victim.live'); END $do$;
    INSERT INTO "mallory.live".mine VALUES (2)`,
  'shadows operators and functions by its own schema': `
    CREATE FUNCTION eq(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE OPERATOR = (FUNCTION = eq, LEFTARG = text, RIGHTARG = text);
    CREATE FUNCTION pg_has_role(name, name, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    SET search_path = "mallory.live", pg_catalog;
    DO $do$ BEGIN PERFORM wharf.record_import('$STAGE'::pg_catalog.uuid, NULL); EXCEPTION WHEN insufficient_privilege THEN NULL; END $do$;
    SELECT wharf.record_unlogged('victim.live');
    INSERT INTO mine VALUES (3)`,
  'calls on every queue, with anything': `
    SELECT pg_notify(channel, payload) FROM unnest(ARRAY['bullmq_jobs', 'bullmq_events', 'bullmq_relay', 'wharf']) channel,
      unnest(ARRAY['', 'null', '{', repeat('x', 7000), 'export', 'import', 'transfer']) payload`,
  'changes the settings of its own role': `
    ALTER ROLE $MINE SET search_path = "mallory.live"; ALTER ROLE $MINE SET default_transaction_isolation = 'serializable';
    ALTER ROLE $MINE SET row_security = off; ALTER ROLE $MINE SET standard_conforming_strings = off;
    ALTER ROLE $MINE SET client_encoding = 'LATIN1'; ALTER ROLE $MINE SET DateStyle = 'German';
    ALTER ROLE $MINE SET application_name = 'wharf'`,
  'drops its own triggers':
    'DROP TRIGGER wharf_create ON mine; DROP TRIGGER wharf_update ON mine; INSERT INTO mine VALUES (4)',
}

describeOnEachServer((wharf) => {
  let fill: (sql: string) => string
  let url: string

  const asMallory = (sql: string): Promise<unknown> =>
    withSession(url, (client) => client.query(`SET search_path = "mallory.live"; ${fill(sql)}`))

  /** What the other project has, and what of Wharf's the attacks are about. */
  const untouched = (): Promise<unknown[]> =>
    wharf().database.query(`
      SELECT (SELECT json_agg(word) FROM "victim.live".secret) AS rows,
             (SELECT json_agg(e ORDER BY ordinal) FROM system.event e JOIN system.stage_state USING (stage_id) WHERE schema_name = 'victim.live') AS events,
             (SELECT json_agg((rolname, rolconfig, rolsuper, rolcreaterole) ORDER BY rolname) FROM pg_roles
              WHERE rolname !~ '^(wharf|owner|reader)_') AS roles,
             (SELECT count(*)::int FROM system.stage_state) AS stages, (SELECT count(*)::int FROM system.stage_crash_check) AS crash_check`)

  beforeAll(async () => {
    await createProject(wharf(), 'mallory', 'CREATE TABLE mine (n int PRIMARY KEY); INSERT INTO mine VALUES (1)')
    await createProject(wharf(), 'victim', `CREATE TABLE secret (word text); INSERT INTO secret VALUES ('hidden')`)
    const [mine, victim] = await Promise.all(['mallory', 'victim'].map((slug) => loginUrl(wharf(), slug)))
    url = mine?.href ?? ''
    const [state] = await wharf().database.query<{ id: string }>(
      `SELECT stage_id AS id FROM system.stage_state WHERE schema_name = 'victim.live'`,
    )
    fill = (sql) =>
      sql
        .replaceAll('$MINE', mine?.username ?? '')
        .replaceAll('$VICTIM', victim?.username ?? '')
        .replaceAll('$STAGE', state?.id ?? '')
  })

  describe('with psql and the login of a project, nobody', () => {
    test.each(Object.entries(REFUSED))('%s', async (_, sql) => {
      const before = await untouched()
      await expect(asMallory(sql)).rejects.toMatchObject({ code: expect.stringMatching(NO) })
      expect(await untouched()).toEqual(before)
    })

    test("sees what Wharf's own login asks", async () => {
      const seen = await withSession(url, (client) =>
        client.query(`SELECT DISTINCT query FROM pg_stat_activity WHERE usename = 'wharf'`),
      )
      expect(seen.rows).toEqual([{ query: '<insufficient privilege>' }])
    })

    test('may read a table, a view or a sequence outside of its own stages', async () => {
      const { rows } = await withSession(url, (client) =>
        client.query(`
          SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
          WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema', 'mallory.live')
            AND nspname !~ '^pg_(toast|temp)' AND CASE relkind WHEN 'S' THEN has_sequence_privilege(c.oid, 'USAGE, SELECT, UPDATE')
              ELSE has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE') OR has_any_column_privilege(c.oid, 'SELECT') END`),
      )
      expect(rows).toEqual([])
    })

    test("learns another's values from PostgreSQL's statistics", async () => {
      await wharf().root.post('/projects/victim/stages/live/schema', {
        headers: { 'content-type': 'application/sql' },
        body: 'ANALYZE secret',
      })
      const seen = await withSession(url, (client) =>
        client.query(
          `SELECT tablename FROM pg_stats WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'mallory.live')`,
        ),
      )
      expect(seen.rows).toEqual([])
      await expect(asMallory('SELECT * FROM pg_statistic')).rejects.toMatchObject({ code: '42501' })
    })

    test('is kept from names and definitions of others, which SECURITY.md tells of', async () => {
      const { rows } = await withSession(url, (client) =>
        client.query(`SELECT n.nspname AS schema, relname AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
                      WHERE relname = 'secret'`),
      )
      expect(rows).toEqual([{ schema: 'victim.live', name: 'secret' }])
      const security = await readFile(new URL('../../SECURITY.md', import.meta.url), 'utf8')
      expect(security).toContain('## What projects can see of each other')
    })

    test("reads another stage's reference", async () => {
      const { rows } = await withSession(url, (client) =>
        client.query(fill(`SELECT * FROM wharf.stage_reference('$STAGE')`)),
      )
      expect(rows).toEqual([{ reference: null, generation: null }])
    })
  })

  describe('harms nobody who', () => {
    beforeEach(() => expect(untouched()).resolves.toHaveLength(1))

    test.each(Object.entries(HARMLESS))('%s', async (_, sql) => {
      const before = await untouched()
      await asMallory(sql)
      expect(await untouched()).toEqual(before)
      expect(await wharf().root.get('/content/victim/live/secret')).toMatchObject({ json: [{ word: 'hidden' }] })
      expect(await wharf().root.post('/export', { json: { projects: [{ slug: 'victim' }] } })).toMatchObject({
        status: 200,
      })
      expect(await wharf().root.post('/projects', { json: { slug: 'next' } })).toMatchObject({ status: 201 })
      expect(await wharf().root.delete('/projects/next')).toMatchObject({ status: 204 })
      expect(await wharf().root.get('/readyz')).toMatchObject({ status: 200 })
    })
  })

  test('on PostgreSQL 15, the log says what CREATEROLE amounts to there', async () => {
    const [server] = await wharf().database.query<{ old: boolean }>(
      `SELECT current_setting('server_version_num')::int < 160000 AS old`,
    )
    expect(wharf().log().includes('nearly a superuser')).toBe(server?.old)
  })

  test('a project that has tried it all can be deleted, and nothing of it is left', async () => {
    expect(await wharf().root.delete('/projects/mallory')).toMatchObject({ status: 204 })
    const left = await wharf().database.query(
      fill(`SELECT 1 FROM pg_roles WHERE rolname = '$MINE'
      UNION ALL SELECT 1 FROM pg_namespace WHERE nspname LIKE 'mallory%'`),
    )
    expect(left).toEqual([])
  })
})
