import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planDelete, planInsert, planRead, planUpdate, type QueryParameters } from '../../../src/content/query/index.ts'
import { OPERATORS } from '../../../src/content/query/operators.ts'
import { isAppError } from '../../../src/errors.ts'
import { openRecordShop, type QueryStage, SCHEMA } from '../../support/content/record-shop.ts'

let shop: QueryStage
let before: string
beforeAll(async () => {
  shop = await openRecordShop()
  before = await everything()
})
afterAll(() => shop.close())

/** All rows of all tables, and what else there is in the database, as one text. */
async function everything(): Promise<string> {
  const rows: unknown[] = []
  for (const table of shop.catalog.tables.keys()) {
    const name = `${pg.escapeIdentifier(SCHEMA)}.${pg.escapeIdentifier(table)}`
    const sql = `SELECT count(*), md5(string_agg(t::text, '' ORDER BY t::text)) FROM ${name} AS t`
    rows.push(await shop.session.query(sql, []))
  }
  const objects = await shop.session.query(
    `SELECT count(*), md5(string_agg(relname || relnamespace, '' ORDER BY relname, relnamespace)) FROM pg_class WHERE oid >= 16384`,
    [],
  )
  return JSON.stringify([rows, objects])
}

const KEYWORDS = new Set(
  `SELECT FROM WHERE AS AND OR NOT EXISTS IN ANY ALL IS DISTINCT NULL TRUE FALSE UNKNOWN LIKE ILIKE ORDER BY GROUP ASC
   DESC NULLS FIRST LAST LIMIT OFFSET LEFT CROSS JOIN LATERAL ON CASE WHEN THEN ELSE END COALESCE NULLIF OPERATOR WITH ORDINALITY INSERT
   INTO UPDATE SET DELETE RETURNING CONFLICT DO NOTHING EXCLUDED UNION EXPLAIN FORMAT JSON true false`.split(/\s+/),
)
/** Names that Wharf itself writes: of functions, types, and what a statement calls its parts. */
const OWN_WORDS =
  /^(pg_catalog|text|json|jsonb|int4|int8|_int8|float8|regconfig|(json_agg|row_to_json|json_strip_nulls|json_to_record|json_to_recordset|json_array_elements|json_build_array|to_jsonb|count|sum|avg|min|max|format|replace|current_setting|set_config|string_agg|to_tsvector|(plain|phrase|websearch_)?to_?tsquery)|page|answer|counted|given|object|content|ordinal|key|body|rows|total|written(_\d+)?|merged|v\d+|t\d+(_rows?|_body|_between)?)$/
const OWN_LITERALS = new Set([
  "'[]'",
  "''",
  "'0'",
  "'wharf.merged'",
  "E'\\n'",
  "'%s'",
  `'"'`,
  `'""'`,
  "','",
  `E'^$|[",\\\\r\\\\n]'`,
])
const OWN_SYMBOLS = /^(=|<>|>|>=|<|<=|~|~\*|~~|~~\*|@>|<@|&&|<<|>>|&<|&>|\+|-\|-|@@|->|->>|::|\|\||\(|\)|,|\.|\*)$/

/** The tokens of a statement that neither the grammar above nor the stage's structure accounts for. */
function foreignTokens(sql: string, names: ReadonlySet<string>): string[] {
  const token =
    /\s+|("(?:[^"]|"")*")|(E?'(?:[^']|'')*')|(\$\d+)|([a-zA-Z_]\w*)|(\d+)|(::|->>|->|-\|-|[<>=~!@#%^&|*/+-]+|.)/gsu
  return [...sql.matchAll(token)].flatMap(([, identifier, literal, parameter, word, number, symbol]) => {
    if (identifier) return names.has(identifier.slice(1, -1).replaceAll('""', '"')) ? [] : [identifier]
    if (literal) return OWN_LITERALS.has(literal) ? [] : [literal]
    if (word) return KEYWORDS.has(word) || OWN_WORDS.test(word) ? [] : [word]
    if (number) return number === '0' || number === '1' ? [] : [number]
    if (symbol) return OWN_SYMBOLS.test(symbol) ? [] : [symbol]
    return parameter === undefined ? [] : []
  })
}

/** Every name that the catalog has: the schema, tables, columns, types. */
function knownNames(): Set<string> {
  const { schemaName, tables, castTypes } = shop.catalog
  const names = new Set([schemaName, 'pg_catalog'])
  for (const { name, columns } of tables.values()) for (const each of [name, ...columns.keys()]) names.add(each)
  for (const type of castTypes.values()) {
    for (const sql of [type.sql, type.baseSql, type.arraySql, type.baseArraySql]) {
      for (const part of (sql ?? '').match(/"((?:[^"]|"")*)"/g) ?? [])
        names.add(part.slice(1, -1).replaceAll('""', '"'))
    }
  }
  return names
}

const HOSTILE = [
  `'; DROP TABLE label; --`,
  `"; DELETE FROM label; --`,
  `1); DELETE FROM label WHERE (1=1`,
  `'||(SELECT current_user)||'`,
  `$1`,
  `$$; DROP SCHEMA "shop.live" CASCADE; $$`,
  `\\'; SELECT pg_sleep(10); --`,
  `x" AS y FROM pg_shadow --`,
  `id"."x`,
  `*/ DROP TABLE label /*`,
  `pg_catalog.pg_read_file('/etc/passwd')`,
  `ı𝄞\u202e\uffff`,
  `%_\\`,
  `{"a":"}',(`,
  `NULL`,
  `(SELECT 1)`,
]

const hostile = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ maxLength: 12 }),
)
const column = fc.constantFrom('id', 'title', 'year', 'price', 'tags', 'sold', 'format', 'rating', 'note', 'in_stock')
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
const name = fc.oneof({ weight: 5, arbitrary: column }, hostile, hostile.map(quoted))
const path = fc.array(
  fc.tuple(fc.constantFrom('->', '->>'), fc.oneof(hostile, hostile.map(quoted), fc.nat().map(String))),
  {
    maxLength: 2,
  },
)
const field = fc.tuple(name, path).map(([of, steps]) => of + steps.flat().join(''))
const operator = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...OPERATORS.keys()) }, hostile)
const argument = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  fc.constantFrom('(any)', '(all)', '(english)'),
  hostile.map((text) => `(${text})`),
)
const value = fc.oneof(
  hostile,
  fc.constantFrom('1', 'null', 'true', '{1,2}', '[1,2)', '(1,2)', '2001-01-01'),
  fc.array(fc.oneof(hostile, hostile.map(quoted))).map((list) => `(${list.join()})`),
)
const not = fc.constantFrom('', 'not.')
const operation = fc
  .tuple(not, operator, argument, value)
  .map((parts) => `${parts[0]}${parts[1]}${parts[2]}.${parts[3]}`)
const filter = fc
  .tuple(fc.constantFrom('', 'track.', 'a.'), field, operation)
  .map(([at, of, does]): [string, string] => [at + of, does])
const logic = fc
  .tuple(
    fc.constantFrom('and', 'or', 'not.and', 'track.or'),
    fc.array(fc.tuple(field, operation), { minLength: 1, maxLength: 3 }),
  )
  .map(([kind, all]): [string, string] => [kind, `(${all.map(([of, does]) => `${of}.${does}`).join()})`])
const selected = fc.oneof(
  { weight: 4, arbitrary: field },
  fc.tuple(name, field).map(([alias, of]) => `${alias}:${of}`),
  fc
    .tuple(field, fc.oneof(fc.constantFrom('text', 'int', 'format', 'text[]'), hostile))
    .map(([of, type]) => `${of}::${type}`),
  fc.tuple(column, fc.constantFrom('count', 'sum', 'max', 'median')).map(([of, how]) => `${of}.${how}()`),
  fc.tuple(fc.constantFrom('', '!inner', '!left'), name).map(([join, of]) => `track${join}(number,${of})`),
  name.map((alias) => `${alias}:artist!artist_id(id)`),
  hostile.map((hint) => `artist!${hint}(id)`),
  hostile,
)
const select = fc.array(selected, { minLength: 1, maxLength: 4 }).map((all): [string, string] => ['select', all.join()])
const order = fc
  .tuple(fc.constantFrom('order', 'track.order'), field, fc.oneof(fc.constantFrom('', '.desc', '.nullslast'), hostile))
  .map(([at, of, way]): [string, string] => [at, of + way])
const anything = fc.tuple(hostile, hostile)
const query: fc.Arbitrary<QueryParameters> = fc
  .tuple(
    fc.option(select, { nil: undefined }),
    fc.array(fc.oneof(filter, filter, filter, logic, order, anything), { maxLength: 3 }),
  )
  .map(([first, rest]) => (first ? [first, ...rest] : rest))

/** The names that a query gives to what it selects, as the statement may repeat them. */
const ALIASES = /^\P{C}{1,126}$/u

/** Plans, or gives undefined where the query is refused; any other failure is a bug. */
function planned<T>(plan: () => T): T | undefined {
  try {
    return plan()
  } catch (error) {
    if (isAppError(error, 'INVALID_REQUEST')) return undefined
    throw error
  }
}

describe('whatever a query says', () => {
  test('its statement consists of what Wharf writes, of names that the stage has, and of aliases', () => {
    const names = knownNames()
    let accepted = 0
    fc.assert(
      fc.property(query, fc.constantFrom('json', 'csv', 'object'), (parameters, format) => {
        const plan = planned(() => planRead(shop.catalog, 'album', parameters, { format, count: 'estimated' }))
        if (!plan) return
        accepted += 1
        for (const text of [plan.statement.text, plan.estimate?.text ?? '']) {
          const foreign = foreignTokens(text, names).map((token) => token.slice(1, -1))
          expect(foreign.filter((token) => !ALIASES.test(token))).toEqual([])
        }
      }),
      { numRuns: 3000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  test('other values make the same statement', () => {
    const shape = fc.array(fc.tuple(column, fc.constantFrom('eq', 'gt', 'neq', 'isdistinct')), {
      minLength: 1,
      maxLength: 5,
    })
    fc.assert(
      fc.property(shape, fc.array(hostile, { minLength: 10, maxLength: 10 }), (filters, values) => {
        fc.pre(values.every((each) => !each.includes('\0')))
        const textWith = (offset: number): string | undefined =>
          planned(() => {
            const parameters = filters.map(([of, is], index): [string, string] => [
              of,
              `${is}.${values[index + offset]}`,
            ])
            return planRead(shop.catalog, 'album', parameters, { format: 'json' }).statement.text
          })
        expect(textWith(0)).toBe(textWith(5))
        expect(textWith(0)).toBeDefined()
      }),
      { numRuns: 300 },
    )
  })

  test("reading it changes nothing, and fails in no way that is not the request's", async () => {
    await fc.assert(
      fc.asyncProperty(query, fc.constantFrom('json', 'csv', 'object'), async (parameters, format) => {
        const plan = planned(() => planRead(shop.catalog, 'album', parameters, { format, count: 'exact' }))
        if (!plan) return
        const { text, values } = plan.statement
        await shop.session.query(text, values).catch((error: unknown) => {
          // Of class 42 only what is about types that do not go together, or text search; never a malformed statement.
          const isSearch = parameters.some(([, what]) => what.includes('fts'))
          expect(error instanceof pg.DatabaseError && error.code).toMatch(
            isSearch ? /^(22|54|0A000|42)/ : /^(22|54|0A000|42883|42846|42804|42725)/,
          )
        })
      }),
      { numRuns: 500 },
    )
    expect(await everything()).toBe(before)
  })

  test('the rows written are those that the filters find, and values come back as they were given', async () => {
    const text = hostile.filter((each) => !each.includes('\0'))
    await fc.assert(
      fc.asyncProperty(text, text, async (title, other) => {
        await shop.session.run(['BEGIN'])
        try {
          const { json } = await shop.insert(
            'album',
            { id: 50, title, artist_id: 1, tags: [other, title] },
            'select=title,tags',
          )
          expect(json).toEqual([{ title, tags: [other, title] }])
          const filters: QueryParameters = [['title', `in.(${quoted(title)},${quoted(other)})`]]
          const find = planRead(shop.catalog, 'album', [['select', 'id'], ...filters], { format: 'json' })
          expect(await shop.session.query(find.statement.text, find.statement.values)).toMatchObject([
            { body: '[{"id":50}]' },
          ])
          const change = planUpdate(shop.catalog, 'album', filters, JSON.stringify({ note: other }), {
            format: 'json',
            return: 'minimal',
          })
          expect(await shop.session.query(change.statement.text, change.statement.values)).toMatchObject([{ rows: 1 }])
          const remove = planDelete(shop.catalog, 'album', filters, { format: 'json', return: 'minimal' })
          expect(await shop.session.query(remove.statement.text, remove.statement.values)).toMatchObject([{ rows: 1 }])
        } finally {
          await shop.session.run(['ROLLBACK'])
        }
      }),
      { numRuns: 100 },
    )
    expect(await everything()).toBe(before)
  })

  test('keys of a body are columns or refused', () => {
    const names = knownNames()
    fc.assert(
      fc.property(fc.dictionary(name, fc.oneof(hostile, fc.integer())), fc.array(name), (row, columns) => {
        const list: QueryParameters = columns.length > 0 ? [['columns', columns.join()]] : []
        const plan = planned(() =>
          planInsert(shop.catalog, 'album', list, JSON.stringify([row, row]), {
            format: 'json',
            return: 'headers-only',
            onDuplicate: 'merge',
            missing: 'default',
          }),
        )
        if (plan) expect(foreignTokens(plan.statement.text, names)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })
})
