import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findOutsideUsers } from '../../src/database/outside-users.ts'
import { findLargeObjects } from '../../src/transfer/export/large-objects.ts'
import { COUNT_FREE_SQL } from '../../src/transfer/export/spare-sessions.ts'
import { findUnclearNames } from '../../src/transfer/export/unclear-names.ts'
import { readOurTables, readSchemaRights } from '../../src/transfer/import/external/schema-rights.ts'
import { readStructureState } from '../../src/transfer/import/external/structure-state.ts'
import { mayLoadTogether } from '../../src/transfer/import/may-load-together.ts'
import { SET_ASIDE_SQL } from '../../src/transfer/import/set-aside.ts'
import { tablesWithNames } from '../../src/transfer/import/tables-with-names.ts'
import { readGrantsState, readStageGrants } from '../../src/transfer/structure/grants/stage-grants.ts'
import { readStructure, readWholeStructure, tablesOf } from '../../src/transfer/structure/read-structure.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { plantDecoys } from '../support/database/decoys.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { openStage, type StageSession } from '../support/database/stage-session.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { query } from '../support/servers/sessions.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** All that is asked of a stage in a session whose path is the stage's. */
async function allThatIsRead(stage: StageSession): Promise<string> {
  const structure = await readStructure(stage.query, 'stage')
  const tables = tablesOf(structure).map(({ line }) => line.name)
  const read = {
    structure,
    whole: await readWholeStructure(stage.query, 'stage'),
    grants: await readStageGrants(stage.query, 'stage'),
    grantsState: await readGrantsState(stage.query, 'stage'),
    structureState: await readStructureState(stage.query, 'stage'),
    outsideUsers: await findOutsideUsers(stage.query, 'stage'),
    rights: await readSchemaRights(stage.query, 'stage'),
    ours: await readOurTables(stage.query, 'stage'),
    largeObjects: await findLargeObjects(stage.query, 'stage', tables),
    unclearNames: await findUnclearNames(stage.query, 'stage', tables),
    setAside: await stage.query(SET_ASIDE_SQL, []),
    together: await mayLoadTogether(stage.query, 'stage'),
    withNames: [...(await tablesWithNames(stage.query, 'stage'))].sort(),
    mostSessions: (await stage.query<{ most: number }>(COUNT_FREE_SQL, [])).map(({ most }) => most),
  }
  // PostgreSQL prints an operator with its schema where its name alone would not find it.
  return JSON.stringify(read, null, 1).replace(/OPERATOR\(pg_catalog\.(\S+?)\)/g, '$1')
}

describe('what is read of a stage whose path has operators for values of every two types', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createTestDatabase()
    for (const sql of [
      'CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO PUBLIC; CREATE EXTENSION hstore SCHEMA elsewhere',
      'CREATE FOREIGN DATA WRAPPER none; CREATE SERVER nowhere FOREIGN DATA WRAPPER none; GRANT USAGE ON FOREIGN SERVER nowhere TO PUBLIC',
    ])
      await query(database.superuserUrl, sql)
    await plantDecoys(database.superuserUrl, 'decoys')
  })
  afterAll(() => database?.drop())

  const FIXTURES = ['structures', 'objects', 'inheritance', 'partitions', 'object-names', 'row-types', 'not-described']

  test.each(FIXTURES)('is the same for %s, and calls none of them', async (fixture) => {
    const stage = await openStage(database.url, 'stage')
    try {
      await stage.runFixture(`${fixture}.sql`)
      await stage.run(['GRANT SELECT ON ALL TABLES IN SCHEMA stage TO PUBLIC', `SELECT lo_create(0)`])
      await stage.run(['CREATE TABLE referring (id oid, named regclass)', 'INSERT INTO referring VALUES (1, 1)'])
      const alone = await allThatIsRead(stage)
      await stage.run(['SET search_path = stage, decoys'])
      expect(await allThatIsRead(stage)).toBe(alone)
    } finally {
      await stage.run(['DROP SCHEMA stage CASCADE'])
      await stage.end()
    }
  })

  test('would be wrong where an operator were called that PostgreSQL itself does not have', async () => {
    const stage = await openStage(database.url, 'stage')
    try {
      await stage.run(['SET search_path = stage, decoys'])
      const never = `SELECT FROM pg_class WHERE relname = 'none' AND oid = 'pg_class'::regclass`
      await expect(stage.query(never, [])).rejects.toThrow(/permission denied for function decoy of oid and regclass/)
      await expect(stage.query('SELECT relname || oid FROM pg_class', [])).rejects.toThrow(/decoy of name and oid/)
    } finally {
      await stage.run(['DROP SCHEMA stage CASCADE'])
      await stage.end()
    }
  })
})

const SCRIPT = `
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE DOMAIN positive AS integer DEFAULT 1 CHECK (VALUE > 0);
CREATE TYPE place AS (street text, number integer);
CREATE TYPE span AS RANGE (SUBTYPE = float8);
CREATE COLLATION folded (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE TEXT SEARCH DICTIONARY plain (TEMPLATE = simple);
CREATE TEXT SEARCH CONFIGURATION words (PARSER = "default");
ALTER TEXT SEARCH CONFIGURATION words ADD MAPPING FOR word WITH plain;
CREATE FUNCTION alike(mood, integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE OPERATOR === (FUNCTION = alike, LEFTARG = mood, RIGHTARG = integer);
CREATE FUNCTION as_number(mood) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE CAST (mood AS integer) WITH FUNCTION as_number(mood);
CREATE AGGREGATE total(integer) (SFUNC = int4pl, STYPE = integer, INITCOND = '0');
CREATE SEQUENCE counter;
CREATE TABLE artist (
  id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, mood mood DEFAULT 'glad', born date,
  fans positive, twice integer GENERATED ALWAYS AS (fans * 2) STORED, lives place, tags text[], codes varchar(5)[], data jsonb, raw json, during span,
  folded text COLLATE folded, CONSTRAINT known CHECK (fans > 0), EXCLUDE USING gist (during WITH &&)
) WITH (fillfactor = 70, toast.autovacuum_enabled = off);
CREATE TABLE album (id integer PRIMARY KEY, title text, artist_id integer REFERENCES artist, artist_name varchar(40) REFERENCES artist (name), named regclass);
CREATE INDEX ON album (lower(title)) WHERE id > 0;
CREATE TABLE sale (id integer, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE sale_2026 PARTITION OF sale FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE base (id integer PRIMARY KEY, note text); CREATE TABLE child () INHERITS (base); CREATE UNLOGGED TABLE visit (id integer);
CREATE VIEW titles AS SELECT title FROM album WHERE id > 0 WITH LOCAL CHECK OPTION;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS albums FROM album;
CREATE UNIQUE INDEX ON counted (albums);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER noted AFTER INSERT ON album FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE RULE none AS ON UPDATE TO visit DO INSTEAD NOTHING;
CREATE POLICY positive ON artist USING (id > 0);
CREATE STATISTICS together ON title, artist_id FROM album;
COMMENT ON TABLE artist IS 'who plays';
GRANT SELECT ON artist TO PUBLIC;
INSERT INTO artist (name, fans, lives, tags, codes, data, raw, during) VALUES
  ('n1', 1, ROW('street', 1), '{a,b}', '{c}', '{"k": {"l": 1}}', '{"k": 2}', '[1,1.5]'),
  ('n2', 2, ROW('street', 2), '{a,b}', '{c}', '{"k": {"l": 1}}', '{"k": 2}', '[2,2.5]');
INSERT INTO album VALUES (1, 'one', 1, 'n1', 'artist'), (2, 'two', 2, 'n2', 'album');
INSERT INTO sale VALUES (1, '2026-02-03'); INSERT INTO child VALUES (1, 'x'); REFRESH MATERIALIZED VIEW counted`

/** Queries of every operator, and of everything else that is put into SQL. */
const READS = [
  ...[
    'artist',
    'artist?name=eq.n1',
    'artist?name=in.(n1,n2)',
    'artist?name=like.n*',
    'artist?name=ilike.N*',
    'artist?name=match.n',
  ],
  ...[
    'artist?name=imatch.N',
    'artist?name=isdistinct.n1',
    'artist?name=neq.n1',
    'artist?name=gt.n1',
    'artist?name=lte(any).{n1,n2}',
  ],
  ...[
    'artist?name=eq(any).{n1,n2}',
    'artist?name=like(all).{n*,*1}',
    'artist?mood=eq.glad',
    'artist?mood=in.(glad,sad)',
    'artist?mood=isdistinct.sad',
  ],
  ...[
    'artist?fans=gt.1',
    'artist?fans=in.(1,2)',
    'artist?tags=cs.{a}',
    'artist?tags=ov.{a,c}',
    'artist?codes=eq.{c}',
    'artist?codes=cd.{c}',
  ],
  ...[
    'artist?codes=in.("{c}","{d}")',
    'artist?data=cs.{"k":{}}',
    'artist?data->k->>l=eq.1',
    'artist?raw->>k=eq.2',
    'artist?lives->>street=eq.street',
  ],
  ...[
    'artist?during=ov.[1,2]',
    'artist?during=adj.[1,2]',
    'artist?during=sl.[1,2]',
    'artist?born=is.null',
    'artist?name=fts.n1',
    'artist?folded=eq.x',
  ],
  ...[
    'artist?id=eq.1&or=(fans.eq.1,not.name.eq.n1)&order=name.desc,data->k',
    'artist?select=name,album!album_artist_id_fkey(title)&limit=2',
  ],
  ...[
    'album?select=title,artist!album_artist_name_fkey(name)&artist.name=eq.n1',
    'album?select=id.sum(),artist_name&order=artist_name',
    'sale',
    'child',
    'counted',
  ],
]

/** What each of several requests was answered that is no success. */
async function problemsOf(answers: Readonly<Record<string, () => Promise<ApiAnswer>>>): Promise<readonly string[]> {
  const problems: string[] = []
  for (const [what, ask] of Object.entries(answers)) {
    const { status, text } = await ask()
    if (status >= 300) problems.push(`${what}: ${status} ${text}`)
  }
  return problems
}

const readRows = ({ root }: TestWharf, path: string, reads = READS): Promise<readonly string[]> => {
  const get = (at: string, headers: Readonly<Record<string, string>>) => () => root.get(path + at, { headers })
  return problemsOf({
    ...Object.fromEntries(reads.map((at) => [at, get(`/${encodeURI(at)}`, { prefer: 'count=exact' })])),
    'an estimate': get('/artist', { prefer: 'count=estimated', accept: 'text/csv' }),
    'one row': get('/album?id=eq.1', { accept: 'application/vnd.pgrst.object+json' }),
    'all tables': get('', {}),
  })
}

const writeRows = ({ root }: TestWharf, path: string): Promise<readonly string[]> => {
  const headers = { prefer: 'return=representation,resolution=merge-duplicates,missing=default' }
  const rows = [{ id: 1, title: 'new' }, { id: 9 }]
  return problemsOf({
    insert: () => root.post(`${path}/album?on_conflict=id`, { headers, json: rows }),
    update: () => root.patch(`${path}/artist?name=eq.n1`, { headers, json: { mood: 'sad' } }),
    delete: () => root.delete(`${path}/album?id=eq.9&title=isdistinct.x`, { headers }),
  })
}

/** Imports what was exported over the stage itself, and into the empty one of another project. */
async function transfer({ root }: TestWharf, slug: string): Promise<readonly string[]> {
  const archive = await exportOf(root, slug, { grants: true })
  const asJob = async (): Promise<ApiAnswer> => {
    const job = jobOf(await askImport(root, Buffer.from(archive), `?targetSlug=${slug}`))
    expect(await untilEnded(root, job)).toMatchObject({ status: 'succeeded' })
    return root.get(`/jobs/${job.id}`)
  }
  return problemsOf({
    'dry run': () => sendArchive(root, archive, { query: '?dryRun=true' }),
    import: () => sendArchive(root, archive),
    job: asJob,
    build: () => sendArchive(root, archive, { query: `?targetSlug=${slug}-empty` }),
    stage: () => root.get(`/projects/${slug}`),
  })
}

describe('a stage whose path has operators for values of every two types', () => {
  let wharf: TestWharf
  let external: ExternalDatabase

  beforeAll(async () => {
    external = await createExternalDatabase(SCRIPT)
    wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  })
  afterAll(async () => {
    await wharf?.close()
    await external?.drop()
  })

  test('is read, written, exported, imported, and built, on the shared server, and none of them is called', async () => {
    await createProject(wharf, 'shared', SCRIPT)
    await createProject(wharf, 'shared-empty')
    await plantDecoys(wharf.database.superuserUrl, 'extensions')
    expect(await readRows(wharf, '/content/shared/live')).toEqual([])
    expect(await writeRows(wharf, '/content/shared/live')).toEqual([])
    expect(await transfer(wharf, 'shared')).toEqual([])
    expect(await wharf.root.post('/projects/shared/stages/live/undo')).toMatchObject({ status: 200 })
    const applied = await applyScript(wharf, 'shared', 'CREATE TABLE more (id integer PRIMARY KEY)')
    expect(applied.status, applied.text).toBe(200)
    // What others depend on is imported in place.
    await query(wharf.database.superuserUrl, `CREATE TABLE public.user_of_it (named "shared.live".mood)`)
    const archive = await exportOf(wharf.root, 'shared')
    const answer = await sendArchive(wharf.root, archive)
    expect(answer, answer.text).toMatchObject({ status: 200, text: expect.stringContaining('"undoable":false') })
  })

  test('is so in an attached database, where an extension has its own in a schema that is looked into', async () => {
    await query(
      external.database.superuserUrl,
      'CREATE SCHEMA tools; GRANT USAGE ON SCHEMA tools TO PUBLIC; CREATE EXTENSION hstore SCHEMA tools',
    )
    await plantDecoys(external.database.superuserUrl, 'tools')
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public', logEvents: true }] }
    const made = await wharf.root.post('/projects', { json: { slug: 'attached', attach } })
    expect(made.status, made.text).toBe(201)
    await createProject(wharf, 'attached-empty')
    expect(await readRows(wharf, '/content/attached/live', READS.slice(0, 3))).toEqual([])
    expect(await transfer(wharf, 'attached')).toEqual([])
  })

  test('of an attached database is not built where somebody makes an operator meanwhile', async () => {
    const reader = external.reader.username
    const asSuperuser = (sql: string) => query(external.database.superuserUrl, sql)
    for (const sql of [
      `CREATE FUNCTION public.texteq(text, name) RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
      `GRANT CREATE, USAGE ON SCHEMA public TO ${reader}`,
      `CREATE FUNCTION public.make() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
       BEGIN CREATE OPERATOR public.|| (FUNCTION = public.texteq, LEFTARG = text, RIGHTARG = name); END $$`,
      `ALTER FUNCTION public.make() OWNER TO ${reader}`,
      `CREATE EVENT TRIGGER meanwhile ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.make()`,
    ]) {
      await asSuperuser(sql)
    }
    await external.run('CREATE SCHEMA empty')
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'empty' }] }
    expect(await wharf.root.post('/projects', { json: { slug: 'target', attach } })).toMatchObject({ status: 201 })
    await createProject(wharf, 'small', 'CREATE TABLE one (id integer PRIMARY KEY); INSERT INTO one VALUES (1)')
    const answer = await sendArchive(wharf.root, await exportOf(wharf.root, 'small'), { query: '?targetSlug=target' })
    expect(answer.status, answer.text).toBe(409)
    expect(answer.text).toContain(`belongs to \\"${reader}\\", whose code would run`)
    await asSuperuser('DROP EVENT TRIGGER meanwhile')
    await asSuperuser('DROP FUNCTION public.make()')
  })
})
