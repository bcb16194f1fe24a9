import { expect, test } from 'vitest'
import { logStages } from '../../src/events/log-stages.ts'
import { sweepShadowSchemas } from '../../src/transfer/import/shadow-schemas.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'

/** Everything of a stage that can run a function of the project's own; each says as whom it ran, if as somebody else. */
const planted = (login: string): string => `
  CREATE FUNCTION look() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    IF session_user <> '${login}' OR current_user <> '${login}' THEN
      RAISE EXCEPTION 'planted code ran as % of %', current_user, session_user;
    END IF;
    RETURN true; END $$;
  CREATE FUNCTION looked(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN "planter.live".look() THEN $1 END';
  CREATE DOMAIN checked AS int CHECK ("planter.live".looked(VALUE) IS NOT NULL);
  CREATE TYPE mood AS ENUM ('well');
  CREATE FUNCTION mood_json(mood) RETURNS json LANGUAGE sql AS $$ SELECT to_json("planter.live".look()) $$;
  CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);
  CREATE FUNCTION mood_text(mood) RETURNS text LANGUAGE sql AS $$ SELECT "planter.live".look()::text $$;
  CREATE CAST (mood AS text) WITH FUNCTION mood_text(mood) AS IMPLICIT;
  CREATE FUNCTION equal(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT "planter.live".look() $$;
  CREATE OPERATOR = (FUNCTION = equal, LEFTARG = text, RIGHTARG = text);
  CREATE FUNCTION count(int) RETURNS int LANGUAGE sql AS $$ SELECT "planter.live".look()::int $$;
  CREATE TABLE item (
    id int PRIMARY KEY CHECK ("planter.live".looked(id) = id), n int DEFAULT "planter.live".looked(1), twice int GENERATED ALWAYS AS ("planter.live".looked(1)) STORED,
    c checked, m mood DEFAULT 'well');
  CREATE INDEX ON item ("planter.live".looked(n)) WHERE "planter.live".look();
  CREATE STATISTICS s ON ("planter.live".looked(n)), ("planter.live".looked(id)) FROM item;
  CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM "planter.live".look(); RETURN coalesce(NEW, OLD); END';
  CREATE TRIGGER before BEFORE INSERT OR UPDATE OR DELETE ON item FOR EACH ROW EXECUTE FUNCTION before();
  CREATE TABLE watched (n int); INSERT INTO watched VALUES (1);
  CREATE RULE also AS ON INSERT TO watched DO ALSO SELECT "planter.live".look();
  CREATE VIEW seen AS SELECT id, "planter.live".look() FROM item;
  CREATE MATERIALIZED VIEW kept AS SELECT id, "planter.live".look() FROM item;
  INSERT INTO item (id, c) VALUES (1, 1);
  ALTER TABLE watched ENABLE ROW LEVEL SECURITY; ALTER TABLE watched FORCE ROW LEVEL SECURITY;
  CREATE POLICY look ON watched USING ("planter.live".look());`

describeOnEachServer((wharf) => {
  test('has code of its own run as somebody else by what Wharf does with its stage', async () => {
    await createProject(wharf(), 'planter')
    const login = await loginUrl(wharf(), 'planter')
    const { root, container } = wharf()
    expect(await applyScript(wharf(), 'planter', planted(login.username))).toMatchObject({ status: 200 })
    await withSession(login.href, (client) =>
      client.query(`SET search_path = "planter.live"; DROP TRIGGER wharf_update ON item; ANALYZE item;
        ALTER ROLE CURRENT_USER SET search_path = "planter.live", pg_catalog`),
    )
    expect(await root.get('/content/planter/live/seen')).toMatchObject({ status: 200 })
    expect(await root.get('/content/planter/live/item?n=eq.1')).toMatchObject({ status: 200, json: [{ id: 1 }] })
    expect(await root.get('/content/planter/live')).toMatchObject({ status: 200 })
    const archive = await exportOf(root, 'planter', { excludeTables: ['watched'] }).catch(() => undefined)
    if (archive !== undefined) {
      await sendArchive(root, archive, { query: '?dryRun=true' })
      await sendArchive(root, archive)
    }
    await logStages(container)
    await sweepShadowSchemas(container, container.logger)
    expect(await root.post('/projects/planter/stages', { json: { slug: 'draft' } })).toMatchObject({ status: 201 })
    expect(await root.delete('/projects/planter/stages/live')).toMatchObject({ status: 204 })
    expect(await root.delete('/projects/planter')).toMatchObject({ status: 204 })
    expect(wharf().log()).not.toContain('planted code ran')
  })
})
