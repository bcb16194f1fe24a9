import { createHash } from 'node:crypto'
import { z } from 'zod'
import { lists, texts } from '../../src/archive/fields.ts'
import { LINES, OBJECT_KINDS, STRUCTURE_KINDS } from '../../src/archive/lines.ts'

/** A field of a line that holds SQL, with text that is right for it. */
export interface SqlFieldSample {
  readonly kind: (typeof STRUCTURE_KINDS)[number]
  /** Keys below the kind; a number is a place in a list. */
  readonly path: readonly (string | number)[]
  readonly honest: string
  /** Text of the right form that has an expression inside. */
  readonly around: (expression: string) => string
  /** Whether that expression may act, as in what runs as the project's login anyway: it may reach no other stage then. */
  readonly mayAct?: boolean
}

const field = (
  kind: SqlFieldSample['kind'],
  path: SqlFieldSample['path'],
  honest: string,
  around: SqlFieldSample['around'],
): SqlFieldSample => ({ kind, path, honest, around })

/** The definition of an object. */
const definition = (
  kind: SqlFieldSample['kind'],
  honest: string,
  around: SqlFieldSample['around'],
): SqlFieldSample => ({ kind, path: ['definition'], honest, around, mayAct: true })

const itself = (expression: string): string => expression
const asModifier = (expression: string): string => `numeric(${expression})`
const asCheck = (expression: string): string => `CHECK ((${expression}) IS NOT NULL)`

/** One for each field that the format declares as SQL. */
export const SQL_FIELDS: readonly SqlFieldSample[] = [
  field('domain', ['type'], 'numeric(10,2)', asModifier),
  field('domain', ['default'], '1', itself),
  field('domain', ['checks', 0, 'definition'], 'CHECK (VALUE > 0)', asCheck),
  field('composite', ['attributes', 0, 'type'], 'timestamp(3) without time zone', asModifier),
  field('range', ['subtype'], 'double precision', asModifier),
  field('table', ['columns', 0, 'type'], 'integer', asModifier),
  field('table', ['columns', 0, 'default'], '1', itself),
  field('table', ['columns', 0, 'generated'], '(b + 1)', itself),
  field('table', ['primaryKey', 'definition'], 'PRIMARY KEY (a)', (inner) => `PRIMARY KEY (${inner})`),
  field('table', ['unique', 0, 'definition'], 'UNIQUE (a)', (inner) => `UNIQUE ((${inner}))`),
  field('table', ['checks', 0, 'definition'], 'CHECK (a > 0)', asCheck),
  field(
    'table',
    ['foreignKeys', 0, 'definition'],
    'FOREIGN KEY (b) REFERENCES t(a)',
    (inner) => `FOREIGN KEY (b) REFERENCES t((${inner}))`,
  ),
  field(
    'table',
    ['exclusions', 0, 'definition'],
    'EXCLUDE USING btree (a WITH =)',
    (inner) => `EXCLUDE USING btree ((${inner}) WITH =)`,
  ),
  field(
    'table',
    ['indexes', 0, 'definition'],
    'CREATE INDEX name ON t USING btree (a)',
    (inner) => `CREATE INDEX name ON t USING btree (a) WHERE (${inner}) IS NULL`,
  ),
  field('table', ['partitionBy'], 'LIST (a)', (inner) => `LIST ((${inner}))`),
  field('table', ['partitionOf', 'bound'], 'FOR VALUES IN (1)', (inner) => `FOR VALUES IN (${inner})`),
  definition(
    'collation',
    `CREATE COLLATION name (PROVIDER = libc, LOCALE = 'C')`,
    (inner) => `CREATE COLLATION name (PROVIDER = libc, LOCALE = ${inner})`,
  ),
  definition(
    'textSearchDictionary',
    'CREATE TEXT SEARCH DICTIONARY name (TEMPLATE = simple)',
    (inner) => `CREATE TEXT SEARCH DICTIONARY name (TEMPLATE = ${inner})`,
  ),
  { ...field('function', ['arguments'], 'integer', asModifier), mayAct: true },
  definition(
    'function',
    `CREATE FUNCTION name(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1'`,
    (inner) => `CREATE FUNCTION name(integer) RETURNS text LANGUAGE sql RETURN ${inner}`,
  ),
  field('operator', ['left'], 'integer', asModifier),
  field('operator', ['right'], 'integer', asModifier),
  definition(
    'operator',
    'CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer)',
    (inner) => `CREATE OPERATOR === (FUNCTION = ${inner}, LEFTARG = integer, RIGHTARG = integer)`,
  ),
  field('cast', ['source'], 't', asModifier),
  field('cast', ['target'], 'integer', asModifier),
  definition(
    'cast',
    'CREATE CAST (t AS integer) WITH INOUT',
    (inner) => `CREATE CAST (t AS numeric(${inner})) WITH INOUT`,
  ),
  field('view', ['columns', 0, 'default'], '1', itself),
  field('view', ['columns', 0, 'type'], 'integer', asModifier),
  definition('view', 'SELECT a FROM t', (inner) => `SELECT ${inner} AS a FROM t`),
  definition('materializedView', 'SELECT a FROM t', (inner) => `SELECT ${inner} AS a FROM t`),
  field(
    'materializedView',
    ['indexes', 0, 'definition'],
    'CREATE INDEX name ON v USING btree (a)',
    (inner) => `CREATE INDEX name ON v USING btree (a) WHERE (${inner}) IS NULL`,
  ),
  definition(
    'statistics',
    'CREATE STATISTICS name ON a, b FROM t',
    (inner) => `CREATE STATISTICS name ON a, (${inner}) FROM t`,
  ),
  definition(
    'rule',
    'CREATE RULE name AS ON UPDATE TO t DO ALSO NOTHING',
    (inner) => `CREATE RULE name AS ON UPDATE TO t WHERE (${inner}) IS NULL DO ALSO NOTHING`,
  ),
  definition(
    'trigger',
    'CREATE TRIGGER name BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
    (inner) => `CREATE TRIGGER name BEFORE UPDATE ON t FOR EACH ROW WHEN ((${inner}) IS NULL) EXECUTE FUNCTION f()`,
  ),
  definition(
    'policy',
    'CREATE POLICY name ON t USING (true)',
    (inner) => `CREATE POLICY name ON t USING ((${inner}) IS NULL)`,
  ),
]

const named = { name: 'name' }
const columnA = { name: 'a', type: 'integer', nullable: false }
const columnB = { name: 'b', type: 'integer', nullable: true }

/** Lines without any field that may be missing. */
const LEAST: Readonly<Partial<Record<SqlFieldSample['kind'], object>>> = {
  domain: { name: 'd', type: 'integer', nullable: true },
  composite: { name: 'c', attributes: [{ name: 'a', type: 'integer' }] },
  range: { name: 'r', subtype: 'integer', multirange: 'r_multirange' },
  table: { name: 't', columns: [columnA, columnB] },
  collation: named,
  textSearchDictionary: named,
  function: {
    ...{ ...named, arguments: 'integer', kind: 'function' },
    definition: `CREATE FUNCTION name(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
  },
  operator: {
    ...{ name: '===', left: 'integer', right: 'integer' },
    definition: 'CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer)',
  },
  cast: { name: 't AS integer', source: 't', target: 'integer', definition: 'CREATE CAST (t AS integer) WITH INOUT' },
  view: { name: 'v', columns: [{ name: 'a' }], definition: 'SELECT a FROM t' },
  materializedView: { name: 'v', columns: [{ name: 'a' }], definition: 'SELECT a FROM t', populated: false },
  statistics: { ...named, table: 't' },
  rule: { ...named, table: 't', enabled: 'origin' },
  trigger: { ...named, table: 't', enabled: 'origin' },
  policy: { ...named, table: 't' },
}

/** What goes with a field of those, by the first key of its path, so that it can be built. */
const BESIDE: Readonly<Record<string, object>> = {
  primaryKey: { primaryKey: named },
  ...Object.fromEntries(['unique', 'checks', 'exclusions', 'indexes'].map((list) => [list, { [list]: [named] }])),
  partitionOf: { partitionOf: { table: 'p' } },
  foreignKeys: {
    primaryKey: { name: 'key', definition: 'PRIMARY KEY (a)' },
    foreignKeys: [{ ...named, references: 't' }],
  },
}

/** A line that has `text` in one field, and is right otherwise. */
export function lineWith({ kind, path }: SqlFieldSample, text: string): string {
  const content = structuredClone({ ...LEAST[kind], ...BESIDE[path[0] ?? ''] })
  put(content, path, text)
  return JSON.stringify({ [kind]: content })
}

function put(parent: unknown, [key, ...path]: SqlFieldSample['path'], text: string): void {
  if (typeof parent !== 'object' || parent === null || key === undefined) throw new Error('there is no such place')
  if (path.length === 0) Object.assign(parent, { [key]: text })
  else put(Reflect.get(parent, key), path, text)
}

/** The kinds whose lines stand behind that of the table which they need. */
const NEED_TABLE: readonly string[] = ['cast', 'view', 'materializedView']

/** A whole archive with one line of structure, so that there is nothing else in it to be refused. */
export function archiveAround(slug: string, stage: string, line: string): string {
  const isObject = OBJECT_KINDS.some((kind) => line.startsWith(`{"${kind}":`))
  const isTable = (line.startsWith('{"table":') && !line.includes('"partitionBy":')) || isObject
  const needsTable = NEED_TABLE.some((kind) => line.startsWith(`{"${kind}":`))
  const table = JSON.stringify({ table: LEAST.table })
  const parent = JSON.stringify({ table: { name: 'p', columns: [columnA, columnB], partitionBy: 'LIST (a)' } })
  // A row, so that what is computed for each is computed.
  const isGenerated = line.includes('"generated":')
  const row = JSON.stringify({ row: isGenerated ? ['1'] : ['1', '1'] })
  const rows = [
    JSON.stringify({ rows: { table: 't', columns: isGenerated ? ['b'] : ['a', 'b'] } }),
    row,
    JSON.stringify({ rowsEnd: { table: 't', rows: 1, sha256: createHash('sha256').update(`${row}\n`).digest('hex') } }),
  ]
  const at = '2026-11-20T21:00:00.000Z'
  return [
    JSON.stringify({ archive: { version: 2, createdAt: at, snapshotAt: at, generator: 'x/1' } }),
    JSON.stringify({ project: { slug, system: false } }),
    JSON.stringify({ stage: { slug: stage } }),
    ...(line.includes('"partitionOf":') ? [parent] : []),
    ...(needsTable ? [table] : []),
    line,
    ...(isObject && !needsTable ? [table] : []),
    ...(isTable ? rows : []),
    JSON.stringify({ stageEnd: { slug: stage, tables: isTable ? 1 : 0, rows: isTable ? 1 : 0 } }),
    JSON.stringify({ projectEnd: { slug } }),
    JSON.stringify({ end: { projects: 1, rows: isTable ? 1 : 0 } }),
    '',
  ].join('\n')
}

/** In which line of that it stands, but for a partition. */
export const HOSTILE_LINE = 4

/** The same for any field: the partitioned table comes before its partition, and a table before a cast of its rows. */
export const hostileLineOf = ({ kind, path }: SqlFieldSample): number =>
  NEED_TABLE.includes(kind) || path[0] === 'partitionOf' ? HOSTILE_LINE + 1 : HOSTILE_LINE

/** All text fields of the lines that structure is built from, as `table.columns.0.type`, and what each holds. */
export function declaredTexts(): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  for (const kind of ['stage', 'grants', ...STRUCTURE_KINDS] as const) {
    collect(LINES[kind], kind, found)
  }
  return found
}

function collect(schema: unknown, path: string, found: Map<string, unknown>): void {
  if (schema instanceof z.ZodObject) {
    for (const [key, inner] of Object.entries(schema.shape)) collect(inner, `${path}.${key}`, found)
  } else if (schema instanceof z.ZodPipe) {
    const list = lists.get(schema)
    if (!list) throw new Error(`${path} is of a form that is not known here`)
    collect(list.item, `${path}.0`, found)
  } else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) collect(option, path, found)
  } else if (schema instanceof z.ZodDefault || schema instanceof z.ZodExactOptional) {
    collect(schema.unwrap(), path, found)
  } else if (schema instanceof z.ZodString) {
    found.set(path, texts.get(schema)?.holds)
  } else if (!(schema instanceof z.ZodEnum || schema instanceof z.ZodBoolean || schema instanceof z.ZodNumber)) {
    throw new Error(`${path} is of a form that is not known here`)
  }
}
