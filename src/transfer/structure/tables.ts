import { quoteIdentifier } from '../../database/quoting.ts'
import type { ValueForm } from '../../rows/value-form.ts'
import { commentOn, storageOptionsSql, storageParameters } from './clauses.ts'
import {
  type ColumnRow,
  columnComments,
  columnDefinition,
  columnFacts,
  completeColumns,
  toColumnLine,
} from './columns.ts'
import { type ConstraintRow, definitionFacts, toDefinitionLists } from './constraints.ts'
import type { ObjectKey } from './dependencies.ts'
import type { ColumnPlan } from './inheritance.ts'
import type { LineContext } from './line-context.ts'
import { type Facts, present, type TableLine } from './lines.ts'
import { inheritedNotNulls, withFreeNotNullNames } from './not-nulls.ts'
import { jsonObject, type Query } from './query.ts'
import type { SequenceRow } from './sequences.ts'
import { valueExpression, valueForm } from './value-expressions.ts'

export interface TableRow {
  readonly oid: string
  readonly key: ObjectKey
  readonly name: string
  /** Why lines can't describe it whatever it consists of, e.g. since it is a partition. */
  readonly blocker: string | null
  /** Without columns, constraints and indexes. */
  readonly line: Omit<TableLine, 'columns'>
  /** Whether an index names its old rows in logical replication. */
  readonly by_index: boolean
}

/** A table with all that belongs to it, as read from the catalogs. */
export interface WholeTable {
  readonly table: TableRow
  readonly columns: readonly ColumnRow[]
  readonly constraints: readonly ConstraintRow[]
  /** Sequences behind identity columns, by the column's number. */
  readonly identities: ReadonlyMap<number, SequenceRow>
}

/** A table that an archive describes, and how its rows are read. */
export interface TableStructure {
  readonly oid: string
  readonly line: TableLine
  /** The columns that carry values, each with the SQL that gives the text of its archive value, and how that is written. */
  readonly columns: readonly { readonly name: string; readonly expression: string; readonly form: ValueForm }[]
}

/** Reads the schema's tables, partitioned ones too. */
export const readTables = (query: Query, schemaOid: string): Promise<TableRow[]> =>
  query<TableRow>(TABLES_SQL, [schemaOid])

/** The line of a table as its catalog rows have it, and how its rows are read. */
export function toTableStructure(whole: WholeTable, context: LineContext): TableStructure {
  const { table, constraints, identities } = whole
  const columns = whole.columns.map((row) => {
    return { row, line: toColumnLine(row, table.name, identities.get(row.number), context) }
  })
  const { name, ...properties } = table.line
  const clustered = constraints.find((row) => row.clustered)
  return {
    oid: table.oid,
    line: {
      name,
      columns: columns.map(({ line }) => line),
      ...toDefinitionLists(constraints, name, context),
      ...properties,
      ...(table.by_index && { replicaIdentity: indexIdentity(constraints, context) }),
      ...(clustered && context.blockerOf(clustered.key) === undefined && { clusterOn: clustered.name }),
    },
    columns: columns
      .filter(({ line }) => line.generated === undefined)
      .map(({ row: { name: column, value_type: type } }) => ({
        name: column,
        expression: valueExpression({ name: column, type }),
        form: valueForm(type),
      })),
  }
}

function indexIdentity(
  constraints: readonly ConstraintRow[],
  context: LineContext,
): NonNullable<TableLine['replicaIdentity']> {
  const index = constraints.find((row) => row.replica_identity)
  // An index that was dropped, or that is left out, names no rows.
  return index && context.blockerOf(index.key) === undefined ? { index: index.name } : 'nothing'
}

/**
 * A table with its columns alone. A partition is a table of its own yet.
 *
 * @param plan says which columns it is created with, and what it inherits from; without one, it is as it stands.
 */
export function createTable(table: TableLine, plan?: ColumnPlan): string {
  const { name, inherits = [], columns, unlogged, options = [], partitionBy } = withFreeNotNullNames(table)
  const kind = unlogged ? 'UNLOGGED TABLE' : 'TABLE'
  const key = partitionBy === undefined ? '' : ` PARTITION BY ${partitionBy}`
  const from = plan?.linked.has(name) ? [] : inherits
  const parents = from.length === 0 ? '' : ` INHERITS (${from.map(quoteIdentifier).join(', ')})`
  const parameters = options.length === 0 ? '' : ` WITH (${storageParameters(options)})`
  const list = (plan?.created.get(name) ?? columns).map(columnDefinition).join(', ')
  return `CREATE ${kind} ${quoteIdentifier(name)} (${list})${parents}${key}${parameters}`
}

/** A column that a table is given once all its relatives are there. */
export const addColumn = ({ table, column }: ColumnPlan['added'][number]): string =>
  `ALTER TABLE ${quoteIdentifier(table)} ADD COLUMN ${columnDefinition(column)}`

/** What tables inherit from, where they are made without, and their composite types. */
export const inheritAndType = (family: readonly TableLine[], { linked }: ColumnPlan): string[] => [
  ...family
    .filter(({ name }) => linked.has(name))
    .flatMap(({ name, inherits = [] }) =>
      inherits.map((parent) => `ALTER TABLE ONLY ${quoteIdentifier(name)} INHERIT ${quoteIdentifier(parent)}`),
    ),
  ...family.flatMap(({ name, of }) =>
    of === undefined ? [] : [`ALTER TABLE ONLY ${quoteIdentifier(name)} OF ${quoteIdentifier(of)}`],
  ),
]

/** What columns are given once all relatives of a table are there. @param tables all of a family. */
export function completeTables(tables: readonly TableLine[]): string[] {
  const byName = new Map(tables.map((table) => [table.name, table]))
  return tables.flatMap((table) => {
    const parents = (table.inherits ?? []).flatMap((name) => byName.get(name) ?? [])
    return [...inheritedNotNulls(table, parents), ...completeColumns(table)]
  })
}

/** Makes a table a partition, before it has rows: those that come are held against its bound. */
export function attachPartition({ name, partitionOf }: TableLine): string[] {
  if (partitionOf === undefined) return []
  const { table, bound } = partitionOf
  return [`ALTER TABLE ONLY ${quoteIdentifier(table)} ATTACH PARTITION ${quoteIdentifier(name)} ${bound}`]
}

/** What names an old row in logical replication, once constraints and indexes are there. */
export function replicaIdentity({ name, replicaIdentity: identity }: TableLine): string[] {
  if (identity === undefined) return []
  const how = typeof identity === 'string' ? identity.toUpperCase() : `USING INDEX ${quoteIdentifier(identity.index)}`
  return [`ALTER TABLE ${quoteIdentifier(name)} REPLICA IDENTITY ${how}`]
}

/** By which index it was clustered last, once that is there. */
export const clusterOn = ({ name, clusterOn: index }: Pick<TableLine, 'name' | 'clusterOn'>): string[] =>
  index === undefined ? [] : [`ALTER TABLE ${quoteIdentifier(name)} CLUSTER ON ${quoteIdentifier(index)}`]

/** Once the rows are there: COPY takes none for a login that is under policies itself. */
export const secureRows = ({ name, rowSecurity: { enabled, forced } = NO_ROW_SECURITY }: TableLine): string[] => [
  ...(enabled ? [`ALTER TABLE ${quoteIdentifier(name)} ENABLE ROW LEVEL SECURITY`] : []),
  ...(forced ? [`ALTER TABLE ${quoteIdentifier(name)} FORCE ROW LEVEL SECURITY`] : []),
]

const NO_ROW_SECURITY = { enabled: false, forced: false }

export const tableComments = (table: TableLine): readonly string[] => [
  ...commentOn(`TABLE ${quoteIdentifier(table.name)}`, table.comment),
  ...columnComments(table),
]

/** What decides about which rows fit into the table as a whole. */
export const ownFacts = ({ partitionBy, partitionOf, inherits = [], of }: TableLine): Facts =>
  present({
    'composite type': of,
    'what it inherits from': inherits.join(', ') || undefined,
    'partition key': partitionBy,
    'partitioned table': partitionOf?.table,
    bound: partitionOf?.bound,
  })

/** The same of all parts of the table, by what they are called for people. */
export const tableFacts = (table: TableLine): readonly (readonly [string, Facts])[] => [
  ...table.columns.map((column) => [`column "${column.name}"`, columnFacts(column)] as const),
  ...definitionFacts(table),
]

const LINE_SQL = jsonObject({
  name: 'c.relname',
  unlogged: `CASE c.relpersistence WHEN 'u' THEN true END`,
  options: storageOptionsSql('c.reloptions', 'toast.reloptions'),
  replicaIdentity: `CASE c.relreplident WHEN 'n' THEN 'nothing' WHEN 'f' THEN 'full' WHEN 'i' THEN 'nothing' END`,
  partitionBy: `CASE c.relkind WHEN 'p' THEN pg_catalog.pg_get_partkeydef(c.oid) END`,
  partitionOf: `CASE WHEN c.relispartition THEN ${jsonObject({
    table: 'parent.relname',
    bound: 'pg_catalog.pg_get_expr(c.relpartbound, c.oid)',
  })} END`,
  inherits: `(SELECT pg_catalog.json_agg(p.relname ORDER BY h.inhseqno)
                FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class p ON p.oid = h.inhparent
               WHERE h.inhrelid = c.oid AND NOT c.relispartition)`,
  of: '(SELECT t.typname FROM pg_catalog.pg_type t WHERE t.oid = c.reloftype)',
  rowSecurity: `CASE WHEN c.relrowsecurity OR c.relforcerowsecurity THEN ${jsonObject({
    enabled: 'c.relrowsecurity',
    forced: 'c.relforcerowsecurity',
  })} END`,
  comment: `pg_catalog.obj_description(c.oid, 'pg_class')`,
})

const TABLES_SQL = `
SELECT c.oid::text AS oid, 'pg_class:' || c.oid::text AS key, c.relname::text AS name,
       CASE WHEN NOT pg_catalog.pg_table_is_visible(c.oid) THEN 'a table that PostgreSQL brings has the same name'
            WHEN m.amname <> 'heap' THEN 'it uses the access method ' || m.amname::text
        END AS blocker,
       ${LINE_SQL} AS line,
       c.relreplident = 'i' AS by_index
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_class toast ON toast.oid = c.reltoastrelid
  LEFT JOIN pg_catalog.pg_am m ON m.oid = c.relam
  LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
  LEFT JOIN pg_catalog.pg_class parent ON parent.oid = i.inhparent
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind IN ('r', 'p')
 ORDER BY c.relname`
