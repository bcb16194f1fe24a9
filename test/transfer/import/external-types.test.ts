import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { runCommand } from '../../support/cli/cli.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { PAUSE, withPausePoint } from '../../support/database/pause-point.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/processes/processes.ts'
import { installedCluster } from '../../support/servers/installed-cluster.ts'
import { query } from '../../support/servers/sessions.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Types that stay where they are. */
const STAYING = ['amount', 'mood', 'moods', 'place', 'wish']

/** And those that cannot: nothing uses it; a cast, a function or a sequence of the stage; what is not checked; and one of these. */
const ANEW = ['unused', 'level', 'even', 'numbered', 'loose', 'pair']

const TYPES = `
  CREATE TYPE mood AS ENUM ('calm', 'busy');
  CREATE DOMAIN moods AS mood[];
  CREATE DOMAIN amount AS numeric(8, 2) DEFAULT 1 CHECK (VALUE >= 0);
  CREATE TYPE place AS (street text, mood mood);
  CREATE TYPE wish AS ENUM ('much');
  CREATE FUNCTION granted(wish) RETURNS boolean LANGUAGE sql AS 'SELECT true';
  CREATE TYPE unused AS ENUM ('nothing');
  CREATE TYPE level AS ENUM ('low');
  CREATE FUNCTION height(level) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
  CREATE CAST (level AS int) WITH FUNCTION height(level);
  CREATE FUNCTION is_even(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 2 = 0';
  CREATE DOMAIN even AS int CHECK (is_even(VALUE));
  CREATE SEQUENCE number;
  CREATE DOMAIN numbered AS bigint DEFAULT nextval('number');
  CREATE DOMAIN loose AS int;
  CREATE TYPE pair AS (even even, mood mood);
  CREATE TABLE thing (id int PRIMARY KEY, mood mood, moods moods, paid amount, at place, level level, even even,
    number numbered, loose loose, pair pair);
  CREATE TABLE spot OF place;
  CREATE VIEW streets AS SELECT id, (at).street FROM thing WHERE mood = 'calm';
  INSERT INTO thing VALUES (1, 'calm', '{busy}', 2, '(here,calm)', 'low', 2, 7, -1, '(4,busy)');
  ALTER DOMAIN loose ADD CONSTRAINT positive CHECK (VALUE > 0) NOT VALID`

/** Projects, by the schema of their stage: `public`, whose objects move one by one, and those that change their names. */
const SLUGS = { public: 'shop', own: 'shop-own', alone: 'shop-alone', waiting: 'shop-waiting' } as const
type Schema = keyof typeof SLUGS

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(
    `${TYPES}; CREATE SCHEMA own; SET search_path = own; ${TYPES}; CREATE TYPE span AS RANGE (subtype = mood);
     ALTER TABLE thing ADD span span; CREATE SCHEMA alone; SET search_path = alone; CREATE TYPE mood AS ENUM ('calm');
     CREATE TYPE place AS (mood mood); CREATE TABLE thing (mood mood, at place);
     CREATE SCHEMA waiting; SET search_path = waiting; CREATE DOMAIN pausing AS int CHECK (${PAUSE});
     CREATE TABLE thing (n pausing); INSERT INTO thing VALUES (1)`,
    installedCluster()?.createDatabase,
  )
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  for (const [schema, slug] of Object.entries(SLUGS)) {
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema }] }
    const made = await wharf.root.post('/projects', { json: { slug, attach } })
    expect(made.status, made.text).toBe(201)
  }
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const asOwner = <Row extends object>(sql: string): Promise<Row[]> => query(external.owner.href, sql) as Promise<Row[]>

/** The OIDs of the types of a schema, by name. */
async function oids(schema: Schema): Promise<ReadonlyMap<string, number>> {
  const rows = await asOwner<{ name: string; oid: number }>(
    `SELECT typname::text AS name, oid FROM pg_type WHERE typnamespace = '${schema}'::regnamespace ORDER BY 1`,
  )
  return new Map(rows.map(({ name, oid }) => [name, oid]))
}

/** Of the named types, those that have the same OID. */
async function same(schema: Schema, before: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const now = await oids(schema)
  expect([...now.keys()]).toEqual([...before.keys()])
  return [...STAYING, ...ANEW].filter((name) => now.get(name) === before.get(name))
}

/** Structure, owners and rights. */
async function dump(schema: Schema): Promise<string> {
  const lines = comparableLines(await exportOf(wharf.root, SLUGS[schema], { grants: true }))
  const dumped = await installedCluster()?.dump(external.database, schema, ['-s'])
  return [...lines.filter((line) => !line.startsWith('{"row')), dumped?.replace(/^\\(un)?restrict .*$/gm, '')].join(
    '\n',
  )
}

async function importInto(schema: Schema, archive: string): Promise<void> {
  const answer = await sendArchive(wharf.root, archive, { query: `?targetSlug=${SLUGS[schema]}` })
  expect(answer.status, answer.text).toBe(200)
  expect(answer.json).toMatchObject({ projects: [{ stages: [{ undoable: true }] }] })
}

const undo = (schema: Schema) => wharf.root.post(`/projects/${SLUGS[schema]}/stages/live/undo?force=true`)

async function undoWell(schema: Schema): Promise<void> {
  const undone = await undo(schema)
  expect(undone.status, undone.text).toBe(200)
}

test.each(['public', 'own'] as const)(
  'the types of a stage stay where they are, through imports and undos: %s',
  async (schema) => {
    const archive = await exportOf(wharf.root, SLUGS[schema])
    const [before, dumped] = [await oids(schema), await dump(schema)]
    await importInto(schema, archive)
    const first = await oids(schema)
    expect(await same(schema, before)).toEqual(STAYING)
    expect(await dump(schema)).toBe(dumped)
    await asOwner(`UPDATE ${schema}.thing SET paid = 5`)
    await undoWell(schema)
    expect(await oids(schema)).toEqual(before)
    await undoWell(schema)
    expect(await oids(schema)).toEqual(first)
    expect(await asOwner(`SELECT paid::int FROM ${schema}.thing`)).toEqual([{ paid: 5 }])
    await importInto(schema, archive)
    await importInto(schema, archive)
    await undoWell(schema)
    await importInto(schema, archive)
    expect(await same(schema, before)).toEqual(STAYING)
    expect(await dump(schema)).toBe(dumped)
  },
)

test('an import that fails leaves the types where they are', async () => {
  const before = await oids('own')
  const archive = await exportOf(wharf.root, SLUGS.own)
  const broken = archive.replace('"here"', '"her"').replace('(here,calm)', '(her,nobody)')
  expect(broken).not.toBe(archive)
  const answer = await sendArchive(wharf.root, broken, { query: `?targetSlug=${SLUGS.own}&allowEdited=true` })
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(400)
  expect(await oids('own')).toEqual(before)
})

test('an import without a server leaves the types where they are', async () => {
  const before = await oids('own')
  const file = join(await temporaryFolder(), 'own.jsonl')
  const [address, dumped] = [new URL(external.owner), await dump('own')]
  address.searchParams.set('schema', 'own')
  expect((await wharf.root.delete(`/projects/${SLUGS.own}/attachment`)).status).toBe(204)
  expect(await runCommand(['data:export', address.href, '--output', file])).toMatchObject({ code: 0 })
  expect(await runCommand(['data:import', file, address.href, '--yes'])).toMatchObject({ code: 0 })
  expect(await same('own', before)).toEqual(STAYING)
  const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'own' }] }
  expect((await wharf.root.post('/projects', { json: { slug: SLUGS.own, attach } })).status).toBe(201)
  expect(await dump('own')).toBe(dumped)
})

test('what is kept does not come back once a type was changed that it shares with the stage', async () => {
  const changes = [
    `ALTER TYPE public.mood ADD VALUE 'tired'`,
    'REVOKE USAGE ON TYPE public.wish FROM PUBLIC',
    `COMMENT ON TYPE public.mood IS 'of the day'`,
    'ALTER DOMAIN public.amount ADD CONSTRAINT below CHECK (VALUE < 1000)',
    'ALTER TYPE public.place RENAME TO somewhere',
    `CREATE FUNCTION public.mood_number(public.mood) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
     CREATE CAST (public.mood AS int) WITH FUNCTION public.mood_number(public.mood)`,
  ]
  for (const change of changes) {
    const current = await exportOf(wharf.root, SLUGS.public)
    await importInto('public', current)
    // PostgreSQL refuses to alter a type that a table uses which the sweep is dropping: what an earlier import had replaced.
    await eventually(() => asOwner(change).then(String, String)).not.toMatch(/could not open relation/)
    const undone = await undo('public')
    const detail = expect.stringMatching(/a type .* shares .* data:undo --discard lets go of what is kept/)
    expect(undone, change).toMatchObject({ status: 409, json: { detail } })
  }
  // A type that is another one in what is kept is not shared.
  await importInto('public', await exportOf(wharf.root, SLUGS.public))
  await asOwner('DROP FUNCTION public.mood_number(public.mood) CASCADE')
  await undoWell('public')
  await asOwner('DROP FUNCTION public.mood_number(public.mood) CASCADE')
})

test('what is kept is not brought back without what went with a type that was dropped', async () => {
  await importInto('public', await exportOf(wharf.root, SLUGS.public))
  await asOwner('DROP TABLE public.spot; ALTER TABLE public.thing DROP at CASCADE')
  await expect(asOwner('DROP TYPE public.somewhere')).rejects.toThrow(/other objects depend/)
  const before = await oids('public')
  await asOwner('DROP TYPE public.somewhere CASCADE')
  expect(await undo('public')).toMatchObject({
    status: 409,
    json: { detail: expect.stringMatching(/a type .* shares/) },
  })
  expect(before.has('somewhere')).toBe(true)
  expect((await oids('public')).has('somewhere')).toBe(false)
})

test('what is kept can be dropped at once, so that it is in the way of no change to a type', async () => {
  await importInto('public', await exportOf(wharf.root, SLUGS.public))
  await asOwner('DROP FUNCTION public.granted(public.wish)')
  await expect(asOwner('DROP TYPE public.wish')).rejects.toThrow(/other objects depend/)
  const discarded = await wharf.root.delete(`/projects/${SLUGS.public}/stages/live/undo`)
  expect(discarded.status, discarded.text).toBe(204)
  await asOwner('DROP TYPE public.wish')
  expect(await undo('public')).toMatchObject({
    status: 409,
    json: { detail: expect.stringMatching(/nothing to undo/) },
  })
})

test('a type on which there will be other rights is another one, so that an undo brings back the rights as well', async () => {
  const before = [await oids('alone'), await dump('alone')]
  await asOwner('REVOKE USAGE ON TYPE alone.mood FROM PUBLIC')
  const archive = await exportOf(wharf.root, SLUGS.alone, { grants: true })
  await asOwner('GRANT USAGE ON TYPE alone.mood TO PUBLIC')
  await importInto('alone', archive)
  expect(await dump('alone')).not.toBe(before[1])
  expect((await oids('alone')).get('mood')).not.toBe((before[0] as ReadonlyMap<string, number>).get('mood'))
  await undoWell('alone')
  expect([await oids('alone'), await dump('alone')]).toEqual(before)
})

test('who alters a type that an import uses does not wait until it has loaded: the import is given up', async () => {
  const archive = await exportOf(wharf.root, SLUGS.waiting)
  const { superuserUrl: url } = external.database
  const there = { database: { ...external.database, url, query: (sql: string) => query(url, sql) } } as Pick<
    TestWharf,
    'database'
  >
  await withPausePoint(there, async (pausePoint) => {
    const importing = sendArchive(wharf.root, archive, { query: `?targetSlug=${SLUGS.waiting}` })
    const loading = await pausePoint.reached()
    // For a while, nobody else gets a connection.
    const owner = external.owner.username
    await query(url, `ALTER ROLE ${owner} CONNECTION LIMIT 1`)
    await query(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${owner}' AND pid <> ${loading}`,
    )
    await sleep(500)
    await query(url, `ALTER ROLE ${owner} CONNECTION LIMIT -1`)
    await asOwner('ALTER TYPE waiting.pausing RENAME TO renamed')
    expect(await importing).toMatchObject({
      status: 409,
      json: { detail: expect.stringMatching(/waits to change a type/) },
    })
  })
  await eventually(() => asOwner(`SELECT FROM pg_namespace WHERE nspname LIKE 'wharf_new_%'`)).toEqual([])
})
