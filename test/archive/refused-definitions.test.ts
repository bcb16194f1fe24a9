import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildArchive, column } from '../support/archives/archive-builder.ts'
import { comparableLines, exportOf, sendArchive } from '../support/archives/import.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const LONG_LIST = Array.from({ length: 6_000 }, (_, at) => at).join(', ')

/** Definitions that PostgreSQL takes, and that an import refuses. */
const SCRIPT = `
  CREATE SEQUENCE counter;
  CREATE DOMAIN setting AS text DEFAULT set_config('a.b', 'c', true)
    CONSTRAINT acts CHECK (set_config('a.b', VALUE, true) <> '') CONSTRAINT honest CHECK (VALUE <> 'x');
  CREATE TABLE thing (
    id integer PRIMARY KEY,
    told text DEFAULT set_config('a.b', 'c', true),
    moved bigint DEFAULT setval('counter', 7),
    object oid DEFAULT lo_create(0),
    kind setting,
    listed boolean GENERATED ALWAYS AS (id IN (${LONG_LIST})) STORED,
    at timestamptz DEFAULT now(),
    next bigint DEFAULT nextval('counter'),
    zone text DEFAULT current_setting('timezone'),
    CONSTRAINT acts CHECK (set_config('a.b', id::text, true) <> ''),
    CONSTRAINT long CHECK (id IN (${LONG_LIST})),
    CONSTRAINT honest CHECK (id > -1)
  );
  CREATE INDEX long_index ON thing (told) WHERE id IN (${LONG_LIST});
  CREATE INDEX honest_index ON thing (lower(told)) WHERE id > 3;
  CREATE TABLE described_at_length (id integer PRIMARY KEY);
  CREATE TABLE refers (id integer REFERENCES described_at_length);
  DO $$ BEGIN
    EXECUTE format('COMMENT ON TABLE described_at_length IS %L', repeat('x', 3 * 1024 * 1024));
  END $$;
  INSERT INTO thing (id) VALUES (1), (2);`

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})

afterAll(async () => {
  await wharf?.close()
})

test('what an import would refuse is named as not exported, and the rest can be restored', async () => {
  await createProject(wharf, 'acting', SCRIPT)
  await createProject(wharf, 'restored')
  const json = { projects: [{ slug: 'acting' }], allowIncomplete: true }
  const { text: archive } = await wharf.root.post('/export', { json })
  const stage = archive.split('\n').find((line) => line.startsWith('{"stage":')) ?? '{}'
  const acts = "archives can't have it: its definition must not call a function that acts instead of giving a value"
  const isLong = "archives can't have it: its definition must have at most 6000 words, constants and signs"
  expect(JSON.parse(stage).stage.notExported).toEqual([
    { kind: 'check', name: 'setting.acts', detail: acts },
    { kind: 'check', name: 'thing.acts', detail: acts },
    { kind: 'check', name: 'thing.long', detail: isLong },
    { kind: 'default', name: 'setting', detail: acts },
    { kind: 'default', name: 'thing.moved', detail: acts },
    { kind: 'default', name: 'thing.object', detail: acts },
    { kind: 'default', name: 'thing.told', detail: acts },
    {
      kind: 'foreign key',
      name: 'refers.refers_id_fkey',
      detail: 'needs table described_at_length, which archives do not describe',
    },
    { kind: 'generated column', name: 'thing.listed', detail: `becomes a plain column with its values: ${isLong}` },
    { kind: 'index', name: 'thing.long_index', detail: isLong },
    {
      kind: 'large object',
      name: 'thing.object',
      detail: '2 large objects that the column refers to',
      rows: true,
    },
    {
      kind: 'table',
      name: 'described_at_length',
      detail:
        "archives can't have it: its line is longer than 2097152 bytes, the most that is read; its rows are not exported either",
      rows: true,
    },
  ])
  for (const honest of ['now()', 'nextval(', 'current_setting(', '"honest"', '"honest_index"']) {
    expect(archive).toContain(honest)
  }
  const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=restored&allowIncomplete=true' })
  expect(answer.json).toMatchObject({ ok: true, projects: [{ stages: [{ rows: 2 }] }] })
  const again = await exportOf(wharf.root, 'restored')
  const withoutStage = (text: string): string[] => comparableLines(text).filter((line) => !line.startsWith('{"stage":'))
  expect(withoutStage(again)).toEqual(withoutStage(archive))
})

test('an archive is loaded over the stage that it came from, where that has such definitions', async () => {
  const script = `CREATE TABLE thing (id integer PRIMARY KEY, told text DEFAULT set_config('a.b', 'c', true),
    CONSTRAINT acts CHECK (set_config('a.b', id::text, true) <> '')); INSERT INTO thing VALUES (1)`
  await createProject(wharf, 'in-place', script)
  const answer = await sendArchive(wharf.root, await exportOf(wharf.root, 'in-place'))
  expect(answer.status, answer.text).toBe(200)
  expect(await exportOf(wharf.root, 'in-place')).toContain('thing.acts')
})

/** A stage as somebody wrote it by hand, in words that PostgreSQL does not print. */
const BY_HAND = {
  beforeTables: [
    {
      kind: 'domain' as const,
      content: {
        name: 'small',
        type: 'integer',
        nullable: true,
        default: '1 + (2)',
        checks: [{ name: 'in_range', definition: 'CHECK (VALUE BETWEEN 1 AND 9)' }],
      },
    },
  ],
  tables: [
    {
      name: 'thing',
      columns: [
        column('id', 'integer', { nullable: false }),
        column('size', 'small'),
        column('name', 'character varying(9)', { default: `'a' || 'b'` }),
        column('twice', 'integer', { generated: '(id + (id))' }),
      ],
      primaryKey: { name: 'thing_pkey', definition: 'PRIMARY KEY (id)' },
      checks: [
        { name: 'a', definition: 'CHECK (id NOT BETWEEN 5 AND 7 AND name IN ($q$a$q$))'.replaceAll('$q$', "'") },
        { name: 'b', definition: 'CHECK (id ISNULL OR (id, 1) IN ((1, 1), (2, 1)))' },
      ],
      indexes: [{ name: 'part', definition: 'CREATE INDEX part ON thing USING btree (id) WHERE (id) BETWEEN 1 AND 3' }],
      rows: [[1, 2, 'a']],
    },
  ],
}

test('expressions that PostgreSQL prints in other words are built all the same', async () => {
  await createProject(wharf, 'by-hand')
  const archive = buildArchive({ slug: 'by-hand', stages: [BY_HAND] })
  const answer = await sendArchive(wharf.root, archive)
  expect(answer).toMatchObject({ status: 200, json: { projects: [{ stages: [{ rows: 1 }] }] } })
  const printed = await exportOf(wharf.root, 'by-hand')
  expect(printed).toContain('CHECK (((VALUE >= 1) AND (VALUE <= 9)))')
  expect(printed).toContain('[1, 2, "a"]')
  // And those of a stage that is there are the stage's own.
  expect(await sendArchive(wharf.root, printed)).toMatchObject({ status: 200 })
  expect(comparableLines(await exportOf(wharf.root, 'by-hand'))).toEqual(comparableLines(printed))
})

test('a stage is rebuilt whatever its own expressions are printed as', async () => {
  await createProject(wharf, 'own')
  await applyScript(wharf, 'own', `CREATE TABLE t (s varchar(9) CHECK (s IN ('a', 'b'))); INSERT INTO t VALUES ('a')`)
  const first = await exportOf(wharf.root, 'own')
  for (const round of [1, 2]) {
    const answer = await sendArchive(wharf.root, await exportOf(wharf.root, 'own'))
    expect(answer.status, `round ${round}`).toBe(200)
  }
  expect(await exportOf(wharf.root, 'own')).not.toBe(first)
})
