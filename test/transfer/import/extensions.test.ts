import { expect, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { describeOnEachServer } from '../../support/servers/each-server.ts'
import { query } from '../../support/servers/sessions.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'

/** Every way in which something of a stage can need an extension. */
const SCRIPT = `
  CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gist;
  CREATE EXTENSION "uuid-ossp"; CREATE EXTENSION pgcrypto; CREATE EXTENSION ltree; CREATE EXTENSION unaccent; CREATE EXTENSION fuzzystrmatch;
  CREATE DOMAIN email AS citext DEFAULT 'nobody@example.org' CHECK (VALUE ~ '@');
  CREATE TYPE contact AS (address email, tags hstore);
  CREATE TYPE spot AS RANGE (subtype = cube);
  CREATE TEXT SEARCH DICTIONARY plain (TEMPLATE = unaccent, RULES = 'unaccent');
  CREATE TEXT SEARCH CONFIGURATION words (COPY = simple);
  ALTER TEXT SEARCH CONFIGURATION words ALTER MAPPING FOR word WITH unaccent, simple;
  CREATE FUNCTION folded(citext) RETURNS citext LANGUAGE sql IMMUTABLE RETURN upper($1)::citext;
  CREATE FUNCTION has(hstore, key text DEFAULT ''::hstore::text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RETURN $1 ? key; END';
  CREATE AGGREGATE joined(hstore) (SFUNC = hs_concat, STYPE = hstore, INITCOND = '');
  CREATE OPERATOR === (LEFTARG = citext, RIGHTARG = text, FUNCTION = texticregexeq);
  CREATE CAST (contact AS citext) WITH INOUT;
  CREATE TABLE person (
    name citext PRIMARY KEY,
    mail email,
    id uuid DEFAULT uuid_generate_v4(),
    token text DEFAULT encode(digest('x', 'sha256'), 'hex'),
    notes hstore NOT NULL DEFAULT '"a"=>"1"',
    history hstore[],
    place ltree,
    at cube,
    meets tsrange,
    sound text GENERATED ALWAYS AS (soundex(name::text)) STORED,
    who contact,
    number int,
    CHECK (notes ? 'a'),
    EXCLUDE USING gist (number WITH =, meets WITH &&) WHERE (mail IS NOT NULL)
  );
  CREATE TABLE pet (owner citext REFERENCES person, name text, PRIMARY KEY (owner, name));
  CREATE TABLE logged (name citext, day date) PARTITION BY LIST (name);
  CREATE TABLE logged_ada PARTITION OF logged FOR VALUES IN ('Ada');
  CREATE INDEX by_name ON pet USING gin (name gin_trgm_ops);
  CREATE INDEX by_place ON person USING gist (place);
  CREATE INDEX by_notes ON person USING gin (notes) WHERE notes @> '"a"=>"1"';
  CREATE INDEX by_key ON person ((notes -> 'a'));
  CREATE STATISTICS of_notes ON (notes -> 'a'), name FROM person;
  CREATE VIEW alike AS SELECT p.name, similarity(q.name, 'x') AS likeness, joined(notes) AS notes
    FROM person p JOIN pet q ON q.owner = p.name WHERE p.name = 'ADA' AND q.name % 'rex' GROUP BY 1, 2;
  CREATE MATERIALIZED VIEW far AS SELECT name, at <-> '(0,0)'::cube AS distance,
    earth_distance(ll_to_earth(0, 0), ll_to_earth(1, 1)) AS earth FROM person;
  CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN NEW.token := crypt(NEW.token, gen_salt(''bf'', 4)); RETURN NEW; END';
  CREATE TRIGGER keeps BEFORE UPDATE ON person FOR EACH ROW WHEN (NEW.notes -> 'a' = '2') EXECUTE FUNCTION keep();
  CREATE POLICY own ON pet USING (owner = 'ada'::citext);
  CREATE RULE quiet AS ON DELETE TO pet WHERE OLD.owner = 'nobody'::citext DO INSTEAD NOTHING;
  -- Hides the function of the extension, which views can name by its schema alone.
  CREATE FUNCTION levenshtein(text, text) RETURNS integer LANGUAGE sql RETURN 1;
  CREATE VIEW hidden AS SELECT extensions.levenshtein('kitten', 'sitting') AS theirs, levenshtein('a', 'b') AS own;
  INSERT INTO person (name, mail, history, place, at, meets, who, number) VALUES
    ('Ada', 'Ada@Example.org', ARRAY['x=>"1, \\"2\\"", y=>NULL', '']::hstore[], 'a.b.c', '(1,2)', '[2026-01-01,2026-02-01)',
     ROW('b@b', 'k=>v'), 1),
    ('Bob', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  INSERT INTO pet VALUES ('ADA', 'Rex'), ('ada', 'Tom');
  INSERT INTO logged VALUES ('Ada', '2026-01-01');
  REFRESH MATERIALIZED VIEW far;`

const NEEDED = [
  ...['btree_gist', 'citext', 'cube', 'earthdistance', 'fuzzystrmatch', 'hstore', 'ltree', 'pg_trgm', 'pgcrypto'],
  ...['unaccent', 'uuid-ossp'],
]

const extensionsOf = (archive: string): readonly string[] =>
  archive.split('\n').flatMap((line) => /^\{"extension":\{"name":"([^"]*)"/.exec(line)?.[1] ?? [])

describeOnEachServer((wharf) => {
  test('what a stage has of extensions goes out, and comes back wherever they can be made', async () => {
    const { root, database } = wharf()
    // Only a superuser may make this one.
    await query(database.superuserUrl, 'CREATE EXTENSION earthdistance SCHEMA extensions CASCADE')
    await createProject(wharf(), 'source', SCRIPT)
    const archive = await exportOf(root, 'source')
    expect(archive).toContain('"complete":true')
    expect(extensionsOf(archive)).toEqual(NEEDED)
    await createProject(wharf(), 'copy')
    const imported = await sendArchive(root, archive, { query: '?targetSlug=copy' })
    expect(imported.status, imported.text).toBe(200)
    expect(comparableLines(await exportOf(root, 'copy'))).toEqual(comparableLines(archive))
    for (const slug of ['copy', 'source']) {
      const over = await sendArchive(root, archive, { query: `?targetSlug=${slug}` })
      expect(over.status, over.text).toBe(200)
      expect(comparableLines(await exportOf(root, slug))).toEqual(comparableLines(archive))
      const undone = await root.post(`/projects/${slug}/stages/live/undo`)
      expect(undone.status, undone.text).toBe(200)
      expect(comparableLines(await exportOf(root, slug))).toEqual(comparableLines(archive))
    }
    expect(await query(database.superuserUrl, 'SELECT * FROM "copy.live".hidden')).toEqual([{ theirs: 3, own: 1 }])
  })
})
