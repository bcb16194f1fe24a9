import { createHash } from 'node:crypto'
import { z } from 'zod'
import { lists, texts } from '../../src/archive/fields.ts'
import { LINES } from '../../src/archive/lines.ts'

/** A field of a line that holds SQL, with text that is right for it. */
export interface SqlFieldSample {
  readonly kind: 'domain' | 'composite' | 'range' | 'table'
  /** Keys below the kind; a number is a place in a list. */
  readonly path: readonly (string | number)[]
  readonly honest: string
  /** Text of the right form that has an expression inside. */
  readonly around: (expression: string) => string
}

const field = (
  kind: SqlFieldSample['kind'],
  path: SqlFieldSample['path'],
  honest: string,
  around: SqlFieldSample['around'],
): SqlFieldSample => ({ kind, path, honest, around })

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
]

const named = { name: 'name' }
const columnA = { name: 'a', type: 'integer', nullable: false }
const columnB = { name: 'b', type: 'integer', nullable: true }

/** Lines without any field that may be missing. */
const LEAST: Readonly<Record<SqlFieldSample['kind'], object>> = {
  domain: { name: 'd', type: 'integer', nullable: true },
  composite: { name: 'c', attributes: [{ name: 'a', type: 'integer' }] },
  range: { name: 'r', subtype: 'integer' },
  table: { name: 't', columns: [columnA, columnB] },
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

/** A whole archive with one line of structure, so that there is nothing else in it to be refused. */
export function archiveAround(slug: string, stage: string, line: string): string {
  const isTable = line.startsWith('{"table":') && !line.includes('"partitionBy":')
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
    JSON.stringify({ archive: { version: 1, createdAt: at, snapshotAt: at, generator: 'x/1' } }),
    JSON.stringify({ project: { slug, system: false } }),
    JSON.stringify({ stage: { slug: stage } }),
    ...(line.includes('"partitionOf":') ? [parent] : []),
    line,
    ...(isTable ? rows : []),
    JSON.stringify({ stageEnd: { slug: stage, tables: isTable ? 1 : 0, rows: isTable ? 1 : 0 } }),
    JSON.stringify({ projectEnd: { slug } }),
    JSON.stringify({ end: { projects: 1, rows: isTable ? 1 : 0 } }),
    '',
  ].join('\n')
}

/** In which line of that it stands, but for a partition. */
export const HOSTILE_LINE = 4

/** The same for any field: the partitioned table comes before its partition. */
export const hostileLineOf = ({ path }: SqlFieldSample): number =>
  path[0] === 'partitionOf' ? HOSTILE_LINE + 1 : HOSTILE_LINE

/** All text fields of the lines that structure is built from, as `table.columns.0.type`, and what each holds. */
export function declaredTexts(): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  for (const kind of ['stage', 'enum', 'domain', 'composite', 'range', 'sequence', 'table'] as const) {
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
