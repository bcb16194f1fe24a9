import { expect, test } from 'vitest'
import { loadGrammar } from '../../../src/archive/sql/grammar.ts'
import { noKnownNames } from '../../../src/projects/script/known-names.ts'
import { createPreparation } from '../../../src/projects/script/prepare-statement.ts'

const map = { schema: 'public', login: 'own', stageSchema: 'shop.live' }
const prepare = createPreparation(() => map)

/** Statements, and what they become where `@` is the stage's schema. */
const MAPPED: readonly [statement: string, mapped: string][] = [
  [
    'CREATE TABLE public.t (a public.mood[], b int REFERENCES public.u)',
    'CREATE TABLE @.t (a @.mood[], b int REFERENCES @.u)',
  ],
  ['CREATE TABLE PUBLIC . "t" ()', 'CREATE TABLE @ . "t" ()'],
  ['CREATE TABLE "public".t ()', 'CREATE TABLE @.t ()'],
  ['CREATE TABLE "Public".t ()', 'CREATE TABLE "Public".t ()'],
  [
    'CREATE VIEW public.v AS SELECT public.a, public.t.b, public.* FROM public.public',
    'CREATE VIEW @.v AS SELECT public.a, @.t.b, public.* FROM @.public',
  ],
  [
    'CREATE VIEW public.v AS SELECT public.f(public.a) AS public FROM public.t',
    'CREATE VIEW @.v AS SELECT @.f(public.a) AS public FROM @.t',
  ],
  [
    "ALTER TABLE public.t ALTER a SET DEFAULT nextval('public.s'::regclass)",
    `ALTER TABLE @.t ALTER a SET DEFAULT nextval('@.s'::regclass)`,
  ],
  [`SELECT pg_catalog.setval('public."A s"', 5, true)`, `SELECT pg_catalog.setval('@."A s"', 5, true)`],
  ["ALTER TABLE public.t ADD CHECK (a <> 'public.t')", "ALTER TABLE @.t ADD CHECK (a <> 'public.t')"],
  [
    "CREATE INDEX ON public.t (((a)::public.mood), ('public.f(public.t)'::regprocedure))",
    "CREATE INDEX ON @.t (((a)::@.mood), ('@.f(@.t)'::regprocedure))",
  ],
  [
    'ALTER TABLE public.t ADD EXCLUDE USING gist (a public.ops WITH OPERATOR(public.&&))',
    'ALTER TABLE @.t ADD EXCLUDE USING gist (a @.ops WITH OPERATOR(@.&&))',
  ],
  ['ALTER SEQUENCE public.s OWNED BY public.t.id', 'ALTER SEQUENCE @.s OWNED BY @.t.id'],
  ['ALTER SEQUENCE public.s OWNED BY public.id', 'ALTER SEQUENCE @.s OWNED BY public.id'],
  [`COMMENT ON COLUMN public.t.c IS 'public.t'`, `COMMENT ON COLUMN @.t.c IS 'public.t'`],
  [`COMMENT ON COLUMN public.c IS 'x'`, `COMMENT ON COLUMN public.c IS 'x'`],
  ['DROP FUNCTION public.f(public.mood)', 'DROP FUNCTION @.f(@.mood)'],
  ['SET search_path = public, pg_catalog', 'SET search_path = @, pg_catalog'],
  ["ALTER FUNCTION public.f() SET search_path TO 'public', 'x'", "ALTER FUNCTION @.f() SET search_path TO @, 'x'"],
  ['CREATE TABLE public.t (a int) -- public.t\n/* public.u */', 'CREATE TABLE @.t (a int) -- public.t\n/* public.u */'],
  [
    "INSERT INTO public.t VALUES ('public.t', 1, -1.5, NULL), (E'\\'', DEFAULT)",
    "INSERT INTO @.t VALUES ('public.t', 1, -1.5, NULL), (E'\\'', DEFAULT)",
  ],
  ["INSERT INTO public.t VALUES ('public.t'::regclass)", "INSERT INTO @.t VALUES ('@.t'::regclass)"],
  ['INSERT INTO public.t SELECT * FROM public.u', 'INSERT INTO @.t SELECT * FROM @.u'],
  ['COPY public.t (a, b) FROM stdin', 'COPY @.t (a, b) FROM stdin'],
  [
    'CREATE FUNCTION public.f() RETURNS public.t LANGUAGE sql AS $_$ SELECT * FROM public.t WHERE a = $1 $_$',
    'CREATE FUNCTION @.f() RETURNS @.t LANGUAGE sql AS $_$ SELECT * FROM t WHERE a = $1 $_$',
  ],
  [
    "CREATE FUNCTION f() RETURNS int LANGUAGE 'sql' AS 'SELECT public.user(), ''public.x'', nextval(''public.s'') FROM public.order'",
    "CREATE FUNCTION f() RETURNS int LANGUAGE 'sql' AS $body$SELECT \"user\"(), 'public.x', nextval('s') FROM \"order\"$body$",
  ],
  [
    "CREATE FUNCTION public.f() RETURNS int SET search_path TO 'public' BEGIN ATOMIC SELECT public.g(); END",
    'CREATE FUNCTION @.f() RETURNS int SET search_path TO @ BEGIN ATOMIC SELECT @.g(); END',
  ],
  [
    "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path TO '' AS $$ SELECT public.g() $$",
    'CREATE FUNCTION @.f() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path TO @ AS $$ SELECT g() $$',
  ],
  [
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path TO 'pg_catalog', 'pg_temp' AS $$ SELECT public.g() $$",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path TO 'pg_catalog', @, 'pg_temp' AS $$ SELECT g() $$",
  ],
  [
    'CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path TO pg_temp AS $$ SELECT public.g() $$',
    'CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path TO @, pg_temp AS $$ SELECT g() $$',
  ],
  [
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path TO '' AS $$ SELECT 1 FROM public $$",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path TO '' AS $$ SELECT 1 FROM public $$",
  ],
  [
    "CREATE FUNCTION f(text) RETURNS text LANGUAGE sql AS $$ SELECT public.own_unaccent('public.d', $1), unaccent('public.d', $1), to_tsvector('public.d') $$",
    "CREATE FUNCTION f(text) RETURNS text LANGUAGE sql AS $$ SELECT own_unaccent('public.d', $1), unaccent('d', $1), to_tsvector('public.d') $$",
  ],
  ["SELECT 'é', 'public.t'::regclass, 1 FROM public.é", "SELECT 'é', '@.t'::regclass, 1 FROM @.é"],
  // PostgreSQL 18's own.
  [
    'ALTER TABLE public.t ADD CONSTRAINT c NOT NULL a NO INHERIT',
    'ALTER TABLE @.t ADD CONSTRAINT c NOT NULL a NO INHERIT',
  ],
  [
    'CREATE TABLE public.t (a int, b int GENERATED ALWAYS AS (public.f(a)) VIRTUAL)',
    'CREATE TABLE @.t (a int, b int GENERATED ALWAYS AS (@.f(a)) VIRTUAL)',
  ],
  // What no grammar knows goes as it is.
  ['CRATE TABLE public.t ()', 'CRATE TABLE public.t ()'],
  [
    `SELECT ${'('.repeat(2_000)}public.f()${')'.repeat(2_000)}`,
    `SELECT ${'('.repeat(2_000)}public.f()${')'.repeat(2_000)}`,
  ],
]

test.for(MAPPED)('%s', async ([statement, mapped]) => {
  expect((await prepare(statement)).text).toBe(mapped.replaceAll('@', '"shop.live"'))
})

test('a deeply nested statement leaves the grammar as it was', async () => {
  const chain = `SELECT ${Array.from({ length: 9_000 }, () => 'public.f()').join(' + ')}`
  await prepare(chain)
  expect((await prepare('SELECT FROM public.t')).text).toBe('SELECT FROM "shop.live".t')
  expect((await loadGrammar()).parse('SELECT 1')).toHaveLength(1)
})

const PASSED_OVER: readonly [statement: string, as: string | undefined][] = [
  ['SET statement_timeout = 0', 'SET statement_timeout'],
  ['SET transaction_timeout = 0', 'SET transaction_timeout'],
  ["SET default_tablespace = ''", 'SET default_tablespace'],
  ["SELECT pg_catalog.set_config('search_path', '', false)", 'SET search_path'],
  ["SELECT pg_catalog.set_config('search_path', 'other', false)", undefined],
  ['SET check_function_bodies = false', undefined],
  ['SET row_security = off', undefined],
  ['SET xmloption = content', undefined],
  ["SET SESSION AUTHORIZATION 'postgres'", 'SET session_authorization'],
  ['ALTER TABLE public.t OWNER TO postgres', 'OWNER TO'],
  ['ALTER TYPE public.mood OWNER TO postgres', 'OWNER TO'],
  ['ALTER TABLE public.t OWNER TO postgres, ADD a int', undefined],
  ['GRANT SELECT ON TABLE public.t TO reader', 'GRANT'],
  ['REVOKE ALL ON FUNCTION public.f() FROM postgres', 'REVOKE'],
  ['GRANT SELECT ON TABLE public.t TO PUBLIC', undefined],
  ['GRANT SELECT ON TABLE public.t TO own', undefined],
  ['GRANT USAGE ON SCHEMA public TO PUBLIC', 'GRANT'],
  ['GRANT a TO b', 'GRANT'],
  ['ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA public GRANT ALL ON TABLES TO b', 'ALTER DEFAULT PRIVILEGES'],
  ['CREATE SCHEMA public', 'CREATE SCHEMA'],
  ["COMMENT ON SCHEMA public IS 'x'", 'COMMENT ON SCHEMA'],
  ["COMMENT ON EXTENSION citext IS 'x'", 'COMMENT ON EXTENSION'],
  ['CREATE EXTENSION IF NOT EXISTS plpgsql WITH SCHEMA pg_catalog', 'CREATE EXTENSION plpgsql'],
  ['CREATE PUBLICATION p FOR ALL TABLES', undefined],
  ['CREATE EVENT TRIGGER e ON sql_drop EXECUTE FUNCTION public.f()', undefined],
]

test.for(PASSED_OVER)('%s is passed over as %s', async ([statement, as]) => {
  expect((await prepare(statement)).passedOver).toBe(as)
})

test.for([
  ['CREATE SCHEMA app', /schema "app" beside "public".*--schema app/],
  ['CREATE ROLE postgres', /pg_dumpall/],
] as const)('%s says what to do', async ([statement, said]) => {
  expect((await prepare(statement)).refused).toMatch(said)
})

/** Bodies in PL/pgSQL, what they become, and whether some of them names the schema afterwards. */
const BODIES: readonly [body: string, mapped: string, left?: 'some'][] = [
  ['BEGIN RETURN public.g(public.t.a) FROM public.t; END', 'BEGIN RETURN g(t.a) FROM t; END'],
  [
    'DECLARE x public.t.id%TYPE; y public.t%ROWTYPE; z CONSTANT public."Quoted Name" := 1; w public.t%ROWTYPE[]; BEGIN END',
    'DECLARE x t.id%TYPE; y t%ROWTYPE; z CONSTANT "Quoted Name" := 1; w t%ROWTYPE[]; BEGIN END',
  ],
  [
    'DECLARE c CURSOR (k public.k) FOR SELECT * FROM public.t; BEGIN OPEN c(public.f()); FETCH c INTO k; END',
    'DECLARE c CURSOR (k k) FOR SELECT * FROM t; BEGIN OPEN c(f()); FETCH c INTO k; END',
  ],
  [
    'BEGIN FOR i IN 1..public.n() LOOP PERFORM PUBLIC . f(i); END LOOP; FOR i IN a..public.n() LOOP END LOOP; END',
    'BEGIN FOR i IN 1..n() LOOP PERFORM f(i); END LOOP; FOR i IN a..n() LOOP END LOOP; END',
  ],
  [
    'BEGIN -- public.t\n PERFORM public.f(); /* public.u /* public.v */ */ RETURN; END',
    'BEGIN -- public.t\n PERFORM f(); /* public.u /* public.v */ */ RETURN; END',
  ],
  [
    `BEGIN PERFORM nextval('public.s'), 'public."A"'::regclass, currval('public.s'::pg_catalog.regclass); END`,
    `BEGIN PERFORM nextval('s'), '"A"'::regclass, currval('s'::pg_catalog.regclass); END`,
  ],
  [
    "BEGIN RAISE NOTICE 'public.x %', public.f() USING HINT = 'x'; RAISE 'public.y'; END",
    "BEGIN RAISE NOTICE 'public.x %', f() USING HINT = 'x'; RAISE 'public.y'; END",
  ],
  [
    'BEGIN INSERT INTO public.loop(a) VALUES (public.user()); END',
    'BEGIN INSERT INTO "loop"(a) VALUES ("user"()); END',
  ],
  ['BEGIN NEW.public := public.f(OLD.public); END', 'BEGIN NEW.public := f(OLD.public); END'],
  // A column of a table that has the schema's name.
  ['DECLARE x public.id%TYPE; BEGIN PERFORM public.f(); END', 'DECLARE x public.id%TYPE; BEGIN PERFORM f(); END'],
  // SQL that is a string is run as it stands.
  [
    "BEGIN PERFORM public.f(); EXECUTE 'SELECT public.x'; END",
    "BEGIN PERFORM f(); EXECUTE 'SELECT public.x'; END",
    'some',
  ],
  ['BEGIN EXECUTE $q$ SELECT public.x $q$; END', 'BEGIN EXECUTE $q$ SELECT public.x $q$; END', 'some'],
  ["BEGIN EXECUTE format('SELECT public.%I', a); END", "BEGIN EXECUTE format('SELECT public.%I', a); END", 'some'],
  ["BEGIN PERFORM nextval(E'public.s'); END", "BEGIN PERFORM nextval(E'public.s'); END", 'some'],
  // The schema's name may be that of something else.
  [
    'BEGIN PERFORM public.a FROM public.t AS public; END',
    'BEGIN PERFORM public.a FROM public.t AS public; END',
    'some',
  ],
  ['DECLARE public record; BEGIN RETURN public.a; END', 'DECLARE public record; BEGIN RETURN public.a; END', 'some'],
  [
    '<<public>> DECLARE a int; BEGIN RETURN public.a; END',
    '<<public>> DECLARE a int; BEGIN RETURN public.a; END',
    'some',
  ],
  ['BEGIN PERFORM public.a FROM app.public; END', 'BEGIN PERFORM public.a FROM app.public; END', 'some'],
  // The name would mean something else.
  [
    'BEGIN RETURN QUERY WITH t AS (SELECT 1), u AS (SELECT * FROM public.t) SELECT * FROM u; END',
    'BEGIN RETURN QUERY WITH t AS (SELECT 1), u AS (SELECT * FROM public.t) SELECT * FROM u; END',
    'some',
  ],
  [
    'BEGIN CREATE TEMP TABLE IF NOT EXISTS t AS SELECT * FROM public.t; END',
    'BEGIN CREATE TEMP TABLE IF NOT EXISTS t AS SELECT * FROM public.t; END',
    'some',
  ],
  ['DECLARE t record; x public.t.id%TYPE; BEGIN END', 'DECLARE t record; x public.t.id%TYPE; BEGIN END', 'some'],
  ['DECLARE x public.point; BEGIN END', 'DECLARE x public.point; BEGIN END', 'some'],
  // Asked for by its name, which stays; elsewhere the same word is a value.
  [
    "BEGIN RETURN x FROM pg_tables WHERE schemaname = 'public'; END",
    "BEGIN RETURN x FROM pg_tables WHERE schemaname = 'public'; END",
    'some',
  ],
  [
    "BEGIN EXECUTE format('DROP TABLE %I.%I', 'public', x); END",
    "BEGIN EXECUTE format('DROP TABLE %I.%I', 'public', x); END",
    'some',
  ],
  ['BEGIN SET LOCAL search_path TO app, public; END', 'BEGIN SET LOCAL search_path TO app, public; END', 'some'],
  ["BEGIN RETURN public.f() WHERE seen_by = 'public'; END", "BEGIN RETURN f() WHERE seen_by = 'public'; END"],
  ['BEGIN RETURN public.lower(1); END', 'BEGIN RETURN public.lower(1); END', 'some'],
  ['BEGIN RETURN 1 OPERATOR(public.+) 1; END', 'BEGIN RETURN 1 OPERATOR(public.+) 1; END', 'some'],
  ['BEGIN RETURN x FROM public.lower; END', 'BEGIN RETURN x FROM lower; END'],
]

const known = {
  ...noKnownNames,
  findBuiltIn: async (names: readonly string[]) => ({
    functions: new Set(names.filter((name) => name === 'lower')),
    others: new Set(names.filter((name) => name === 'point' || name === '+')),
  }),
}

test.for(BODIES)('in PL/pgSQL: %s', async ([body, mapped, left]) => {
  const statement = (name: string, text: string) =>
    `CREATE FUNCTION ${name}() RETURNS int LANGUAGE plpgsql AS $body$${text}$body$`
  expect(await createPreparation(() => map, known)(statement('public.fun', body))).toEqual({
    text: statement('"shop.live".fun', mapped),
    ...(left === undefined ? {} : { leavesBodyOf: 'fun' }),
    ...(mapped === body ? {} : { losesSchemaOf: 'fun' }),
  })
})

test('an argument of the name of the schema leaves a body as it is', async () => {
  const named = 'CREATE FUNCTION f(public t) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN public.a; END $$'
  expect(await prepare(named)).toEqual({ text: named, leavesBodyOf: 'f' })
})

test('a WITH in a body in SQL that would hide a table leaves the body as it is', async () => {
  const sql = 'WITH t AS (SELECT 1 AS a) SELECT t.a FROM public.t AS other, t'
  const named = `CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ ${sql} $$`
  expect(await prepare(named)).toEqual({ text: named, leavesBodyOf: 'f' })
})

test('an immutable function whose body lost the schema gets the stage as its search path', async () => {
  const statement = (path: string, call: string) =>
    `CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql IMMUTABLE ${path}AS $$ BEGIN RETURN ${call}; END $$`
  expect(await prepare(statement('', 'public.g()'))).toEqual({
    text: statement('SET search_path TO "shop.live", "extensions" ', 'g()'),
  })
})

test('blocks are run with the names of the stage, and named where they hold SQL as strings', async () => {
  expect(await prepare(`DO $$ BEGIN PERFORM public.f(), nextval('public.s'); END $$`)).toEqual({
    text: `DO $$ BEGIN PERFORM "shop.live".f(), nextval('"shop.live".s'); END $$`,
  })
  const dynamic = `DO LANGUAGE plpgsql 'BEGIN EXECUTE ''SELECT public.f()''; END'`
  expect(await prepare(dynamic)).toEqual({ text: dynamic, leavesBodyOf: 'DO' })
})

test('a body in another language stays as it is, and is named where it has the schema', async () => {
  const named = 'CREATE FUNCTION public.f() RETURNS int LANGUAGE plperl AS $$ spi_query("SELECT * FROM public.t") $$'
  expect(await prepare(named)).toEqual({ text: named.replace('public.f', '"shop.live".f'), leavesBodyOf: 'f' })
  expect(await prepare(named.replace('public.t', 't'))).not.toHaveProperty('leavesBodyOf')
})

test('names of extensions get the schema in which the database has them, wherever the dump has them', async () => {
  const has = new Map([...['citext', 'similarity', '%>', 'gin_trgm_ops'].map((name) => [name, 'extensions'] as const)])
  const find = async (names: readonly string[]) => new Map([...has].filter(([name]) => names.includes(name)))
  const withExtensions = createPreparation(() => map, { ...known, find })
  const mapped = async (text: string) => (await withExtensions(text)).text.replaceAll('"shop.live"', '@')
  expect(await mapped('CREATE TABLE public.t (a public.citext, b public.mood)')).toBe(
    'CREATE TABLE @.t (a "extensions".citext, b @.mood)',
  )
  expect(await mapped('CREATE INDEX i ON public.t USING gin (a public.gin_trgm_ops)')).toBe(
    'CREATE INDEX i ON @.t USING gin (a "extensions".gin_trgm_ops)',
  )
  expect(await mapped("SELECT 1 OPERATOR(public.%>) 2, 'public.citext'::regtype")).toBe(
    `SELECT 1 OPERATOR("extensions".%>) 2, '"extensions".citext'::regtype`,
  )
  expect(await mapped('CREATE FUNCTION public.similarity(public.citext) RETURNS int RETURN 1')).toBe(
    'CREATE FUNCTION @.similarity("extensions".citext) RETURNS int RETURN 1',
  )
  expect(
    await mapped(
      'CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS $$ SELECT public.similarity(a) FROM public.t $$',
    ),
  ).toBe('CREATE FUNCTION @.f() RETURNS int LANGUAGE sql AS $$ SELECT "extensions".similarity(a) FROM t $$')
})

test('names are looked for in no time that grows with the square of a text: of spaces, or of quotes that nothing closes', async () => {
  const spaces = createPreparation(() => ({ ...map, schema: ' ' }))
  const text = `SELECT '${' '.repeat(1_000_000)}' FROM " ".t`
  expect((await spaces(text)).text).toBe(text.replace('" "', '"shop.live"'))

  const columns = [{ index: 0, isArray: true }]
  const inserts = createPreparation(() => map, { ...known, findNameColumns: async () => columns })
  const array = `{public.t,"${'\\"'.repeat(30_000)}`
  const { text: mapped } = await inserts(`INSERT INTO public.u VALUES ('${array}')`)
  expect(mapped).toBe(`INSERT INTO "shop.live".u VALUES ('${array.replace('public.t', '"\\"shop.live\\".t"')}')`)
})

test('brackets of a body that nothing closes are walked along once', async () => {
  const body = `BEGIN public.t${', a('.repeat(6_500)}`
  const { text } = await prepare(`CREATE FUNCTION public.f() RETURNS int LANGUAGE plpgsql AS $$ ${body} $$`)
  expect(text).toContain(body.replace('public.t', 't'))
})

test('a table whose columns have changed is looked at again', async () => {
  const columns = [{ index: 0, isArray: false }]
  const inserts = createPreparation(() => map, { ...known, findNameColumns: async () => columns.splice(0) })
  const insert = "INSERT INTO public.u VALUES ('public.t')"
  const stage = `"shop.live"`
  expect((await inserts(insert)).text).toBe(`INSERT INTO ${stage}.u VALUES ('${stage}.t')`)
  expect((await inserts(insert)).text).toBe(`INSERT INTO ${stage}.u VALUES ('${stage}.t')`)
  await inserts('ALTER TABLE public.u ALTER a TYPE text')
  expect((await inserts(insert)).text).toBe(`INSERT INTO ${stage}.u VALUES ('public.t')`)
})
