import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Definition, findDefinitionFault } from '../../../src/archive/sql/definition.ts'
import { type Grammar, loadGrammar } from '../../../src/archive/sql/grammar.ts'
import { compareDefinitions } from '../../../src/archive/sql/same-definition.ts'
import { builtDifferences } from '../../../src/transfer/structure/compare-built.ts'
import type { StructureLines } from '../../../src/transfer/structure/create-statements.ts'
import { type TableLine, tablesIn } from '../../../src/transfer/structure/lines.ts'
import { readStructure, toLines } from '../../../src/transfer/structure/read-structure.ts'
import { column } from '../../support/archives/archive-builder.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { openStage } from '../../support/database/stage-session.ts'
import { type InstalledCluster, installedCluster } from '../../support/servers/installed-cluster.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'

let grammar: Grammar
let database: TestDatabase
let older: InstalledCluster | undefined

beforeAll(async () => {
  grammar = await loadGrammar()
  database = await createTestDatabase()
  older = installedCluster()
})

afterAll(async () => {
  await database?.drop()
})

const TYPE: Definition = { form: 'type' }
const EXPRESSION: Definition = { form: 'expression' }
const CHECK: Definition = { form: 'constraint', kind: 'check' }
const INDEX: Definition = { form: 'index', name: 'i', table: 't' }

test.each([
  [TYPE, 'varchar(3)', 'character varying(3)'],
  [TYPE, 'int', 'integer'],
  [TYPE, 'numeric(5)', 'numeric(5,0)'],
  [TYPE, 'timestamptz', 'timestamp with time zone'],
  [EXPRESSION, '-1', `'-1'::integer`],
  [EXPRESSION, `'a'`, `'a'::text`],
  [EXPRESSION, 'pg_catalog.now()', 'now()'],
  [CHECK, 'CHECK (a IN (1, 2))', 'CHECK ((a = ANY (ARRAY[1, 2])))'],
  [
    CHECK,
    `CHECK (((s)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[])))`,
    `CHECK (((s)::text = ANY (ARRAY[('a'::character varying)::text, ('b'::character varying)::text])))`,
  ],
] as const)('%o is the same whether it is %s or %s', (definition, a, b) => {
  expect(compareDefinitions(grammar, a, b, definition)).toBe('none')
})

test.each([
  [TYPE, 'varchar(3)', 'varchar(4)'],
  [TYPE, 'integer', 'integer[]'],
  [EXPRESSION, '1', '2'],
  [EXPRESSION, `'a'`, 'a'],
  [EXPRESSION, 'f(1)', 'g(1)'],
  [CHECK, 'CHECK (a > 1)', 'CHECK (a >= 1)'],
  [CHECK, 'CHECK (a > 1)', 'CHECK (b > 1)'],
  [CHECK, 'CHECK (a > 1)', 'CHECK (a > 1) NO INHERIT'],
  [
    { form: 'constraint', kind: 'foreign key' },
    'FOREIGN KEY (a) REFERENCES t',
    'FOREIGN KEY (a) REFERENCES t ON DELETE CASCADE',
  ],
  [{ form: 'constraint', kind: 'unique' }, 'UNIQUE (a)', 'UNIQUE (a) DEFERRABLE'],
] as const)('%o is not the same: %s and %s', (definition, a, b) => {
  expect(compareDefinitions(grammar, a, b, definition)).not.toBe('none')
})

/** Expressions of which one is inside the other so many times. */
const NESTED: readonly (readonly [name: string, nested: (levels: number) => string])[] = [
  ['NOT', (levels) => `${'NOT '.repeat(levels)}a`],
  ['IS NULL', (levels) => `a${' IS NULL'.repeat(levels)}`],
  ['calls', (levels) => `${'abs('.repeat(levels)}a${')'.repeat(levels)}`],
  ['arrays', (levels) => `${'ARRAY['.repeat(levels)}a${']'.repeat(levels)}`],
  ['signs', (levels) => `${'~ '.repeat(levels)}a`],
  ['casts', (levels) => `a${'::text'.repeat(levels)}`],
  ['operators', (levels) => `a${' || b'.repeat(levels)}`],
  [
    'NOT behind BETWEEN',
    (levels) => `${'a BETWEEN 1 AND (NOT NOT NOT NOT '.repeat(levels / 4)}a${')'.repeat(levels / 4)}`,
  ],
]

test.each(NESTED)('%s may be nested as deep as can be compared, and no deeper', (_name, nested) => {
  expect(findDefinitionFault(grammar, nested(1300), EXPRESSION)).toBe('is nested too deeply')
  const accepted = Array.from({ length: 30 }, (_, at) => nested((at + 1) * 40)).filter(
    (text) => findDefinitionFault(grammar, text, EXPRESSION) === undefined,
  )
  expect(accepted.length).toBeGreaterThan(1)
  const deepest = accepted.at(-1) ?? ''
  expect(compareDefinitions(grammar, deepest, `(${deepest})`, EXPRESSION)).toBe('none')
  expect(compareDefinitions(grammar, deepest, `(${deepest}) + 1`, EXPRESSION)).not.toBe('none')
  // What PostgreSQL printed was not checked before.
  expect(compareDefinitions(grammar, nested(1300), nested(1296), EXPRESSION)).toBe('more')
})

test('others get a turn between two definitions that are compared', async () => {
  const list = Array.from({ length: 2_000 }, (_, at) => at).join(', ')
  const linesWith = (check: string): StructureLines => ({
    extensions: [],
    sequences: [],
    inOrder: [
      {
        kind: 'table',
        content: {
          name: 't',
          columns: [column('a', 'integer')],
          checks: Array.from({ length: 30 }, (_, at) => ({ name: `c${at}`, definition: check })),
        },
      },
    ],
  })
  let turns = 0
  const others = setInterval(() => {
    turns += 1
  })
  const built = linesWith(`CHECK ((a = ANY (ARRAY[${list}])))`)
  expect(await builtDifferences(grammar, linesWith(`CHECK (a IN (${list}))`), built)).toEqual([])
  clearInterval(others)
  expect(turns).toBeGreaterThan(5)
})

test.each([
  ['expressions', EXPRESSION, '1', '2'],
  ['expressions', CHECK, 'CHECK (a BETWEEN 1 AND 2)', 'CHECK (((a >= 1) AND (a <= 2)))'],
  ['more', CHECK, 'CHECK (a > 1) NOT VALID', 'CHECK (a > 2)'],
  ['more', CHECK, 'CHECK (a > 1) NOT ENFORCED', 'CHECK (a > 1)'],
  ['more', { form: 'partition key' }, 'LIST (a)', 'RANGE (a)'],
  ['expressions', { form: 'partition key' }, 'LIST (f(a))', 'LIST (g(a))'],
  ['more', { form: 'partition bound' }, 'FOR VALUES IN (1)', 'FOR VALUES IN (1, 2)'],
  ['more', { form: 'partition bound' }, 'FOR VALUES FROM (1) TO (2)', 'FOR VALUES FROM (1) TO (3)'],
  [
    'more',
    { form: 'partition bound' },
    'FOR VALUES WITH (modulus 2, remainder 0)',
    'FOR VALUES WITH (modulus 2, remainder 1)',
  ],
  ['more', { form: 'partition bound' }, 'DEFAULT', 'FOR VALUES IN (1)'],
  ['more', { form: 'constraint', kind: 'unique' }, 'UNIQUE (a)', 'UNIQUE (b)'],
  ['expressions', INDEX, 'CREATE INDEX i ON t USING gin (f(a))', 'CREATE INDEX i ON t USING gin (f(b))'],
  [
    'expressions',
    INDEX,
    'CREATE INDEX i ON t USING btree (a) WHERE a > 1',
    'CREATE INDEX i ON t USING btree (a) WHERE a > 2',
  ],
  ['more', INDEX, 'CREATE INDEX i ON t USING btree (a) WHERE a > 1', 'CREATE INDEX i ON t USING btree (a)'],
  ['more', INDEX, 'CREATE INDEX i ON t USING btree (f(a))', 'CREATE INDEX i ON t USING btree (a)'],
  ['more', INDEX, 'CREATE INDEX i ON t USING btree (a)', 'CREATE UNIQUE INDEX i ON t USING btree (a)'],
  ['more', INDEX, 'CREATE INDEX i ON t USING btree (f(a) x_ops)', 'CREATE INDEX i ON t USING btree (f(b) y_ops)'],
  ['more', TYPE, 'numeric(1)', 'numeric(2)'],
] as const)('what differs is said: %s, in %o: %s and %s', (difference, definition, a, b) => {
  expect(compareDefinitions(grammar, a, b, definition)).toBe(difference)
})

test('every property that lines have is compared', async () => {
  const table = { name: 't', columns: [column('a', 'integer')] }
  const linesOf = (content: TableLine): StructureLines => {
    return { extensions: [], sequences: [], inOrder: [{ kind: 'table', content }] }
  }
  const lines = linesOf(table)
  const built = (more: object): StructureLines => linesOf({ ...table, ...more })
  expect(await builtDifferences(grammar, lines, built({}))).toEqual([])
  const column1 = (more: object) => ({ columns: [{ ...column('a', 'integer'), ...more }] })
  const check = { name: 'c', definition: 'CHECK (true)' }
  for (const more of [
    column1({ nullable: false }),
    column1({ type: 'bigint' }),
    column1({ default: '1' }),
    column1({ storage: 'external' }),
    column1({ compression: 'lz4' }),
    column1({ statistics: 7 }),
    column1({ collation: '"C"' }),
    column1({ comment: 'x' }),
    { unlogged: true },
    { options: ['fillfactor=70'] },
    { replicaIdentity: 'full' },
    { comment: 'x' },
    { checks: [check] },
    column1({ notNull: { noInherit: true } }),
    column1({ notNull: { name: 'n', notValid: true } }),
    column1({ inherited: true }),
    { partitionBy: 'LIST (a)' },
    { partitionOf: { table: 'p', bound: 'DEFAULT' } },
    { indexes: [{ name: 'i', definition: 'CREATE INDEX i ON t USING btree (a)', partitionOf: 'j' }] },
    { inherits: ['p'] },
    { of: 'c' },
    { clusterOn: 'i' },
    { rowSecurity: { enabled: true, forced: false } },
  ]) {
    expect(await builtDifferences(grammar, lines, built(more)), JSON.stringify(more)).not.toEqual([])
    expect(await builtDifferences(grammar, built(more), lines), JSON.stringify(more)).not.toEqual([])
  }
})

/** What PostgreSQL prints differently from version to version, or otherwise when it has read its own print again. */
const SCHEMA = [
  `CREATE DOMAIN d AS varchar(9) DEFAULT 'x' CHECK (VALUE <> 'y') CHECK (VALUE ~ '^\\w')`,
  'CREATE TABLE p (a int PRIMARY KEY, b d, c timestamptz DEFAULT now(), s varchar(8))',
  `ALTER TABLE p ADD CHECK (s IN ('a', 'b')), ADD CHECK (a BETWEEN 1 AND 9), ADD CHECK (b LIKE 'a%' OR a IS NULL)`,
  `ALTER TABLE p ADD CHECK (CASE WHEN a > 1 THEN extract(year FROM c AT TIME ZONE 'UTC') > 2000 ELSE true END)`,
  `ALTER TABLE p ADD g text GENERATED ALWAYS AS (coalesce(substring(s FROM 1 FOR 2), trim(both FROM 'x '))) STORED`,
  `ALTER TABLE p ADD at date DEFAULT '2020-02-01', ADD n numeric(5) DEFAULT -1, ADD i interval DEFAULT '1 day'`,
  'CREATE TABLE q (a int REFERENCES p ON DELETE CASCADE, id int GENERATED ALWAYS AS IDENTITY)',
  `CREATE INDEX ON p ((lower(s)) text_pattern_ops DESC) WHERE s NOT IN ('a', 'b')`,
  'ALTER TABLE p ADD UNIQUE NULLS NOT DISTINCT (s) INCLUDE (b) DEFERRABLE',
  `ALTER TABLE q ADD EXCLUDE USING btree (a WITH =) WHERE (a > 0)`,
  'ALTER TABLE q ADD CHECK (a > 3) NOT VALID, ADD FOREIGN KEY (id) REFERENCES p NOT VALID',
  'CREATE TABLE child (more text NOT NULL) INHERITS (p, q)',
  'CREATE TABLE parted (a int NOT NULL, at timestamptz NOT NULL) PARTITION BY RANGE (at, (a % 3))',
  `CREATE TABLE part PARTITION OF parted FOR VALUES FROM ('2026-01-01', 0) TO (MAXVALUE, MAXVALUE)`,
  `CREATE TABLE listed PARTITION OF parted DEFAULT PARTITION BY LIST ((a::text || 'x'))`,
  `CREATE TABLE part_of_listed PARTITION OF listed FOR VALUES IN ('a', NULL)`,
]

test.runIf(installedPrograms())(
  'what one version of PostgreSQL printed is built by another, and is the same',
  async () => {
    const other = await older?.createDatabase()
    const ends = [database.url, other?.url ?? '']
    for (const [from = '', to = ''] of [ends, ends.toReversed(), [database.url, database.url]]) {
      const [source, target] = [
        await openStage(from, `source ${Math.random()}`),
        await openStage(to, `target ${Math.random()}`),
      ]
      try {
        await source.run(SCHEMA)
        const nameOf = async (stage: typeof source): Promise<string> =>
          (await stage.query<{ name: string }>('SELECT current_schema()::text AS name', []))[0]?.name ?? ''
        const lines = toLines(await readStructure(source.query, await nameOf(source)))
        await target.build(lines)
        const built = toLines(await readStructure(target.query, await nameOf(target)))
        expect(tablesIn(built)).toHaveLength(7)
        expect(await builtDifferences(grammar, lines, built)).toEqual([])
      } finally {
        await Promise.all([source.end(), target.end()])
      }
    }
    await other?.drop()
  },
)

test('a definition that PostgreSQL printed is one that is read', () => {
  const printed = `CHECK (((s)::text = ANY ((ARRAY['a;b'::character varying, '--'::character varying, '/* $$'::character varying])::text[])))`
  expect(findDefinitionFault(grammar, printed, CHECK)).toBeUndefined()
})
