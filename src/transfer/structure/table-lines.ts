import { toColumnLine } from './column-lines.ts'
import { describable, type LineContext } from './line-context.ts'
import type { ColumnLine, ReplicaIdentity, TableLine } from './lines.ts'
import { nonEmpty, withoutNulls } from './query.ts'
import type { ColumnRow } from './read-columns.ts'
import type { SequenceWithValue } from './read-sequences.ts'
import type { ConstraintRow, IndexRow, TableRow } from './read-tables.ts'
import { storageParameters } from './storage-parameters.ts'
import { valueExpression } from './value-expressions.ts'

/** A table with all that belongs to it, as read from the catalogs. */
export interface WholeTable {
  readonly table: TableRow
  readonly columns: readonly ColumnRow[]
  readonly constraints: readonly ConstraintRow[]
  readonly indexes: readonly IndexRow[]
  /** Sequences behind identity columns, by the column's number. */
  readonly identities: ReadonlyMap<number, SequenceWithValue>
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

/** The line of a table as its catalog rows have it, and how its rows are read. */
export function toTableStructure(whole: WholeTable, context: LineContext): TableStructure {
  const columns = whole.columns.map((row) => {
    return { row, line: toColumnLine(row, whole.table.name, whole.identities.get(row.number), context) }
  })
  return {
    oid: whole.table.oid,
    line: toTableLine(
      whole,
      columns.map(({ line }) => line),
      context,
    ),
    columns: columns
      .filter(({ line }) => line.generated === undefined)
      .map(({ row: { name, value_type: type } }) => ({ name, expression: valueExpression({ name, type }) })),
    toasted: whole.table.toasted,
  }
}

function toTableLine(whole: WholeTable, columns: ColumnLine[], context: LineContext): TableLine {
  const { table } = whole
  const constraints = (kind: ConstraintRow['kind']): ConstraintRow[] =>
    describable(
      context,
      kind,
      whole.constraints.filter((row) => row.kind === kind),
      table.name,
    )
  const indexes = describable(context, 'index', whole.indexes, table.name)
  const [primaryKey] = constraints('primary key')
  return withoutNulls({
    name: table.name,
    columns,
    primaryKey: primaryKey ? toKey(primaryKey) : null,
    unique: nonEmpty(constraints('unique').map(toKey)),
    checks: nonEmpty(constraints('check').map(toDefinition)),
    foreignKeys: nonEmpty(
      constraints('foreign key').map((row) => ({ ...toDefinition(row), references: row.references_table ?? '' })),
    ),
    exclusions: nonEmpty(constraints('exclusion').map(toDefinition)),
    indexes: nonEmpty(indexes.map(toDefinition)),
    unlogged: table.unlogged || null,
    options: nonEmpty(table.options),
    replicaIdentity: toReplicaIdentity(whole, context),
    comment: table.comment,
  })
}

const toDefinition = ({ name, definition, comment }: IndexRow | ConstraintRow) =>
  withoutNulls({ name, definition, comment })

/** A key with its index's storage parameters, which `pg_get_constraintdef` leaves out. */
function toKey(row: ConstraintRow): ReturnType<typeof toDefinition> {
  if (row.index_options.length === 0) return toDefinition(row)
  const options = ` WITH (${storageParameters(row.index_options)})`
  const definition = row.definition.replace(/( DEFERRABLE)?( INITIALLY DEFERRED)?$/, (timing) => `${options}${timing}`)
  return toDefinition({ ...row, definition })
}

function toReplicaIdentity({ table, constraints, indexes }: WholeTable, context: LineContext): ReplicaIdentity | null {
  if (table.replica_identity === 'default') return null
  if (table.replica_identity !== 'index') return table.replica_identity
  const index = [...constraints, ...indexes].find((row) => row.replica_identity)
  // An index that was dropped, or that is left out, names no rows.
  return index && context.obstacleOf(index.key) === undefined ? { index: index.name } : 'nothing'
}
