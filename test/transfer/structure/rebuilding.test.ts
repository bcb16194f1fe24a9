import { afterAll, beforeAll, expect, test } from 'vitest'
import { toEntry } from '../../../src/archive/lines.ts'
import { loadGrammar } from '../../../src/archive/sql/grammar.ts'
import { builtDifferences } from '../../../src/transfer/structure/compare-built.ts'
import { createStatements, type StructureLines } from '../../../src/transfer/structure/create-statements.ts'
import { inCreationOrder } from '../../../src/transfer/structure/creation-order.ts'
import { type OrderedLine, tablesIn, typesIn } from '../../../src/transfer/structure/lines.ts'
import {
  readStructure,
  type StageStructure,
  tablesOf,
  toLines,
} from '../../../src/transfer/structure/read-structure.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { openStage, type StageSession } from '../../support/database/stage-session.ts'

let database: TestDatabase
let stage: StageSession
let structure: StageStructure

beforeAll(async () => {
  database = await createTestDatabase()
  stage = await openStage(database.url, 'first "stage"')
  await stage.runFixture('structures.sql')
  structure = await readStructure(stage.query, 'first "stage"')
})

afterAll(async () => {
  await stage?.end()
  await database?.drop()
})

const table = (name: string) => tablesOf(structure).find(({ line }) => line.name === name)?.line
const column = (tableName: string, name: string) => table(tableName)?.columns.find((each) => each.name === name)

test('a stage built from its lines has the same lines', async () => {
  const second = await openStage(database.url, 'second')
  await second.build(toLines(structure))
  expect(toLines(await readStructure(second.query, 'second'))).toEqual(toLines(structure))
  await second.end()
})

test('what came with PostgreSQL 18 is rebuilt too', async () => {
  const statements = [
    'CREATE TABLE modern (id int4range NOT NULL, at daterange, n integer, PRIMARY KEY (id, at WITHOUT OVERLAPS))',
    'ALTER TABLE modern ADD twice integer GENERATED ALWAYS AS (n * 2) VIRTUAL',
    'ALTER TABLE modern ADD CONSTRAINT told CHECK (n > 0) NOT ENFORCED',
    'ALTER TABLE modern ADD FOREIGN KEY (id, PERIOD at) REFERENCES modern (id, PERIOD at)',
    'ALTER TABLE modern ADD CONSTRAINT unchecked NOT NULL n NOT VALID',
  ]
  const [old, fresh] = [await openStage(database.url, 'old'), await openStage(database.url, 'fresh')]
  await old.run(statements)
  const original = await readStructure(old.query, 'old')
  await fresh.build(toLines(original))
  expect(toLines(await readStructure(fresh.query, 'fresh'))).toEqual(toLines(original))
  expect(tablesOf(original)[0]?.line.columns).toMatchObject([{}, {}, { nullable: true }, { generatedKind: 'virtual' }])
  expect(original.notExported).toEqual([])
  await Promise.all([old.end(), fresh.end()])
})

test('lines of versions before 18, which have no names for NOT NULL, are rebuilt whatever the names of tables and checks', async () => {
  const long = `customer_${'subscription_'.repeat(2)}billing_history`
  const notNull = [{ name: `${long}_id`, type: 'integer', nullable: false }]
  const check = { name: 'users_email_not_null', definition: 'CHECK ((email IS NOT NULL))' }
  const tables = [
    { name: long, columns: notNull },
    { name: 'users', columns: [{ name: 'email', type: 'text', nullable: false }], checks: [check] },
  ]
  const inOrder = tables.map((content) => ({ kind: 'table' as const, content }))
  const lines = { extensions: [], sequences: [], inOrder }
  const session = await openStage(database.url, 'named')
  await session.build(lines)
  const built = toLines(await readStructure(session.query, 'named'))
  expect(await builtDifferences(await loadGrammar(), lines, built)).toEqual([])
  expect(tablesIn(built).map(({ columns, checks }) => [columns[0]?.nullable, checks?.length])).toEqual([
    [false, undefined],
    [false, 1],
  ])
  await session.end()
})

test('lines of earlier versions, which do not say when views and domains get their second steps, are rebuilt', async () => {
  const called = (name: string, types: string, returns: string, body: string): OrderedLine => {
    const definition = `CREATE OR REPLACE FUNCTION ${name}(${types})\n RETURNS ${returns}\n LANGUAGE sql\n IMMUTABLE\nAS $function$${body}$function$\n`
    return { kind: 'function', content: { name, arguments: types, kind: 'function', definition } }
  }
  const check = { name: 'fits', definition: 'CHECK (fits(VALUE))' }
  const lines: StructureLines = {
    extensions: [],
    sequences: [],
    inOrder: [
      { kind: 'domain', content: { name: 'a_domain', type: 'integer', nullable: true, checks: [check] } },
      called('fits', 'integer', 'boolean', 'SELECT $1 > 0'),
      { kind: 'table', content: { name: 't', columns: [{ name: 'd', type: 'a_domain', nullable: true }] } },
      called('of_view', 'v', 'integer', 'SELECT $1.n'),
      {
        kind: 'view',
        content: {
          name: 'v',
          columns: [{ name: 'n', type: 'integer' }],
          definition: ' SELECT of_view(ROW(1)::v) AS n\n   FROM t',
        },
      },
    ],
  }
  const session = await openStage(database.url, 'earlier')
  await session.build(lines)
  const built = toLines(await readStructure(session.query, 'earlier'))
  expect(await builtDifferences(await loadGrammar(), lines, built)).toEqual([])
  expect(built.inOrder.map(({ kind }) => kind)).toEqual([
    ...(['function', 'domain', 'table', 'view', 'function', 'secondStep'] as const),
  ])
  await session.end()
})

test('a table that is made in two steps is whole before its rows come', async () => {
  const session = await openStage(database.url, 'own rows')
  await session.run([
    'CREATE TABLE own (n integer)',
    `CREATE FUNCTION of_own(own) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1.n'`,
    'ALTER TABLE own ADD COLUMN g integer GENERATED ALWAYS AS (of_own(ROW(n, NULL))) STORED',
    'ALTER TABLE own ADD COLUMN z text',
  ])
  const lines = toLines(await readStructure(session.query, 'own rows'))
  expect(lines.inOrder.map(({ kind }) => kind)).toEqual(['table', 'function', 'secondStep'])
  expect(createStatements(lines).before.at(-1)).toContain('ADD COLUMN "z" text')
  await session.end()
})

test('tables get keys and indexes of columns as soon as they have rows, and what calls functions after all rows', async () => {
  const session = await openStage(database.url, 'indexes')
  await session.run([
    'CREATE TABLE plain (id integer PRIMARY KEY, "a (b" text, c text UNIQUE)',
    'CREATE INDEX one ON plain ("a (b" text_pattern_ops DESC, c) INCLUDE (id) WITH (fillfactor = 70)',
    'CREATE UNIQUE INDEX "WHERE (" ON plain USING btree (c) NULLS NOT DISTINCT',
    'CREATE INDEX two ON plain (lower(c))',
    'CREATE INDEX three ON plain (c) WHERE id > 0',
    'CREATE INDEX four ON plain (c COLLATE "C")',
    'CREATE TABLE whole (id integer PRIMARY KEY, at date)',
    'CREATE INDEX five ON whole (at)',
    'CREATE TABLE counted (id integer, at date)',
    'CREATE STATISTICS both_columns ON id, at FROM counted',
  ])
  const { families, after } = createStatements(toLines(await readStructure(session.query, 'indexes')))
  const first = (statements: readonly string[]) => statements.map((each) => each.split(' ').slice(0, 6).join(' '))
  expect(families.map(({ tables, statements, isWhole }) => [tables[0]?.name, isWhole, first(statements)])).toEqual([
    ['counted', false, []],
    [
      'plain',
      false,
      [
        'ALTER TABLE ONLY "plain" ADD CONSTRAINT',
        'ALTER TABLE ONLY "plain" ADD CONSTRAINT',
        'CREATE UNIQUE INDEX "WHERE (" ON',
        'CREATE INDEX one ON plain USING',
      ],
    ],
    ['whole', true, ['ALTER TABLE ONLY "whole" ADD CONSTRAINT', 'CREATE INDEX five ON whole USING']],
  ])
  expect(first(after)).toEqual(['four', 'three', 'two'].map((name) => `CREATE INDEX ${name} ON plain USING`))
  await session.end()
})

test('partitions get keys when all of them have rows, after the partitioned table', async () => {
  const session = await openStage(database.url, 'related')
  await session.run([
    'CREATE TABLE part (id integer PRIMARY KEY) PARTITION BY LIST (id)',
    'CREATE TABLE low PARTITION OF part FOR VALUES IN (1)',
    'CREATE TABLE high PARTITION OF part FOR VALUES IN (2)',
  ])
  const { families } = createStatements(toLines(await readStructure(session.query, 'related')))
  expect(families.map(({ tables }) => tables.map(({ name }) => name))).toEqual([['part', 'high', 'low']])
  expect(families[0]?.statements.map((each) => /ONLY "(\w+)"/.exec(each)?.[1])).toEqual(['part', 'high', 'low'])
  await session.end()
})

test('what no order makes is named, with what needs it, and the rest is built', async () => {
  const [old, fresh] = [await openStage(database.url, 'impossible'), await openStage(database.url, 'possible')]
  await old.run([
    'CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN $1',
    'CREATE FUNCTION g(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN f($1)',
    'CREATE OR REPLACE FUNCTION f(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN g($1)',
    'CREATE TABLE calls (n integer, m integer GENERATED ALWAYS AS (g(n)) STORED)',
    'CREATE TABLE parent (n integer)',
    'CREATE TABLE child () INHERITS (parent)',
    `CREATE FUNCTION of_child(child) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1'`,
    'ALTER TABLE child ADD COLUMN m integer GENERATED ALWAYS AS (of_child(NULL)) STORED',
    'CREATE TABLE keyed (id integer PRIMARY KEY, n integer)',
    'CREATE MATERIALIZED VIEW by_key AS SELECT id, n FROM keyed GROUP BY id',
    'CREATE TABLE of_key (k by_key)',
  ])
  const structure = await readStructure(old.query, 'impossible')
  const circle = 'it and what it needs need each other, so none can be made first'
  expect(structure.notExported.map(({ kind, name, detail }) => [kind, name, detail])).toEqual([
    ['function', 'f(integer)', circle],
    ['function', 'g(integer)', circle],
    [
      'generated column',
      'calls.m',
      'becomes a plain column with its values: needs function g(integer), which archives do not describe',
    ],
    ['generated column', 'child.m', `becomes a plain column with its values: ${circle}`],
    ['materialized view', 'by_key', 'a table needs it, and it needs a key, which is made after the rows'],
    ['table', 'of_key', 'needs type by_key, which archives do not describe; its rows are not exported either'],
  ])
  await fresh.build(toLines(structure))
  expect(toLines(await readStructure(fresh.query, 'possible'))).toEqual(toLines(structure))
  await Promise.all([old.end(), fresh.end()])
})

test('the lines leave nothing of it out', () => {
  expect(structure.notExported).toEqual([])
})

test('lines never name the schema', () => {
  expect(JSON.stringify(toLines(structure))).not.toContain('first')
})

test('every line is one that archives take, as it is', () => {
  const { inOrder, sequences } = toLines(structure)
  const entries = [...inOrder, ...sequences.map((content) => ({ kind: 'sequence' as const, content }))]
  for (const { kind, content } of entries) {
    expect(toEntry(kind, content), content.name).toMatchObject({ success: true, entry: { kind, content } })
  }
})

test('a sequence keeps its limits, where it stands, and whom it belongs to', () => {
  expect(structure.sequences.find(({ name }) => name === 'Zähler')).toEqual({
    name: 'Zähler',
    type: 'smallint',
    start: '21',
    increment: '-3',
    min: '-300',
    max: '30',
    cache: '7',
    cycle: true,
    // Seven were drawn at once, as its cache has it.
    value: '3',
    called: true,
    ownedBy: { table: "Zähler's", column: 'id' },
    comment: 'counts down',
  })
  expect(structure.sequences.find(({ name }) => name === 'untouched')).toMatchObject({ value: '42', called: false })
  expect(structure.sequences.find(({ name }) => name === 'large')).toMatchObject({ value: '9223372036854775807' })
})

test('an identity carries its sequence, which has no line of its own', () => {
  expect(column('Parent', 'id')?.identity).toEqual({
    generation: 'always',
    sequence: {
      name: 'Parent ids',
      start: '10',
      increment: '5',
      min: '1',
      max: '500',
      cache: '1',
      cycle: true,
      value: '20',
      called: true,
      comment: 'its numbers',
    },
  })
  expect(structure.sequences.map(({ name }) => name)).not.toContain('Parent ids')
})

test('columns say what is not as their type has it', () => {
  expect(column('Child', 'group')).toEqual({
    name: 'group',
    type: 'text',
    nullable: true,
    default: 'CURRENT_USER',
    collation: '"C"',
    storage: 'external',
  })
  expect(column('Child', 'area')).toMatchObject({ type: 'numeric(12,3)', generatedKind: 'stored' })
  expect(column('Child', 'area')).not.toHaveProperty('default')
  expect(column('Child', 'moods')).toMatchObject({ type: '"Mood, ""odd"" 😀"[]', nullable: false })
  expect(column('Child', 'word')).toMatchObject({ type: 'character(7)', statistics: 250 })
})

test('constraints and indexes are defined as PostgreSQL prints them, with their storage parameters', () => {
  expect(table('Child')).toMatchObject({
    primaryKey: { name: 'Child key', definition: "PRIMARY KEY (id, parent) WITH (fillfactor='70')" },
    unique: [
      {
        name: 'deferred key',
        definition:
          "UNIQUE (code) INCLUDE (mood) WITH (fillfactor='80', deduplicate_items='off') DEFERRABLE INITIALLY DEFERRED",
      },
      { name: 'no two', definition: 'UNIQUE NULLS NOT DISTINCT ("group")' },
    ],
    foreignKeys: [
      { name: 'Child→Parent', references: 'Parent', comment: 'goes with it' },
      { name: 'by both', references: 'Parent' },
    ],
    checks: [{ name: 'share "is" small' }, { name: 'unchecked', definition: 'CHECK ((bits IS NOT NULL)) NOT VALID' }],
    exclusions: [{ name: 'apart' }],
  })
  expect(table('Child')?.indexes?.map(({ name }) => name)).toContain('by lower word')
})

test('types come after the types that they are made of', () => {
  const names = typesIn(toLines(structure)).map(({ content }) => content.name)
  expect(names.indexOf('z_inner')).toBeGreaterThan(names.indexOf('percentage'))
  expect(names.indexOf('a_outer')).toBeGreaterThan(names.indexOf('z_inner'))
  expect(names.indexOf('Composite')).toBeGreaterThan(names.indexOf('a_outer'))
})

test('tables come after those that their foreign keys and row types name, else by name', () => {
  const names = tablesOf(structure).map(({ line }) => line.name)
  expect(names.indexOf('Child')).toBeGreaterThan(names.indexOf('Parent'))
  expect(names.indexOf('a_row_holder')).toBeGreaterThan(names.indexOf('Parent'))
  expect(names.indexOf('a_refers_to_plain_index')).toBeGreaterThan(names.indexOf('plain_index'))
  expect(names.indexOf('a_on_circle')).toBeGreaterThan(names.indexOf('circle_b'))
})

const ORDERS: readonly [
  what: string,
  things: Record<string, { needs?: string; prefers?: string }>,
  expected: string,
][] = [
  ['by name', { b: {}, a: {}, B: {} }, 'B a b'],
  ['after what it needs', { a: { needs: 'b' }, b: { needs: 'c' }, c: {} }, 'c b a'],
  ['after its parents', { a: { prefers: 'c' }, b: {}, c: {} }, 'b c a'],
  ['not after itself', { a: { prefers: 'a' }, b: {} }, 'a b'],
  [
    'a circle is cut, what hangs on it waits',
    { a: { prefers: 'b' }, b: { prefers: 'c' }, c: { prefers: 'b' } },
    'b a c',
  ],
  ['need goes before preference', { a: { needs: 'b' }, b: { prefers: 'a' } }, 'b a'],
  ['a circle of needs ends', { a: { needs: 'b' }, b: { needs: 'a' }, c: { needs: 'a' } }, 'a b c'],
  ['what is not there is not waited for', { a: { needs: 'x', prefers: 'y' } }, 'a'],
]

test.each(ORDERS)('order: %s', (_, things, expected) => {
  const orderable = Object.entries(things).map(([name, { needs = '', prefers = '' }]) => {
    return { key: name, name, needs: new Set(needs.split(' ')), prefers: new Set(prefers.split(' ')) }
  })
  expect(inCreationOrder(orderable).map(({ name }) => name)).toEqual(expected.split(' '))
})

test('a schema that is not there is named', async () => {
  await expect(readStructure(stage.query, 'nowhere')).rejects.toThrow('there is no schema "nowhere"')
})
