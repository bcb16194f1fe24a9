import { expect, test } from 'vitest'
import { loadGrammar } from '../../../src/archive/sql/grammar.ts'
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

test('a body in another language stays as it is, and is named where it has the schema', async () => {
  const named = 'CREATE FUNCTION public.f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN public.g(); END $$'
  expect(await prepare(named)).toEqual({ text: named.replace('public.f', '"shop.live".f'), leavesBodyOf: 'f' })
  expect(await prepare(named.replace('public.g', 'g'))).not.toHaveProperty('leavesBodyOf')
})

test('names of extensions get the schema in which the database has them, wherever the dump has them', async () => {
  const has = new Map([...['citext', 'similarity', '%>', 'gin_trgm_ops'].map((name) => [name, 'extensions'] as const)])
  const find = async (names: readonly string[]) => new Map([...has].filter(([name]) => names.includes(name)))
  const withExtensions = createPreparation(() => map, { find })
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
