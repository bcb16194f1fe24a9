import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyBinary } from '../../../src/copy/copy-encoders.ts'
import { checkArchive } from '../../../src/transfer/import/receive-archive.ts'
import { buildArchive, column } from '../../support/archives/archive-builder.ts'
import { streamOf } from '../../support/archives/archive-sample.ts'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'empty')
})
afterAll(() => wharf.close())

/** By type, many values that PostgreSQL makes of a number `n`, and those at the ends of its range. */
const TYPES: Readonly<Record<string, { readonly many: string; readonly ends: readonly string[] }>> = {
  smallint: { many: '(random() * 65535 - 32768)::int::smallint', ends: ['-32768', '32767', '0', '-1'] },
  integer: {
    many: '(random() * 4294967295 - 2147483648)::bigint::integer',
    ends: ['-2147483648', '2147483647', '-10'],
  },
  bigint: {
    many: "(('x' || substr(md5(random()::text), 1, 16))::bit(64)::bigint >> (n % 64)::int)",
    ends: ['-9223372036854775808', '9223372036854775807', '-999999999999999', '1000000000000000', '-4294967296'],
  },
  'double precision': {
    many: '(random() - 0.5) * power(10::float8, n % 600 - 300)',
    ends: ["'-0'", '5e-324', '1.7976931348623157e308', "'NaN'", "'-Infinity'", "'Infinity'", '1e21', '0.1'],
  },
  numeric: {
    many: 'round((random() * power(10::numeric, n % 60))::numeric, n % 50) * (CASE WHEN n % 2 = 0 THEN 1 ELSE -1 END)',
    ends: ['0', '-0.0', '0.00', '10000', '99999999', '0.0001', '0.00010000', '1e100', '-1e-100', '12345.6789'],
  },
  'numeric(12,3)': { many: 'random() * 1e8', ends: ['-999999999.999', '0.001'] },
  boolean: { many: 'n % 3 = 0', ends: [] },
  text: { many: 'unicode_text(n)', ends: [`''`, `E'\\t\\n\\r\\b\\f\\v\\\\"/'`, `'null'`, `'\\N'`, `'\\.'`, `'🎸'`] },
  'character varying(40)': { many: 'substr(unicode_text(n), 1, 40)', ends: [`'  '`] },
  'character(5)': { many: `'c' || n % 10`, ends: [`''`] },
  jsonb: {
    many: `jsonb_build_object('n', n, 'text', unicode_text(n))`,
    ends: [`'null'`, `'"a\\\\b"'`, "'[1.50, {}]'"],
  },
  json: { many: `json_build_array(n, unicode_text(n))`, ends: [`E'{"a":\\n 1, "a": 2}'`] },
  uuid: { many: 'md5(n::text)::uuid', ends: [`'00000000-0000-0000-0000-000000000000'`] },
  bytea: {
    many: "decode(md5(n::text), 'hex') || substr(decode(md5('x' || n), 'hex'), 1, (n % 16)::int)",
    ends: [`''`],
  },
  date: {
    many: "date '0001-01-01' + (n * 3653)::int",
    ends: [`'9999-12-31'`, `'2000-02-29'`, `'1900-03-01'`, `'1999-12-31'`],
  },
  'time without time zone': {
    many: "time '00:00' + n * interval '86.399123 s'",
    ends: [`'23:59:59.999999'`, `'00:00'`],
  },
  'timestamp without time zone': {
    many: "timestamp '0001-01-01' + n * interval '10 years 3 days 04:05:06.000007' / 1.1",
    ends: [`'9999-12-31 23:59:59.999999'`, `'2000-01-01'`, `'1999-12-31 23:59:59.999999'`, `'0001-01-01'`],
  },
  'timestamp(3) with time zone': {
    many: "timestamptz '1970-01-01 00:00Z' + n * interval '1 day 00:00:00.1'",
    ends: [`'2285-01-01 00:00Z'`, `'2286-01-01 00:00:00.5Z'`, `'1713-01-01 00:00Z'`],
  },
  'smallint[]': { many: 'ARRAY[n, -n, NULL]::smallint[]', ends: [`'{-32768,32767}'`, `'{}'`] },
  'integer[]': {
    many: 'ARRAY(SELECT k::int FROM generate_series(1, n % 40) k)',
    ends: [`'{NULL}'`, `'{-2147483648}'`, `array_fill(1, ARRAY[50000])`],
  },
  'bigint[]': { many: 'ARRAY[n, n * 1234567890123456]', ends: [`'{-9223372036854775808}'`] },
  'text[]': {
    many: `ARRAY[unicode_text(n), NULL, 'plain' || n, 'it''s "said" \\{' || n || '}, or not']`,
    ends: [
      `'{}'`,
      `'{""," ",NULL,"NULL","null",nullable,"a,b","{}","\\\\","\\""}'`,
      `ARRAY[E'\t\n\u000b\u0001', '🎸', 'ü/']`,
    ],
  },
  'character varying(40)[]': { many: 'ARRAY[substr(unicode_text(n), 1, 40)]', ends: [`'{"  "}'`] },
  'uuid[]': { many: 'ARRAY[md5(n::text)::uuid, NULL, md5(n::text)::uuid]', ends: [`'{}'`] },
  mood: { many: `(ARRAY['sad', 'so "so"', 'glad'])[1 + n % 3]::mood`, ends: [] },
  price: { many: 'random()', ends: ['0'] },
}

const DEFINITIONS = `
  CREATE TYPE mood AS ENUM ('sad', 'so "so"', 'glad');
  CREATE DOMAIN price AS numeric(10,2) CHECK (value >= 0);`

/** Text of characters from everywhere; a surrogate by itself is none. */
const UNICODE_TEXT = `
  CREATE FUNCTION unicode_text(n bigint) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(chr(CASE WHEN code BETWEEN 55296 AND 57343 THEN 9 ELSE code END::int), '')
    FROM (SELECT 1 + (n * 7919 * k * k) % (CASE WHEN k % 2 = 0 THEN 300 ELSE 1114110 END) AS code
          FROM generate_series(1, 1 + n % 20) k) codes $$;`

const nameOf = (type: string): string => `of_${type.replace('[]', ' array').replaceAll(/\W+/g, '_')}`

const TABLES = Object.keys(TYPES).map((type) => `CREATE TABLE ${nameOf(type)} (id serial PRIMARY KEY, v ${type});`)

const ROWS = Object.entries(TYPES).flatMap(([type, { many, ends }]) => [
  `INSERT INTO ${nameOf(type)} (v) SELECT ${many} FROM generate_series(1, 500) n;`,
  `INSERT INTO ${nameOf(type)} (v) VALUES (NULL)${ends.map((end) => `, (${end})`).join('')};`,
])

/** The rows of a stage's tables as text, which differs wherever values do. */
async function contents(slug: string): Promise<Record<string, unknown>> {
  const tables = Object.keys(TYPES).map(async (type) => {
    const rows = await wharf.database.query<{ v: string | null }>(
      `SELECT v::text AS v FROM "${slug}.live".${nameOf(type)} ORDER BY id`,
    )
    return [type, rows.map(({ v }) => v)] as const
  })
  return Object.fromEntries(await Promise.all(tables))
}

test('values of every type that has a binary form come back as they were', async () => {
  await createProject(
    wharf,
    'source',
    `SELECT setseed(0.5); ${UNICODE_TEXT} ${DEFINITIONS} ${TABLES.join('')} ${ROWS.join('')} DROP FUNCTION unicode_text;`,
  )
  const archive = await exportOf(wharf.root, 'source')
  await createProject(wharf, 'target')
  const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=target' })
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(await contents('target')).toEqual(await contents('source'))

  const [project] = await checkArchive(streamOf(Buffer.from(archive)), { encoders: copyBinary })
  const tables = project?.stages[0]?.tables ?? []
  expect(tables.map(({ name }) => name).toSorted()).toEqual(Object.keys(TYPES).map(nameOf).toSorted())
  for (const { name, copies } of tables)
    expect({ name, formats: copies.map(({ format }) => format) }).toEqual({ name, formats: ['binary'] })
})

/** Values that PostgreSQL takes as text, though it does not write them so, or not in so few bytes. */
const ODD: readonly (readonly [type: string, value: string | number | boolean, meaning: string])[] = [
  ['integer', ' 7 ', '7'],
  ['integer', 1e3, '1000'],
  ['integer', '0x', 'refused'],
  ['integer', '2147483648', 'refused'],
  ['smallint', 40000, 'refused'],
  ['bigint', '007', '7'],
  ['bigint', '9223372036854775808', 'refused'],
  ['bigint', '12345678901234567890123', 'refused'],
  ['numeric(6,2)', '1e3', '1000.00'],
  ['numeric(6,2)', '.5', '0.50'],
  ['numeric(6,2)', '12345.6', 'refused'],
  ['numeric', 'NaN', 'NaN'],
  ['numeric', `1${'0'.repeat(500)}`, `1${'0'.repeat(500)}`],
  ['double precision', '1.5', '1.5'],
  ['double precision', 'inf', 'Infinity'],
  ['boolean', 'yes', 'true'],
  ['boolean', 1, 'true'],
  ['text', true, 't'],
  ['character varying(3)', 'abcd', 'refused'],
  ['character varying(3)', 'abc  ', 'abc'],
  ['uuid', '{00000000-0000-0000-0000-00000000ABCD}', '00000000-0000-0000-0000-00000000abcd'],
  ['uuid', '00000000-0000-0000-0000-00000000abcg', 'refused'],
  ['bytea', 'a\\000', '\\x6100'],
  ['bytea', '\\x616', 'refused'],
  ['date', 'infinity', 'infinity'],
  ['date', '20210131', '2021-01-31'],
  ['date', '0044-03-15 BC', '0044-03-15 BC'],
  ['date', '10000-01-01', '10000-01-01'],
  ['date', '2021-02-29', 'refused'],
  ['date', '1900-02-29', 'refused'],
  ['date', '2021-13-01', 'refused'],
  ['time without time zone', '24:00:00', '24:00:00'],
  ['time without time zone', '23:59:60', '24:00:00'],
  ['time without time zone', '12:00', '12:00:00'],
  ['time without time zone', '12:00:00.1234567', '12:00:00.123457'],
  ['timestamp with time zone', '2021-01-31 12:00:00+02', '2021-01-31 10:00:00+00'],
  ['timestamp with time zone', '2021-01-31T12:00:00Z', '2021-01-31 12:00:00+00'],
  ['timestamp with time zone', '2021-01-31 12:00:00+00:30', '2021-01-31 11:30:00+00'],
  ['timestamp without time zone', '-infinity', '-infinity'],
  ['timestamp without time zone', '2021-01-31 24:00:00', '2021-02-01 00:00:00'],
  ['jsonb', '{"a":1', 'refused'],
  ['json', '', 'refused'],
  ['integer[]', '{{1,2},{3,4}}', '{{1,2},{3,4}}'],
  ['integer[]', '[0:1]={1,2}', '[0:1]={1,2}'],
  ['integer[]', '{ 1, 2 }', '{1,2}'],
  ['integer[]', '{1,null}', '{1,NULL}'],
  ['integer[]', '{1,2', 'refused'],
  ['integer[]', '{1,}', 'refused'],
  ['smallint[]', '{32768}', 'refused'],
  ['text[]', '{a b, "c" }', '{"a b",c}'],
  ['text[]', '{a\\b,\\"}', '{ab,"\\""}'],
  ['text[]', '{Null,NULLS}', '{NULL,NULLS}'],
  ['text[]', '{"a\\b"}', '{ab}'],
  ['text[]', '{a}b', 'refused'],
  ['text[]', '{"a"b}', 'refused'],
  ['text[]', '{a{b}', 'refused'],
  ['text[]', 'a', 'refused'],
  ['character varying(3)[]', '{abcd}', 'refused'],
  ['uuid[]', '{00000000-0000-0000-0000-00000000ABCD}', '{00000000-0000-0000-0000-00000000abcd}'],
]

const isTaken = ([, , meaning]: (typeof ODD)[number]): boolean => meaning !== 'refused'

const tableOf = (name: string, [type, value]: (typeof ODD)[number]) => ({
  name,
  columns: [column('id', 'integer'), column('v', type)],
  rows: [
    [1, null],
    [2, value],
    [3, null],
  ],
})

test('values that are written otherwise mean what they mean to PostgreSQL', async () => {
  await createProject(wharf, 'odd')
  const taken = ODD.filter(isTaken)
  const tables = taken.map((odd, at) => tableOf(`t${at}`, odd))
  const answer = await sendArchive(wharf.root, buildArchive({ slug: 'odd', stages: [{ tables }] }))
  expect(answer, answer.text).toMatchObject({ status: 200 })
  for (const [at, [type, value, meaning]] of taken.entries()) {
    const stored = await wharf.database.query(`SELECT v::text FROM "odd.live".t${at} ORDER BY id`)
    expect(stored, `${type}: ${value}`).toEqual([{ v: null }, { v: meaning }, { v: null }])
  }
})

test.each(ODD.filter((odd) => !isTaken(odd)))('%s: %s is refused, with its line', async (...odd) => {
  const answer = await sendArchive(
    wharf.root,
    buildArchive({ slug: 'empty', stages: [{ tables: [tableOf('t', odd)] }] }),
  )
  const detail = expect.stringMatching(/^line 7: column "v" of table "t"/)
  expect(answer).toMatchObject({ status: 400, json: { detail } })
})

test('a row that breaks NOT NULL is told by its line, in whatever format it came', async () => {
  await createProject(wharf, 'strict')
  const required = column('v', 'integer', { nullable: false })
  for (const oddValue of [2, ' 2 ']) {
    const tables = [{ name: 't', columns: [required], rows: [[1], [oddValue], [null]] }]
    const answer = await sendArchive(wharf.root, buildArchive({ slug: 'strict', stages: [{ tables }] }))
    expect(answer).toMatchObject({ status: 400, json: { detail: expect.stringContaining('line 8: ') } })
  }
})

test('a stage with a type that is named like one of PostgreSQL’s gets its rows as text', async () => {
  const tables = [{ name: 't', columns: [column('v', 'uuid')], rows: [['00000000-0000-0000-0000-00000000abcd']] }]
  const archive = buildArchive({
    slug: 'shop',
    stages: [{ beforeTables: [{ kind: 'enum', content: { name: 'uuid', values: ['a'] } }], tables }],
  })
  const [project] = await checkArchive(streamOf(archive), { encoders: copyBinary })
  expect(project?.stages[0]?.tables[0]?.copies).toMatchObject([{ format: 'text' }])
})
