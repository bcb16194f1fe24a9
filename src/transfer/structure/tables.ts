import { quoteIdentifier } from '../../database/quoting.ts'
import { commentOn, storageParameters } from './clauses.ts'
import { type ColumnRow, columnComments, columnDefinition, columnFacts, toColumnLine } from './columns.ts'
import { type ConstraintRow, definitionFacts, toDefinitionLists } from './constraints.ts'
import type { ObjectKey } from './dependencies.ts'
import type { LineContext } from './line-context.ts'
import { type Facts, present, type TableLine } from './lines.ts'
import { jsonObject, type Query } from './query.ts'
import type { SequenceRow } from './sequences.ts'
import { valueExpression } from './value-expressions.ts'

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
  readonly toasted: boolean
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
  /** The columns that carry values, each with the SQL that gives its archive value in `json_build_array`. */
  readonly columns: readonly { readonly name: string; readonly expression: string }[]
  /** Whether it has values that are stored out of line, being too large for a row: its rows may be of any size. */
  readonly toasted: boolean
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
  return {
    oid: table.oid,
    line: {
      name,
      columns: columns.map(({ line }) => line),
      ...toDefinitionLists(constraints, name, context),
      ...properties,
      ...(table.by_index && { replicaIdentity: indexIdentity(constraints, context) }),
    },
    columns: columns
      .filter(({ line }) => line.generated === undefined)
      .map(({ row: { name: column, value_type: type } }) => ({
        name: column,
        expression: valueExpression({ name: column, type }),
      })),
    toasted: table.toasted,
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

/** `CREATE TABLE` with columns alone. A partition is a table of its own at first. */
export function createTable({ name, columns, unlogged, options = [], partitionBy }: TableLine): string {
  const kind = unlogged ? 'UNLOGGED TABLE' : 'TABLE'
  const key = partitionBy === undefined ? '' : ` PARTITION BY ${partitionBy}`
  const parameters = options.length === 0 ? '' : ` WITH (${storageParameters(options)})`
  return `CREATE ${kind} ${quoteIdentifier(name)} (${columns.map(columnDefinition).join(', ')})${key}${parameters}`
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

export const tableComments = (table: TableLine): readonly string[] => [
  ...commentOn(`TABLE ${quoteIdentifier(table.name)}`, table.comment),
  ...columnComments(table),
]

/** What decides about which rows fit into the table as a whole. */
export const ownFacts = ({ partitionBy, partitionOf }: TableLine): Facts =>
  present({
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
  options: `NULLIF(COALESCE(c.reloptions, '{}')
         || ARRAY(SELECT 'toast.' || o FROM pg_catalog.unnest(toast.reloptions) o), '{}')`,
  replicaIdentity: `CASE c.relreplident WHEN 'n' THEN 'nothing' WHEN 'f' THEN 'full' WHEN 'i' THEN 'nothing' END`,
  partitionBy: `CASE c.relkind WHEN 'p' THEN pg_catalog.pg_get_partkeydef(c.oid) END`,
  partitionOf: `CASE WHEN c.relispartition THEN ${jsonObject({
    table: 'parent.relname',
    bound: 'pg_catalog.pg_get_expr(c.relpartbound, c.oid)',
  })} END`,
  comment: `pg_catalog.obj_description(c.oid, 'pg_class')`,
})

const TABLES_SQL = `
SELECT c.oid::text AS oid, 'pg_class:' || c.oid AS key, c.relname::text AS name,
       CASE WHEN NOT pg_catalog.pg_table_is_visible(c.oid) THEN 'a table that PostgreSQL brings has the same name'
            WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid) AND NOT c.relispartition
              THEN 'it inherits from another table'
            WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid) AND c.relkind <> 'p'
              THEN 'other tables inherit from it'
            WHEN c.reloftype <> 0 THEN 'it is a table of a composite type'
            WHEN m.amname <> 'heap' THEN 'it uses the access method ' || m.amname
        END AS blocker,
       ${LINE_SQL} AS line,
       c.relreplident = 'i' AS by_index,
       -- NULL for a relation that is not there: 0 is none, and one may just have been dropped.
       COALESCE(pg_catalog.pg_relation_size(c.reltoastrelid) > 0, false) AS toasted
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_class toast ON toast.oid = c.reltoastrelid
  LEFT JOIN pg_catalog.pg_am m ON m.oid = c.relam
  LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
  LEFT JOIN pg_catalog.pg_class parent ON parent.oid = i.inhparent
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind IN ('r', 'p')
 ORDER BY c.relname`
