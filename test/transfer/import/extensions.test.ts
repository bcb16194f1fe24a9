import { expect, test } from 'vitest'
import type { ExtensionLine } from '../../../src/transfer/structure/lines.ts'
import { buildArchive, column } from '../../support/archives/archive-builder.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { jobOf, untilEnded } from '../../support/jobs/jobs.ts'
import { makeSchedule, runWhenDue } from '../../support/jobs/schedules.ts'
import { describeOnEachServer } from '../../support/servers/each-server.ts'
import { query } from '../../support/servers/sessions.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

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

const ARCHIVE_OF = (...extensions: readonly object[]): string =>
  buildArchive({
    slug: 'empty',
    stages: [
      { extensions: extensions as ExtensionLine[], tables: [{ name: 'person', columns: [column('name', 'citext')] }] },
    ],
  }).toString()

const line = (name: string, more: object = {}) => ({ name, version: '1.0', schema: 'extensions', ...more })

const installed = async ({ database }: TestWharf): Promise<readonly string[]> => {
  const rows = await query<{ name: string }>(database.superuserUrl, 'SELECT extname AS name FROM pg_extension')
  return rows.map(({ name }) => name).filter((name) => name !== 'plpgsql')
}

describeOnEachServer(
  (wharf, createDatabase) => {
    let archive: string

    test('what a stage has of extensions goes out, and comes back over itself and into an empty stage', async () => {
      const { root, database } = wharf()
      // Only a superuser may make this one.
      await query(database.superuserUrl, 'CREATE EXTENSION earthdistance SCHEMA extensions CASCADE')
      await createProject(wharf(), 'source', SCRIPT)
      archive = await exportOf(root, 'source')
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

    test('a transfer takes them along, and a restore proves them', async () => {
      await createProject(wharf(), 'moved')
      const json = { source: { project: 'source' }, target: { project: 'moved' } }
      const moved = await untilEnded(wharf().root, jobOf(await wharf().root.post('/transfer', { json })))
      expect(moved).toMatchObject({ status: 'succeeded', error: null })
      expect(comparableLines(await exportOf(wharf().root, 'moved'))).toEqual(comparableLines(archive))
      const ran = await runWhenDue(wharf(), await makeSchedule(wharf().root, 'source', { verify: true }))
      expect(ran, JSON.stringify(ran.lastRun)).toMatchObject({
        lastRun: { status: 'succeeded', provenAt: expect.any(String) },
      })
    })

    test('what the bodies of functions name is needed, too', async () => {
      const body = (text: string) => `LANGUAGE plpgsql AS $$ BEGIN ${text} END $$`
      await createProject(
        wharf(),
        'bodies',
        `CREATE FUNCTION a() RETURNS text ${body("RETURN crypt('a', gen_salt('bf', 4));")};
         CREATE FUNCTION b() RETURNS text ${body(`EXECUTE 'SELECT ''a=>1''::"hstore"'; RETURN replace('a', 'b', 'c');`)};
         CREATE FUNCTION word_similarity(text) RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION c() RETURNS int ${body("RETURN word_similarity('soundex');")}`,
      )
      expect(extensionsOf(await exportOf(wharf().root, 'bodies'))).toEqual(['hstore', 'pgcrypto'])
    })

    test('a table that is left out needs none of them', async () => {
      const names = ['person', 'pet', 'logged']
      const rest = await exportOf(wharf().root, 'source', { excludeTables: names })
      expect(extensionsOf(rest)).toEqual(['citext', 'cube', 'fuzzystrmatch', 'hstore', 'pgcrypto', 'unaccent'])
      await createProject(wharf(), 'plain', 'CREATE TABLE a (n int); CREATE TABLE b (name citext)')
      expect(extensionsOf(await exportOf(wharf().root, 'plain'))).toEqual(['citext'])
      expect(extensionsOf(await exportOf(wharf().root, 'plain', { excludeTables: ['b'] }))).toEqual([])
    })

    test('an import makes those that are missing, and says before it begins which it may not make', async () => {
      const other = await startWharf({ database: await createDatabase() })
      const narrow = await startWharf({ beside: other, environment: { WHARF_EXTENSIONS: 'citext cube' } })
      try {
        await createProject(other, 'source')
        for (const dryRun of ['?dryRun=true', '']) {
          const refused = await sendArchive(narrow.root, archive, { query: dryRun })
          expect(refused, refused.text).toMatchObject({
            status: 409,
            json: {
              detail: expect.stringMatching(
                /^the stage cannot be built from the archive: the extension "btree_gist" is not among those that the operator allows \(WHARF_EXTENSIONS\) \(and 8 more\)$/,
              ),
            },
          })
          // Nothing is made before everything may be.
          expect(await installed(other)).toEqual([])
        }
        expect((await sendArchive(other.root, archive)).text).toMatch(/"earthdistance\\" is not among those/)
        await query(other.database.superuserUrl, 'CREATE EXTENSION earthdistance SCHEMA extensions CASCADE')
        const examined = await sendArchive(other.root, archive, { query: '?dryRun=true' })
        expect(examined, examined.text).toMatchObject({
          status: 200,
          json: {
            projects: [
              {
                stages: [
                  {
                    mode: 'build',
                    extensions: NEEDED.map((name) => ({
                      name,
                      version: expect.any(String),
                      versionNow: /^(cube|earthdistance)$/.test(name) ? expect.any(String) : null,
                    })),
                  },
                ],
              },
            ],
          },
        })
        expect((await installed(other)).length).toBe(2)
        const imported = await sendArchive(other.root, archive)
        expect(imported.status, imported.text).toBe(200)
        expect((await installed(other)).toSorted()).toEqual(NEEDED)
        expect(comparableLines(await exportOf(other.root, 'source'))).toEqual(comparableLines(archive))
      } finally {
        await narrow.close()
        await other.close()
      }
    })

    test('one that the server does not have, or has elsewhere, is named before anything is changed', async () => {
      const other = await startWharf({ database: await createDatabase() })
      try {
        await createProject(other, 'empty')
        await query(other.database.superuserUrl, 'CREATE EXTENSION hstore SCHEMA public')
        const cases = [
          [
            line('nothing'),
            /the database server does not have the extension \\"nothing\\": its operator has to install/,
          ],
          [line('hstore'), /the extension \\"hstore\\" is in the schema \\"public\\" of this database, .* moves it/],
          [line(`citext"; DROP SCHEMA "empty.live"; --`), /the database server does not have the extension/],
        ] as const
        for (const [extension, said] of cases) {
          const refused = await sendArchive(other.root, ARCHIVE_OF(line('citext'), extension))
          expect(refused.status, refused.text).toBe(409)
          expect(refused.text).toMatch(said)
        }
        expect(await installed(other)).toEqual(['hstore'])
        // Its version is for people.
        const odd = await sendArchive(other.root, ARCHIVE_OF(line('citext', { version: `1'; DROP TABLE x; --` })))
        expect(odd.status, odd.text).toBe(200)
      } finally {
        await other.close()
      }
    })

    test('nobody has one made who may not change structure', async () => {
      const other = await startWharf({ database: await createDatabase() })
      try {
        await createProject(other, 'empty')
        const role = { content: { read: true, write: true, export: true, import: true }, system: {} }
        expect((await other.root.put('/projects/empty/roles/loader', { json: role })).status).toBe(200)
        const loader = await other.member('empty', 'loader')
        for (const dryRun of ['?dryRun=true', '']) {
          expect((await sendArchive(loader, ARCHIVE_OF(line('citext')), { query: dryRun })).status).toBe(403)
        }
        expect(await installed(other)).toEqual([])
      } finally {
        await other.close()
      }
    })
  },
  { oneIsEnough: true, wharf: { worker: true } },
)
