import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'
import { type InstalledCluster, installedCluster } from '../support/servers/installed-cluster.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { query, withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { someOf } from '../support/thorough.ts'

const run = promisify(execFile)

const FIXTURES = join(import.meta.dirname, '..', 'fixtures')
const DATA = join(import.meta.dirname, '..', '..', '..', 'shared', 'data')

/** Scripts of whole databases; those that are not part of the project may be missing. */
const DATABASES = [
  { slug: 'dumped', path: join(FIXTURES, 'dumped.sql') },
  { slug: 'chinook', path: join(DATA, 'chinook', 'chinook.sql') },
  { slug: 'northwind', path: join(DATA, 'northwind', 'northwind.sql') },
].filter(({ path }) => existsSync(path))

const programs = installedPrograms()

/** What dumps of a schema have in common, whatever it is called: no rights, no log of Wharf's, no key of one run. */
const comparable = (dump: string, schema: string): string[] =>
  dump
    .replaceAll(schema, 'public')
    .replaceAll('"public"', 'public')
    .split('\n')
    .filter(
      (line) => !/^\\(?:un)?restrict |^-- Name: |^-- Data for Name: |^(?:--)?$|^COMMENT ON SCHEMA |wharf/.test(line),
    )

function sharedCluster(): InstalledCluster {
  const cluster = installedCluster()
  if (!cluster) throw new Error('no PostgreSQL is installed')
  return cluster
}

describe.skipIf(programs === undefined)('a dump that pg_dump makes', () => {
  let cluster: InstalledCluster
  let wharf: TestWharf
  /** By the slug of the project that gets it. */
  const sources = new Map<string, TestDatabase>()

  beforeAll(async () => {
    cluster = sharedCluster()
    wharf = await startWharf({ database: await cluster.createServiceDatabase() })
    for (const { slug, path } of DATABASES) {
      const source = await cluster.createDatabase()
      await query(source.superuserUrl, await readFile(path, 'utf8'))
      sources.set(slug, source)
    }
  })

  afterAll(async () => {
    await wharf?.close()
    for (const source of sources.values()) await source.drop()
  })

  const dumpOf = async (slug: string, ...options: string[]): Promise<string> => {
    const url = sources.get(slug)?.superuserUrl ?? ''
    const { stdout } = await run(join(programs ?? '', 'pg_dump'), [...options, url], { maxBuffer: 2 ** 30 })
    return stdout
  }

  const assertSame = async (slug: string, project: string): Promise<void> => {
    const source = sources.get(slug)
    if (!source) throw new Error(`there is no database ${slug}`)
    const rights = ['--no-privileges']
    const expected = comparable(await cluster.dump(source, 'public', rights), 'public')
    expect(expected.length).toBeGreaterThan(20)
    expect(comparable(await cluster.dump(wharf.database, `${project}.live`, rights), `${project}.live`)).toEqual(
      expected,
    )
  }

  test.for(DATABASES)('of $slug, with default options, becomes the same stage without editing', async ({ slug }) => {
    await createProject(wharf, slug)
    const answer = await applyScript(wharf, slug, await dumpOf(slug))
    expect(answer.status, answer.text).toBe(200)
    await assertSame(slug, slug)
  })

  test.for([
    ['--inserts'],
    ['--column-inserts', '--rows-per-insert=7', '--quote-all-identifiers', '--clean', '--if-exists'],
    ['--schema=public', '--use-set-session-authorization'],
  ])('becomes the same stage when it is made with %s', async (options) => {
    const slug = `d${options.join('').replaceAll(/[^a-z0-9]/g, '')}`.slice(0, 30)
    await createProject(wharf, slug)
    const answer = await applyScript(wharf, slug, await dumpOf('dumped', ...options))
    expect(answer.status, answer.text).toBe(200)
    await assertSame('dumped', slug)
  })

  test('is piped into the command, which counts what it took and what it passed over', async () => {
    await createProject(wharf, 'piped')
    const dump = await dumpOf('dumped')
    const command = ['schema:apply', '-', dsnOf(wharf, 'piped')]
    const { code, stdout, stderr } = await runCommand(command, { input: dump })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^applied - to piped\/live, with 108 rows, which now has 9 tables\n/)
    expect(stdout).toMatch(/passed over, since they say nothing about a stage: \d+ × SET, \d+ × OWNER TO/)
    await assertSame('dumped', 'piped')
    const again = await runCommand(command, { input: dump })
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toMatch(/^error: nothing was changed: line \d+: .* already exists/)
    await assertSame('dumped', 'piped')
  })

  test('is recorded once, without its rows', async () => {
    const records = await wharf.database.query<{ sql: string }>(
      `SELECT sql FROM system.structure_change JOIN system.stage_state USING (stage_id) WHERE schema_name = 'dumped.live'`,
    )
    expect(records).toHaveLength(1)
    expect(records[0]?.sql).toContain('CREATE TABLE public.customer')
    expect(records[0]?.sql).not.toContain('日本')
  })

  test('is made in another encoding, and its texts are the same', async () => {
    const source = await cluster.createDatabase()
    await query(
      source.superuserUrl,
      `CREATE TABLE "größe" (t text DEFAULT 'ä' CHECK (t <> 'ö')); INSERT INTO "größe" VALUES ('é§ÿ'), ('ü')`,
    )
    sources.set('encoded', source)
    for (const encoding of someOf(['LATIN1', 'WIN1252', 'LATIN9', 'UTF8'], 4)) {
      const slug = encoding.toLowerCase()
      await createProject(wharf, slug)
      const { stdout } = await run(join(programs ?? '', 'pg_dump'), [`--encoding=${encoding}`, source.superuserUrl], {
        encoding: 'buffer',
      })
      const answer = await applyScript(wharf, slug, stdout)
      expect(answer.status, `${encoding}: ${answer.text}`).toBe(200)
      await assertSame('encoded', slug)
    }
  })

  test('is refused where it is cut off, wherever that is', async () => {
    const dump = await dumpOf('dumped')
    await createProject(wharf, 'cut')
    for (const share of someOf([0.1, 0.4, 0.6, 0.8, 0.9, 0.99], 3)) {
      const { status, json } = await applyScript(wharf, 'cut', dump.slice(0, dump.length * share))
      expect({ status, json }).toMatchObject({ status: 422, json: { errors: [{ line: expect.any(Number) }] } })
    }
    expect(await applyScript(wharf, 'cut', dump)).toMatchObject({ status: 200 })
  })
})

/** As pg_dump 18 writes it. */
const NEWER = `--
-- PostgreSQL database dump
--

\\restrict fJ3h2k1

-- Dumped from database version 18.1

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE FUNCTION public.tripled(n integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.times(n, 3); END $$;
CREATE FUNCTION public.counted() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'LOCK public.part'; RETURN count(*) FROM public.part; END $$;
CREATE FUNCTION public.times(a integer, b integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN (a * b);
ALTER FUNCTION public.tripled(n integer) OWNER TO postgres;

SET default_tablespace = '';
SET default_table_access_method = heap;

CREATE TABLE public.part (
    id integer CONSTRAINT part_has_id NOT NULL,
    twice integer GENERATED ALWAYS AS ((id * 2)),
    "during" int4range
);

COPY public.part (id, "during") FROM stdin;
1	[1,5)
2	\\N
\\.

SELECT pg_catalog.setval('public.part_number', 7, true);
ALTER TABLE ONLY public.part ADD CONSTRAINT part_range NOT NULL id NO INHERIT NOT VALID;
CREATE INDEX part_tripled ON public.part USING btree (public.tripled(id));
GRANT SELECT ON TABLE public.part TO reader;

--
-- PostgreSQL database dump complete
--

\\unrestrict fJ3h2k1
`

describe('a dump as pg_dump 18 writes it', () => {
  let wharf: TestWharf
  beforeAll(async () => {
    wharf = await startWharf({ database: await createMigratedDatabase() })
    await createProject(wharf, 'newer')
  })
  afterAll(() => wharf?.close())

  const post = (slug: string, body: string | Uint8Array, search = '', headers: Record<string, string> = {}) =>
    wharf.root.post(`/projects/${slug}/stages/live/schema${search}`, {
      headers: { 'content-type': 'application/sql', ...headers },
      body,
    })

  const dump = NEWER.replace(/^SELECT pg_catalog.setval.*$/m, 'CREATE SEQUENCE public.part_number;\n$&').replace(
    /^ALTER TABLE ONLY.*$/m,
    '',
  )

  test('is taken with what only that version has', async () => {
    const answer = await post('newer', dump)
    expect(answer).toMatchObject({
      status: 200,
      json: {
        stage: 'live',
        tables: 1,
        rows: 2,
        unmappedFunctions: [{ name: 'counted', line: 22 }],
        passedOver: expect.arrayContaining([
          { statement: 'SET transaction_timeout', count: 1, line: 12 },
          { statement: 'OWNER TO', count: 1, line: 24 },
          { statement: 'GRANT', count: 1, line: expect.any(Number) },
        ]),
      },
    })
    const sql = `SELECT id, twice, "during"::text, nextval('"newer.live".part_number')::int AS next FROM "newer.live".part ORDER BY id`
    expect(await wharf.database.query(sql)).toEqual([
      { id: 1, twice: 2, during: '[1,5)', next: 8 },
      { id: 2, twice: 4, during: null, next: 9 },
    ])
  })

  test('has views refreshed whose functions lost the schema, and functions left alone that would call other ones', async () => {
    const overload = `CREATE FUNCTION name_of(text) RETURNS text LANGUAGE sql AS $$ SELECT 'there before' $$`
    await createProject(wharf, 'refreshed', overload)
    const script = `
      CREATE FUNCTION public.a_label(int) RETURNS text LANGUAGE sql STABLE AS $$ SELECT public.name_of($1) $$;
      CREATE FUNCTION public.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'own' $$;
      CREATE FUNCTION public.name_of(int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN name FROM public.part WHERE id = $1; END $$;
      CREATE FUNCTION public.other() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN count(*) FROM public.part; END $$;
      CREATE FUNCTION public.shifted() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1 OPERATOR(public.+) 1; END $$;
      CREATE FUNCTION public.shouted(int) RETURNS text LANGUAGE sql AS $$ SELECT public.lower(name) FROM public.part $$;
      CREATE TABLE public.part (id int, name text);
      CREATE VIEW public.labels AS SELECT id, public.a_label(id) AS label FROM public.part;
      CREATE MATERIALIZED VIEW public.kept AS SELECT label FROM public.labels WITH NO DATA;
      COPY public.part (id, name) FROM stdin;
1	one
\\.

      REFRESH MATERIALIZED VIEW public.kept;
    `
    const answer = await post(
      'refreshed',
      NEWER.replace(/^CREATE FUNCTION.*^GRANT[^\n]*$/ms, () => script),
    )
    expect(answer, answer.text).toMatchObject({ status: 200 })
    const unmapped = (answer.json as { unmappedFunctions: { name: string }[] }).unmappedFunctions
    expect(unmapped.map(({ name }) => name)).toEqual(['shifted', 'shouted'])
    expect(await wharf.database.query('SELECT label FROM "refreshed.live".kept')).toEqual([{ label: 'one' }])
    const searching = await wharf.database.query(
      `SELECT proname FROM pg_proc WHERE pronamespace = '"refreshed.live"'::regnamespace AND proconfig IS NOT NULL ORDER BY 1`,
    )
    expect(searching).toEqual([{ proname: 'a_label' }, { proname: 'name_of' }])
  })

  test('is refused with --strict, with the first statement that would be passed over', async () => {
    const strict = await post('newer', dump, '?strict=true')
    expect(strict).toMatchObject({ status: 422, json: { errors: [{ line: 9 }] } })
    expect(strict.text).toMatch(/line 9: SET statement_timeout says nothing about the stage/)
  })

  test('is taken without the comments before its first statement, as Rails and Supabase keep it', async () => {
    await createProject(wharf, 'bare')
    const bare = `${dump.replaceAll(/^--.*$/gm, '')}SET search_path TO "$user", public;
INSERT INTO "part" (id) VALUES\n(3);\n`
    expect(await post('bare', bare)).toMatchObject({ status: 200, json: { rows: 2 } })
    const rows = await wharf.database.query(`SELECT id FROM "bare.live".part ORDER BY id`)
    expect(rows).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
  })

  test('is taken compressed as well', async () => {
    await createProject(wharf, 'packed')
    expect(await post('packed', gzipSync(dump), '', { 'content-encoding': 'gzip' })).toMatchObject({ status: 200 })
    const damaged = gzipSync(dump).subarray(0, -20)
    expect((await post('packed', damaged, '', { 'content-encoding': 'gzip' })).text).toMatch(/middle of its gzip data/)
  })

  test('names the line of the row, and the names that it has itself, in what is wrong', async () => {
    await createProject(wharf, 'wrong')
    const row = await post('wrong', dump.replace('[1,5)', '[five)'))
    expect(row).toMatchObject({ status: 422, json: { errors: [{ line: lineOf(dump, '[1,5)') }] } })
    const name = await post(
      'wrong',
      dump.replace('OWNED', '').replace('SEQUENCE public.part_number', 'SEQUENCE public.other'),
    )
    expect(name).toMatchObject({ status: 422, json: { errors: [{ line: lineOf(dump, 'pg_catalog.setval') }] } })
    expect(name.text).toContain('relation \\"public.part_number\\" does not exist')
  })

  const NAMED = [
    ['public.part', '{public.part,NULL}', '{public.part}', 'public.times(integer,integer)', 'x', 'public.part'],
    ['public."A ""part"""', '{"public.\\"A \\"\\"part\\"\\"\\""}', '{NULL}', '\\N', 'y\\\\', 'public.x'],
    ['pg_class', '{}', '\\N', 'upper(text)', 'z', '\\N'],
  ] as const
  const named = (rows: string): string => `--
-- PostgreSQL database dump
--
CREATE TABLE public.part (id integer);
CREATE TABLE public."A ""part""" (id integer);
CREATE FUNCTION public.times(integer, integer) RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
CREATE DOMAIN public.one AS regclass;
CREATE TABLE public.named (skipped int GENERATED ALWAYS AS (1) STORED, a public.one, many regclass[], ones public.one[], f regprocedure, s text, t text);
${rows}
--
-- PostgreSQL database dump complete
--
`
  const INSERTED = NAMED.map((row) =>
    row.map((value) => (value === '\\N' ? 'NULL' : `'${value.replaceAll('\\\\', '\\')}'`)).join(', '),
  )
  const copied = NAMED.map((row) => row.join('\t').replaceAll('\\"', '\\\\"')).join('\n')

  test.for([
    ['copied', `COPY public.named (a, many, ones, f, s, t) FROM stdin;\n${copied}\n\\.\n`],
    ['copied-all', `COPY public.named FROM stdin;\r\n${copied.replaceAll('\n', '\r\n')}\r\n\\.\r\n`],
    [
      'inserted',
      INSERTED.map((row) => `INSERT INTO public.named (a, many, ones, f, s, t) VALUES (${row});`).join('\n'),
    ],
    ['inserted-all', `INSERT INTO public.named VALUES\n(DEFAULT, ${INSERTED.join('),\n(DEFAULT, ')});`],
  ] as const)('has rows %s whose values are names of objects, which are those of the stage', async ([slug, rows]) => {
    await createProject(wharf, slug)
    expect(await post(slug, named(rows))).toMatchObject({ status: 200 })
    const stage = (name: string) => `"${slug}.live".${name}`
    const sql = `SELECT a::text, many::text[], ones::text[], f::text, s, t FROM ${stage('named')} ORDER BY s`
    expect(await wharf.database.query(sql)).toEqual([
      {
        a: stage('part'),
        many: [stage('part'), null],
        ones: [stage('part')],
        f: stage('times(integer,integer)'),
        s: 'x',
        t: 'public.part',
      },
      { a: stage('"A ""part"""'), many: [stage('"A ""part"""')], ones: [null], f: null, s: 'y\\', t: 'public.x' },
      { a: 'pg_class', many: [], ones: null, f: 'upper(text)', s: 'z', t: null },
    ])
  })

  test('of another schema means the stage with ?schema', async () => {
    await createProject(wharf, 'app')
    const app = dump.replaceAll('public.', 'app.').replace('CREATE FUNCTION', 'CREATE SCHEMA app;\nCREATE FUNCTION')
    const refused = await post('app', app)
    expect(refused.text).toMatch(/--schema app/)
    expect(await post('app', app, '?schema=app')).toMatchObject({ status: 200, json: { rows: 2 } })
  })

  const NOT_DUMPS: readonly [what: string, body: string | Uint8Array, said: RegExp][] = [
    ['a custom-format dump', 'PGDMP\x01\x0e\0', /custom format: .*pg_restore --file=-/],
    ['a tar-format dump', 'toc.dat\0\0\0', /tar format/],
    ['UTF-16', Buffer.from('\uFEFFSELECT 1', 'utf16le'), /UTF-16, as .* of PowerShell/],
    ['a dump of a whole server', '--\n-- PostgreSQL database cluster dump\n--\n', /pg_dumpall/],
    ['\\connect', '--\n-- PostgreSQL database dump\n--\n\\connect app\n', /line 4: \\\\connect .*without --create/],
    [
      'a dump with large objects',
      "-- PostgreSQL database dump\nSELECT pg_catalog.lo_create('123');\nBEGIN;\n",
      /line 2: the dump has large objects.*--no-blobs/,
    ],
    [
      'a dump with an event trigger',
      '-- PostgreSQL database dump\nCREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION public.f();\n',
      /line 2: event triggers are the whole database's.*--schema/,
    ],
    [
      'a dump with a publication',
      '-- PostgreSQL database dump\nCREATE PUBLICATION p FOR ALL TABLES;\n',
      /line 2: publications are the whole database's.*--no-publications/,
    ],
    [
      'an extension that PostgreSQL does not trust',
      '-- PostgreSQL database dump\nCREATE EXTENSION dblink;\n',
      /line 2: .*dblink.* not among those that the operator allows/,
    ],
    [
      'an extension that there is not',
      'SELECT 1;\nCREATE EXTENSION nothing',
      /line 2: .*server does not have .*nothing/,
    ],
    [
      'another encoding than it says',
      Buffer.from("SELECT 1;\nSELECT\n'\xe9'", 'latin1'),
      /line 3: .*not UTF-8.*--encoding=UTF8/,
    ],
    [
      'rows in another one',
      Buffer.from('CREATE TABLE t (t text);\nCOPY t FROM stdin;\na\n\xe9\n\\.\n', 'latin1'),
      /line 4: invalid byte sequence/,
    ],
    [
      'bytes above 127 in SQL_ASCII',
      Buffer.from("SET client_encoding = 'SQL_ASCII';\nSELECT '\xe9'", 'latin1'),
      /line 2: .*not UTF-8/,
    ],
    ['SJIS', "SET client_encoding = 'SJIS';\nSELECT 1", /line 2: a script in SJIS is not read/],
    ['an encoding that there is not', "SET client_encoding = 'NONE'", /line 1: invalid value/],
    ['NUL', 'SELECT 1;\nSELECT\n\0', /line 3: a NUL character/],
    [
      'an INSERT among many',
      `CREATE TABLE t (n int PRIMARY KEY);\n${'INSERT INTO t SELECT count(*) FROM t;\n'.repeat(500)}INSERT INTO t\nVALUES (3);`,
      /line 502: duplicate key/,
    ],
    ['a commit behind COPY', 'CREATE TABLE t ();\nCOPY t FROM stdin;\n\\.\nCOMMIT;', /line 4: .*leave BEGIN/],
  ]

  test.for(NOT_DUMPS)('cannot be taken for %s, which is refused', async ([, body, said]) => {
    const answer = await post('newer', body)
    expect(answer.status, answer.text).toBe(422)
    expect(answer.text).toMatch(said)
  })

  test('has an effect on scripts that are none: their names are left as they are, and nothing is passed over', async () => {
    await createProject(wharf, 'script')
    expect((await post('script', 'CREATE TABLE public.t ()')).text).toMatch(/permission denied for schema public/)
    expect((await post('script', 'CREATE TABLE t (); GRANT SELECT ON t TO nobody')).text).toMatch(
      /role .*nobody.* does not/,
    )
    const copied = await post(
      'script',
      'CREATE TABLE t (a int, b text);\nCOPY t (b, a) FROM stdin;\npublic.x\t1\n\\.\n',
    )
    expect(copied).toMatchObject({
      status: 200,
      json: { statements: 2, rows: 1, passedOver: [], unmappedFunctions: [] },
    })
    expect(await post('script', 'CREATE TABLE public.u (LIKE public.t)', '?schema=public')).toMatchObject({
      status: 200,
    })
  })

  test('writes no events for the rows of its own tables, and one for those of a table that was there before', async () => {
    await createProject(wharf, 'logged', 'CREATE TABLE t (a int PRIMARY KEY)')
    const events = () =>
      wharf.database.query<{ kind: string; n: number }>(
        `SELECT kind::text, count(*)::int AS n FROM system.event JOIN system.stage_state USING (stage_id)
         WHERE schema_name = 'logged.live' AND kind <> 'structure' GROUP BY kind ORDER BY kind`,
      )
    await post('logged', 'CREATE TABLE u (a int);\nCOPY u FROM stdin;\n1\n2\n3\n\\.\n')
    expect(await events()).toEqual([])
    await post('logged', 'COPY t FROM stdin;\n1\n2\n3\n\\.\n')
    expect(await events()).toEqual([{ kind: 'create', n: 1 }])
  })

  test('waits for locks, and is read again from its beginning', async () => {
    await createProject(wharf, 'held', 'CREATE TABLE held (a int)')
    const url = await loginUrl(wharf, 'held')
    await withSession(url.href, async (neighbour) => {
      await neighbour.query('BEGIN; LOCK TABLE "held.live".held')
      const asked = post('held', 'CREATE TABLE t (a int);\nCOPY t FROM stdin;\n1\n2\n\\.\nALTER TABLE held ADD b int;')
      await new Promise((done) => setTimeout(done, 1_200))
      await neighbour.query('ROLLBACK')
      expect(await asked).toMatchObject({ status: 200, json: { rows: 2, statements: 3 } })
    })
    expect(await wharf.database.query('SELECT a FROM "held.live".t')).toEqual([{ a: 1 }, { a: 2 }])
  })
})

const WITH_EXTENSIONS = `
  CREATE EXTENSION citext;
  CREATE EXTENSION pg_trgm;
  CREATE TABLE person (name citext PRIMARY KEY CHECK (name <> 'nobody'), note text);
  CREATE INDEX by_note ON person USING gin (note gin_trgm_ops);
  CREATE VIEW alike AS SELECT name, similarity(note, 'x') AS likeness FROM person WHERE name = 'ADA' AND note % 'x';
  INSERT INTO person VALUES ('Ada', 'x'), ('Bob', NULL);`

describe.skipIf(programs === undefined)('a dump with extensions', () => {
  let cluster: InstalledCluster
  let wharf: TestWharf
  let source: TestDatabase

  beforeAll(async () => {
    cluster = sharedCluster()
    source = await cluster.createDatabase()
    await query(source.superuserUrl, WITH_EXTENSIONS)
    wharf = await startWharf({ database: await cluster.createServiceDatabase() })
  })

  afterAll(async () => {
    await wharf?.close()
    await source?.drop()
  })

  test('that PostgreSQL trusts has them made for all projects, and names what they have', async () => {
    const { stdout } = await run(join(programs ?? '', 'pg_dump'), [source.superuserUrl])
    for (const slug of ['first', 'second']) {
      await createProject(wharf, slug)
      const answer = await applyScript(wharf, slug, stdout)
      expect(answer.status, answer.text).toBe(200)
      expect(await query(wharf.database.superuserUrl, `SELECT name::text, likeness FROM "${slug}.live".alike`)).toEqual(
        [{ name: 'Ada', likeness: 1 }],
      )
    }
    const later = 'CREATE EXTENSION IF NOT EXISTS hstore; CREATE TABLE more (h hstore, name citext)'
    expect(await applyScript(wharf, 'first', later)).toMatchObject({ status: 200, json: { statements: 2 } })
    const made = await applyScript(wharf, 'first', 'CREATE TABLE extensions.mine ()')
    expect(made.text).toMatch(/permission denied for schema extensions/)
  })

  test('has rows that name functions of an extension, and of the stage where both have one', async () => {
    await createProject(wharf, 'naming')
    const script = `--
-- PostgreSQL database dump
--
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
CREATE FUNCTION public.show_limit() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
CREATE TABLE public.named (f regproc, many regproc[]);
COPY public.named (f, many) FROM stdin;
public.similarity\t{public.similarity,public.show_limit}
public.show_limit\t{}
\\.
INSERT INTO public.named VALUES ('public.word_similarity', NULL);
--
-- PostgreSQL database dump complete
--
`
    const answer = await applyScript(wharf, 'naming', script)
    expect(answer.status, answer.text).toBe(200)
    const sql = `SELECT f::text, many::text[] FROM "naming.live".named`
    expect(await query(wharf.database.superuserUrl, sql)).toEqual([
      { f: 'extensions.similarity', many: ['extensions.similarity', '"naming.live".show_limit'] },
      { f: '"naming.live".show_limit', many: [] },
      { f: 'extensions.word_similarity', many: null },
    ])
  })
})

const lineOf = (text: string, part: string): number => text.slice(0, text.indexOf(part)).split('\n').length
